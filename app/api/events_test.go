package api_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

// sibling returns an open market of an event.
func sibling(event, id string, p, volume float64) market.Market {
	now := time.Now()
	return market.Market{
		ID: id, Source: "polymarket", Question: "Will " + id + " win?", Title: "Cup — " + id, Category: "sports", Tags: []string{"sports", "lake-cup"},
		Outcomes: []string{"Yes", "No"}, Prices: []float64{p, 1 - p}, Probability: &p, Volume: &volume, Active: true,
		EventID: event, EventTitle: "Cup", ClosesAt: now.Add(-time.Hour), FirstSeenAt: now, ObservedAt: now,
	}
}

func (s *service) observe(t *testing.T, markets []market.Market, events ...market.Event) {
	t.Helper()
	db, err := database.Open(t.Context(), s.Config().DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := (market.Store{}).Observe(t.Context(), db, markets, events...); err != nil {
		t.Fatal(err)
	}
}

func TestEvents(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		yes, volume := true, 500.0
		var crowd []market.Market
		for i := range 30 {
			m := sibling("a/b", fmt.Sprintf("m%02d", i), 0.05, 1)
			if i > 0 {
				m.Category, m.Tags = "", nil
			}
			crowd = append(crowd, m)
		}
		other := sibling("2", "rain", 0.2, 10)
		other.Category, other.Tags = "climate", []string{"weather"}
		s.observe(t, append(crowd, other), market.Event{ID: "a/b", Title: "Lake Cup", Slug: "cup", URL: "https://polymarket.com/event/cup", Volume: &volume, Exclusive: &yes, UpdatedAt: time.Now()},
			market.Event{ID: "empty", Title: "Nothing yet", UpdatedAt: time.Now()})
		list := s.do(t, call{path: "/api/intelligence/events"}).fine()
		if list.count("events") != 2 || list.text("events", 0, "id") != "a/b" || list.text("events", 0, "openMarkets") != "30" ||
			list.count("events", 0, "likeliest") != 3 || list.text("events", 0, "url") != s.base+"/events/a%2Fb" || list.at("nextCursor") != nil {
			t.Errorf("list: %.600s", list.raw)
		}
		first := s.do(t, call{path: "/api/intelligence/events?limit=1"}).fine()
		second := s.do(t, call{path: "/api/intelligence/events?limit=1&cursor=" + first.text("nextCursor")}).fine()
		if first.text("events", 0, "id") != "a/b" || second.text("events", 0, "id") != "2" || second.at("nextCursor") != nil {
			t.Errorf("pages: %.300s\n%.300s", first.raw, second.raw)
		}
		for query, want := range map[string]int{"category=Climate": 1, "tag=Lake+Cup": 1, "tag=weather": 1, "tag=nothing": 0, "q=lake+cup": 1, "q=rain": 1, "category=crypto": 0} {
			if got := s.do(t, call{path: "/api/intelligence/events?" + query}).fine().count("events"); got != want {
				t.Errorf("%s: %d events", query, got)
			}
		}

		one := s.do(t, call{path: "/api/intelligence/events/a%2Fb"}).fine()
		if one.count("markets") != 24 || one.text("event", "markets") != "30" || one.text("event", "priceSum")[:3] != "1.5" ||
			one.text("event", "overround")[:3] != "0.5" || one.at("markets", 0, "awaitsResult") != true || one.at("markets", 0, "consensus") != nil {
			t.Errorf("event: %.900s", one.raw)
		}
		rest := s.do(t, call{path: "/api/intelligence/events/a%2Fb?limit=100&cursor=" + one.text("nextCursor")}).fine()
		if rest.count("markets") != 6 || rest.at("nextCursor") != nil {
			t.Errorf("the rest: %d markets", rest.count("markets"))
		}
		if rest.text("event", "category") != "sports" || rest.text("event", "tags") != one.text("event", "tags") {
			t.Errorf("on the second page, the event has the category %s and the tags %s", rest.text("event", "category"), rest.text("event", "tags"))
		}
		if got := s.do(t, call{path: "/api/intelligence/events/empty"}).fine(); got.count("markets") != 0 || got.at("event", "priceSum") != nil {
			t.Errorf("without markets: %s", got.raw)
		}
		key := s.register(t, "Ada")
		s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{"marketId": "m00", "confidence": 0.3})}).fine()
		said := s.do(t, call{path: "/api/intelligence/events/a%2Fb", bearer: key}).fine()
		if c := said.at("markets", 0, "consensus").(map[string]any); c["agents"] != 0.0 || c["others"] != 1.0 || c["median"] != nil {
			t.Errorf("consensus: %v", said.at("markets", 0, "consensus"))
		}
		m := s.do(t, call{path: "/api/intelligence/markets/m00"}).fine()
		if m.text("market", "event", "url") != s.base+"/events/a%2Fb" || m.text("market", "tags") != "[sports lake-cup]" || m.at("market", "awaitsResult") != true {
			t.Errorf("market: %.600s", m.raw)
		}

		for _, path := range []string{"nobody", "%00", "%ff"} {
			s.do(t, call{path: "/api/intelligence/events/" + path}).refused(http.StatusNotFound, "not_found")
		}
		for _, query := range []string{"?cursor=x", "?cursor=!!", "?limit=0", "?tag=%00", "?category=%ff", "?category=weather", "?colour=red", "/2?cursor=" + first.text("nextCursor"), "/2?limit=101"} {
			s.do(t, call{path: "/api/intelligence/events" + query}).refused(http.StatusBadRequest, "invalid_parameter")
		}
		s.do(t, call{path: "/api/intelligence/events", header: map[string]string{"User-Agent": "curl/8.5.0"}}).refused(http.StatusForbidden, "user_agent_rejected")
		s.do(t, call{path: "/api/intelligence/markets?tag=%ff"}).refused(http.StatusBadRequest, "invalid_parameter")
	})
}
