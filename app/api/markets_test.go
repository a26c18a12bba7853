package api_test

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestMarketIDs checks that the escaped form of an id leads to the market, whatever characters the id has.
func TestMarketIDs(t *testing.T) {
	t.Parallel()
	ids := []string{"123", "0xAB", "a/b", "a b", "50%", "%2F", "ä?#&+", "a.b~c", "..", "日本"}
	each(t, func(t *testing.T, s *service) {
		db, err := database.Open(t.Context(), s.Config().DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var list []market.Market
		for _, id := range ids {
			list = append(list, market.Market{ID: id, Source: "polymarket", Question: "Is it " + id + "?", Title: id, Outcomes: []string{"Yes", "No"},
				Prices: []float64{0.4, 0.6}, Active: true, MatchKey: id, FirstSeenAt: time.Now(), ObservedAt: time.Now()})
		}
		if err := (market.Store{}).Observe(t.Context(), db, list); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			got := s.do(t, call{path: "/api/intelligence/markets/" + escaped(id)})
			if got.status != http.StatusOK || got.text("market", "id") != id {
				t.Errorf("%q: %d %s", id, got.status, got.raw)
			}
		}
		got := s.do(t, call{method: "POST", path: "/api/predictions", bearer: s.register(t, "Ada"), body: forecast(map[string]any{
			"marketId": "a/b", "evidence": []any{map[string]any{"title": "The market", "url": s.base + "/markets/50%25"}},
		})})
		if got.fine().text("prediction", "market", "url") != s.base+"/markets/a%2Fb" {
			t.Errorf("the page of a/b is at %s", got.at("prediction", "market"))
		}
		if got.text("prediction", "evidence", 0, "signal", "id") != "50%" {
			t.Errorf("evidence: %s", got.at("prediction", "evidence"))
		}
		if page, err := http.Get(got.text("prediction", "market", "url")); err != nil || page.Body.Close() != nil || page.StatusCode != http.StatusOK {
			t.Errorf("that page: %v, %v", page, err)
		}
		for _, path := range []string{"%00", "%ff", "a%2Fc", "%2550%25"} {
			s.do(t, call{path: "/api/intelligence/markets/" + path}).refused(http.StatusNotFound, "not_found")
		}
		for _, broken := range []string{"%", "%zz", "a%2"} { // a URL package would refuse these
			req := s.request(t, call{path: "/"})
			req.URL.Opaque = "/api/intelligence/markets/" + broken
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			if res.Body.Close(); res.StatusCode != http.StatusNotFound {
				t.Errorf("%q: %d", broken, res.StatusCode)
			}
		}
	})
}

// TestMarketWithoutPrices checks that unknown prices are an empty array, because arrays are never null.
func TestMarketWithoutPrices(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		s.observe(t, []market.Market{{
			ID: "m", Source: "polymarket", Question: "Is it?", Outcomes: []string{"Yes", "No"}, Active: true, EventID: "e", EventTitle: "It",
			FirstSeenAt: time.Now(), ObservedAt: time.Now(),
		}})
		for path, keys := range map[string][]any{
			"/api/intelligence/markets/m": {"market", "prices"}, "/api/intelligence/events/e": {"markets", 0, "prices"},
		} {
			a := s.do(t, call{path: path}).fine()
			if list, ok := a.at(keys...).([]any); !ok || len(list) != 0 {
				t.Errorf("%s: prices are %v in %.400s", path, a.at(keys...), a.raw)
			}
		}
	})
}

// TestMarketHistory checks that the history of a market that was tracked for long goes from its first price to its newest,
// and has every price of the last day.
func TestMarketHistory(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		m := sibling("e", "old", 0.4, 1)
		s.observe(t, []market.Market{m})
		db, err := database.Open(t.Context(), s.Config().DatabaseURL)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		newest := database.Stored(m.ObservedAt)
		first := newest.Add(-365 * 24 * time.Hour)
		var rows []market.Price
		for at := first; at.Before(newest); {
			rows = append(rows, market.Price{MarketID: "old", ObservedAt: at, Prices: []float64{0.3, 0.7}})
			if at.Before(newest.Add(-48 * time.Hour)) {
				at = at.Add(6 * time.Hour)
			} else {
				at = at.Add(time.Minute)
			}
		}
		if err := (market.Store{}).AddPrices(t.Context(), db, rows); err != nil {
			t.Fatal(err)
		}
		got := s.do(t, call{path: "/api/intelligence/markets/old"}).fine()
		n := got.count("history")
		if n > 3000 || n < 1500 {
			t.Fatalf("%d prices", n)
		}
		at := func(i int) time.Time {
			when, err := time.Parse(time.RFC3339, got.text("history", i, "at"))
			if err != nil {
				t.Fatal(err)
			}
			return when
		}
		if !at(0).Equal(first) || !at(n-1).Equal(newest) || !at(n-1441).Equal(newest.Add(-24*time.Hour)) {
			t.Errorf("the history is from %s to %s, and a day of minutes is from %s; want from %s to %s", at(0), at(n-1), at(n-1441), first, newest)
		}
	})
}

// escaped is url.PathEscape, but it also escapes ids that a client would read as another folder.
func escaped(id string) string {
	if id == ".." {
		return "%2E%2E"
	}
	return url.PathEscape(id)
}
