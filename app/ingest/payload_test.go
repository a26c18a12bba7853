package ingest_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
	"github.com/pulsecast/pulsecast/app/source/reddit"
)

// TestBadPayloads checks that an unusable payload is stored, whole or cut, until the next one, and is never
// logged.
func TestBadPayloads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var answer atomic.Pointer[func(w http.ResponseWriter)]
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answer.Load())(w) }))
		t.Cleanup(srv.Close)
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.markets.Source = polymarket.New(polymarket.Config{GammaURL: srv.URL, ClobURL: srv.URL, Fetch: fetch.New(fetch.Options{Tries: 1, MaxBytes: 64 << 10}), Now: n.markets.Now})
		say := func(status int, body string) func(w http.ResponseWriter) {
			return func(w http.ResponseWriter) {
				w.WriteHeader(status)
				_, _ = w.Write([]byte(body))
			}
		}
		good := `{"id":"1","question":"Will it rain?","outcomes":"[\"Yes\",\"No\"]","outcomePrices":"[\"0.4\",\"0.6\"]","active":true,"closed":false}`
		long := strings.Repeat("z", 20<<10)
		for _, c := range []struct {
			name, reason string
			answer       func(w http.ResponseWriter)
			body         string
			cut          int64
		}{
			{"a record without an id", "no_id", say(200, `[`+good+`,{"question":"Nameless?"}]`), `{"question":"Nameless?"}`, 0},
			{"a good reading keeps the last payload", "no_id", say(200, `[`+good+`]`), `{"question":"Nameless?"}`, 0},
			{"no JSON", "parse", say(200, "{\"a\": \xff\x00"), "{\"a\": \xff\x00", 0},
			{"no list", "parse", say(200, `{"sorry":true}`), `{"sorry":true}`, 0},
			{"a page", "parse", say(200, "<html>busy"), "<html>busy", 0},
			{"a refusal", "http_503", say(503, "down for "+long), ("down for " + long)[:source.MaxPayload], int64(len("down for "+long)) - source.MaxPayload},
			{"too much", "too_large", say(200, strings.Repeat("y", 70<<10)), strings.Repeat("y", source.MaxPayload), 48<<10 + 1},
			{"nothing", "parse", say(200, ""), "", 0},
		} {
			answer.Store(&c.answer)
			n.later(time.Minute)
			_, _ = n.markets.Tick(t.Context())
			got, err := ingest.BadPayloads(t.Context(), db.Reader, "markets")
			if err != nil || len(got) != 1 {
				t.Fatalf("%s: got %d payloads, %v", c.name, len(got), err)
			}
			p := got[0]
			if p.Source != "polymarket" || p.Reason != c.reason || string(p.Body) != c.body || p.Cut != c.cut {
				t.Errorf("%s: got %s %s, %d bytes (%.40q), %d cut; want %s, %d bytes, %d cut", c.name, p.Source, p.Reason, len(p.Body), p.Body, p.Cut, c.reason, len(c.body), c.cut)
			}
			if want := n.at; c.name != "a good reading keeps the last payload" && !p.ReceivedAt.Equal(want) {
				t.Errorf("%s: got received %s, want %s", c.name, p.ReceivedAt, want)
			}
		}
		for _, secret := range []string{"Nameless", "sorry"} {
			if bytes.Contains(n.log.Bytes(), []byte(secret)) {
				t.Errorf("the log contains %q: %s", secret, n.log.String())
			}
		}
	})
}

// TestBadPayloadsHoldNoSecret checks that the response of an authorisation server is never stored, and that a
// credential is masked if an upstream repeats it.
func TestBadPayloadsHoldNoSecret(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	broken := atomic.Bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/access_token") && broken.Load():
			_, _ = w.Write([]byte(`{"access_token":"s3cret-token", oops`))
		case strings.HasSuffix(r.URL.Path, "/access_token"):
			_, _ = w.Write([]byte(`{"access_token":"s3cret-token","expires_in":3600}`))
		default:
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte("you sent " + r.Header.Get("Authorization")))
		}
	}))
	t.Cleanup(srv.Close)
	n := newNode(db, cachetest.Open(t, cache.Memory))
	read := func() []ingest.BadPayload {
		t.Helper()
		n.news.Source = reddit.NewOAuth(reddit.OAuthConfig{AuthURL: srv.URL, APIURL: srv.URL, ClientID: "id", ClientSecret: "s3cret", Fetch: fetch.New(fetch.Options{Tries: 1}), Now: n.news.Now})
		if _, err := n.news.Tick(t.Context()); err == nil {
			t.Fatal("the reading succeeded, want an error")
		}
		got, err := ingest.BadPayloads(t.Context(), db.Reader, "news")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	broken.Store(true)
	if got := read(); len(got) != 0 {
		t.Errorf("the token's response was stored: %q", got[0].Body)
	}
	broken.Store(false)
	if got := read(); len(got) != 1 || string(got[0].Body) != "you sent Bearer [masked]" || got[0].Source != reddit.NameOAuth {
		t.Errorf("got payloads %+v", got)
	}
}
