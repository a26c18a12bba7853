// Package sourcetest answers like the upstreams, in one handler: Polymarket's Gamma and order book, Reddit's
// token endpoint, listings and feeds, and Hacker News. Tests can set single markets and break the server. Load
// fills it with recorded responses.
package sourcetest

import (
	"encoding/json"
	"maps"
	"net/http"
	"sync"
	"time"
)

// Record is one object of an upstream's response, decoded from JSON.
type Record = map[string]any

// Server answers like the upstreams. It is safe for concurrent use, and its markets may change while it serves.
type Server struct {
	mux *http.ServeMux

	mu      sync.Mutex
	broken  http.HandlerFunc  // answers all requests, if set
	markets map[string]Record // by id
	events  map[string]Record // by id, with tags and without markets
	books   map[string]Record // by condition id
	posts   []Record          // of Reddit, in the source's order
	stories []any             // of Hacker News
}

// New returns a server without markets and posts.
func New() *Server {
	s := &Server{
		mux: http.NewServeMux(), markets: map[string]Record{}, events: map[string]Record{}, books: map[string]Record{},
	}
	s.mux.HandleFunc("GET /markets/keyset", s.keyset)
	s.mux.HandleFunc("GET /markets", s.listMarkets)
	s.mux.HandleFunc("GET /markets/{id}", s.oneMarket)
	s.mux.HandleFunc("GET /events/keyset", s.eventsByID)
	s.mux.HandleFunc("GET /time", func(w http.ResponseWriter, _ *http.Request) { answer(w, time.Now().Unix()) })
	s.mux.HandleFunc("POST /api/v1/access_token", grantToken)
	s.mux.HandleFunc("GET /r/{community}/hot", s.listing)
	s.mux.HandleFunc("GET /r/{community}/.rss", s.feed)
	s.mux.HandleFunc("GET /api/v1/search", s.search)
	return s
}

// SetMarket sets fields of a market. A new market is open at 60 % and closes in nine days.
func (s *Server) SetMarket(id string, fields map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.markets[id] == nil {
		s.markets[id] = Record{
			"id": id, "question": "Will " + id + " happen?", "slug": "will-" + id, "outcomes": `["Yes", "No"]`,
			"outcomePrices": `["0.6", "0.4"]`, "volumeNum": 1000.5, "active": true, "closed": false,
			"endDate": time.Now().AddDate(0, 0, 9).UTC().Format(time.RFC3339), "category": "Tests",
			"description": "Yes if it happens.",
		}
	}
	maps.Copy(s.markets[id], fields)
}

// BreakWith makes h answer every request. A nil h repairs the server.
func (s *Server) BreakWith(h http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken = h
}

// ServeHTTP answers one request at a time.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		s.broken(w, r)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) // a record holds values that JSON doesn't allow
	}
}
