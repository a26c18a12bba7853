package sourcetest

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxPage is Gamma's silent limit on a page.
const maxPage = 100

func (s *Server) keyset(w http.ResponseWriter, r *http.Request) {
	page, next := s.page(r.URL.Query())
	body := Record{"markets": page}
	if next != "" {
		body["next_cursor"] = next
	}
	answer(w, body)
}

func (s *Server) listMarkets(w http.ResponseWriter, r *http.Request) {
	page, _ := s.page(r.URL.Query())
	answer(w, page)
}

// page filters and orders the markets, and returns the cursor of the next page.
func (s *Server) page(query url.Values) (page []Record, next string) {
	found := []Record{}
	for id, m := range s.markets {
		asked := len(query["id"]) == 0 || slices.Contains(query["id"], id)
		if asked && (m["closed"] == true) == (query.Get("closed") == "true") {
			found = append(found, s.tagged(m, query.Get("include_tag") == "true"))
		}
	}
	slices.SortFunc(found, byVolume)
	from, _ := strconv.Atoi(query.Get("after_cursor"))
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = 20
	}
	from = min(max(from, 0), len(found))
	to := min(from+min(limit, maxPage), len(found))
	if to < len(found) {
		next = strconv.Itoa(to)
	}
	return found[from:to], next
}

func byVolume(a, b Record) int {
	return cmp.Or(cmp.Compare(number(b["volumeNum"]), number(a["volumeNum"])), strings.Compare(text(a["id"]), text(b["id"])))
}

// tagged removes the tags of a market unless the request asks for them.
func (s *Server) tagged(m Record, include bool) Record {
	if include || m["tags"] == nil {
		return m
	}
	m = maps.Clone(m)
	delete(m, "tags")
	return m
}

// oneMarket answers a market's id as Gamma does, and a condition id as the order book does.
func (s *Server) oneMarket(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if m := s.markets[id]; m != nil {
		answer(w, m)
	} else if book := s.books[id]; book != nil {
		answer(w, book)
	} else {
		http.NotFound(w, r)
	}
}

func (s *Server) eventsByID(w http.ResponseWriter, r *http.Request) {
	found := []Record{}
	for _, id := range r.URL.Query()["id"] {
		if e := s.events[id]; e != nil {
			found = append(found, e)
		}
	}
	answer(w, Record{"events": found})
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func number(v any) float64 {
	f, err := strconv.ParseFloat(text(v), 64)
	if err != nil {
		return -1
	}
	return f
}
