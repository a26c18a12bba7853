package api_test

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/update"
)

// priced returns a market at a price, as observed now.
func priced(id string, price float64) market.Market {
	liquidity := 1e6
	return market.Market{ID: id, Source: "polymarket", Question: "Secret words of " + id + "?", Title: id, Outcomes: []string{"Yes", "No"},
		Prices: []float64{price, 1 - price}, Probability: &price, Liquidity: &liquidity, Category: "economics", EventID: "e" + id,
		Active: true, ClosesAt: time.Now().Add(48 * time.Hour), FirstSeenAt: time.Now(), ObservedAt: time.Now()}
}

// earlier returns a market at a price, as observed some time ago.
func earlier(id string, price float64, ago time.Duration) market.Market {
	m := priced(id, price)
	m.ObservedAt = m.ObservedAt.Add(-ago)
	return m
}

// tick stores a reading of markets and does the work that follows from it.
func (s *service) tick(t testing.TB, markets ...market.Market) {
	t.Helper()
	err := s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return market.Store{}.Observe(ctx, tx, markets) })
	if err == nil {
		err = s.Settlement.AfterMarkets(t.Context(), markets)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// number numbers the updates, which is the worker's job otherwise.
func (s *service) number(t testing.TB) {
	t.Helper()
	if err := update.NewSequencer(s.DB, time.Now).Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (s *service) publishOn(t testing.TB, key, marketID string) string {
	t.Helper()
	return s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{"marketId": marketID})}).
		fine().text("prediction", "id")
}

// types lists the types of the events of an answer.
func (a answer) types() []string {
	a.t.Helper()
	types := make([]string, a.count("events"))
	for i := range types {
		types[i] = a.text("events", i, "type")
	}
	return types
}

func TestUpdates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		ada, bob := s.register(t, "Ada"), s.register(t, "Bob")
		s.tick(t, priced("1", 0.4), priced("2", 0.4))
		s.number(t)
		read := func(key, query string) answer {
			t.Helper()
			return s.do(t, call{path: "/api/agents/me/updates" + query, bearer: key})
		}
		begin := read(ada, "").fine()
		if begin.count("events") != 0 || begin.at("hasMore") != false {
			t.Errorf("a new reader gets %s", begin.raw)
		}
		since := "?since=" + begin.text("cursor")

		id := s.publishOn(t, ada, "1")
		s.tick(t, priced("1", 0.44), priced("2", 0.9)) // market 1 moves less than 5 points, market 2 isn't Ada's
		s.tick(t, priced("1", 0.45))
		a, err := createAssignment(t, s)
		if err != nil {
			t.Fatal(err)
		}
		closed := priced("1", 0.9999)
		closed.Closed, closed.Active, closed.ClosedAt, closed.Resolution = true, false, time.Now(), "resolved"
		closed.Prices = []float64{1, 0}
		s.tick(t, closed)
		if got := read(ada, since).fine(); got.count("events") != 0 {
			t.Errorf("before they have numbers: %s", got.raw)
		}
		s.number(t)

		got := read(ada, since).fine()
		want := []string{"market.moved", "assignment.opened", "market.closed", "prediction.baseline", "prediction.settled"}
		if types := got.types(); !slices.Equal(slices.Sorted(slices.Values(types)), slices.Sorted(slices.Values(want))) {
			t.Fatalf("got %q, want %q", types, want)
		}
		for i, kind := range got.types() {
			switch kind {
			case "market.moved":
				if got.at("events", i, "ref", "market", "probability") != 0.45 || got.at("events", i, "ref", "market", "before") != 0.4 ||
					got.text("events", i, "ref", "event", "url") != s.base+"/events/e1" {
					t.Errorf("%v", got.at("events", i))
				}
			case "assignment.opened":
				if got.text("events", i, "ref", "assignment", "id") != a.ID.String() {
					t.Errorf("%v", got.at("events", i))
				}
			case "prediction.settled":
				if got.text("events", i, "ref", "prediction", "id") != id || got.at("events", i, "ref", "prediction", "value") != 1.0 ||
					got.at("events", i, "ref", "prediction", "scores", "brier") == nil {
					t.Errorf("%v", got.at("events", i))
				}
			}
		}
		for _, text := range []string{"Secret words", "sun rise", "It always did"} {
			if strings.Contains(string(got.raw), text) {
				t.Errorf("%q is in %s", text, got.raw)
			}
		}
		if got.at("now", "assignments") != 1.0 || got.at("now", "rank") != nil || !strings.HasPrefix(got.text("now", "reason"), "Not ranked yet: ") {
			t.Errorf("now: %v", got.at("now"))
		}
		if types := read(bob, since).fine().types(); !slices.Equal(types, []string{"assignment.opened"}) {
			t.Errorf("Bob gets %q", types)
		}

		var paged []string
		cursor, more := since, true
		for more {
			page := read(ada, cursor+"&limit=2").fine()
			paged, cursor, more = append(paged, page.types()...), "?since="+page.text("cursor"), page.at("hasMore") == true
		}
		if !slices.Equal(paged, got.types()) {
			t.Errorf("in pages %q", paged)
		}
	})
}

func createAssignment(t *testing.T, s *service) (a *assignment.Assignment, err error) {
	t.Helper()
	var store assignment.Store
	err = s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		a, err = store.Create(ctx, tx, assignment.Draft{Title: "Secret words of an admin?", DueAt: time.Now().Add(time.Hour)}, time.Now())
		return err
	})
	for range 2 { // the second call finds nothing to announce
		if err == nil {
			err = store.Announce(t.Context(), s.DB, time.Now())
		}
	}
	return a, err
}

// TestUpdatesNotModified checks that updates for other agents don't change an agent's answer.
func TestUpdatesNotModified(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		ada, bob := s.register(t, "Ada"), s.register(t, "Bob")
		s.tick(t, earlier("1", 0.4, 2*time.Minute))
		for range 3 {
			s.publishOn(t, bob, "1")
		}
		s.number(t)
		path := "/api/agents/me/updates?since=" + s.do(t, call{path: "/api/agents/me/updates", bearer: ada}).fine().text("cursor")
		first := s.do(t, call{path: path, bearer: ada}).fine()
		again := func() answer {
			return s.do(t, call{path: path, bearer: ada, header: map[string]string{"If-None-Match": first.header.Get("ETag")}})
		}
		s.publishOn(t, bob, "1")
		s.tick(t, earlier("1", 0.6, time.Minute))
		s.number(t)
		if got := again(); got.status != http.StatusNotModified {
			t.Errorf("%d %s\nafter %s", got.status, got.raw, first.raw)
		}
		s.publishOn(t, ada, "1")
		s.tick(t, priced("1", 0.7))
		s.number(t)
		if got := again().fine(); !slices.Equal(got.types(), []string{"market.moved"}) {
			t.Errorf("got %s", got.raw)
		}
	})
}

// TestUpdatesOfAFirstPrediction checks that an agent whose first prediction comes while a reading of its market is
// stored gets the events of that reading, and none of an earlier one.
func TestUpdatesOfAFirstPrediction(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read, stored time.Duration // before the prediction; the reading is stored after it
		want         []string
	}{
		"read before it, stored after it": {time.Minute, -time.Second, []string{"market.moved"}},
		"stored at its time":              {time.Minute, time.Second, []string{"market.moved"}},
		"stored long before it":           {time.Minute, time.Minute, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, s *service) {
				ada := s.register(t, "Ada")
				s.tick(t, earlier("1", 0.4, c.read+time.Minute))
				s.number(t)
				since := s.do(t, call{path: "/api/agents/me/updates", bearer: ada}).fine().text("cursor")
				s.publishOn(t, ada, "1")
				moved := market.Batches([]market.Market{earlier("1", 0.6, c.read)}, nil, 1)
				err := s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
					return market.Store{}.ObserveBatch(ctx, tx, moved[0], time.Now().Add(-c.stored))
				})
				if err != nil {
					t.Fatal(err)
				}
				s.number(t)
				got := s.do(t, call{path: "/api/agents/me/updates?since=" + since, bearer: ada}).fine()
				if types := got.types(); !slices.Equal(types, c.want) {
					t.Errorf("got %q, want %q", types, c.want)
				}
			})
		})
	}
}

func TestUpdatesRefusals(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		const path = "/api/agents/me/updates"
		s.do(t, call{path: path}).refused(http.StatusUnauthorized, "missing_credentials")
		key := s.register(t, "Ada")
		old := s.do(t, call{path: path, bearer: key}).fine().text("cursor")
		for _, query := range []string{"?since=", "?since=abc", "?since=" + old + "x", "?since=" + old + "&since=" + old, "?sinse=" + old, "?limit=0"} {
			s.do(t, call{path: path + query, bearer: key}).refused(http.StatusBadRequest, "invalid_parameter")
		}
		if _, err := s.DB.ExecContext(t.Context(), "UPDATE update_head SET last = 9, deleted = 7"); err != nil {
			t.Fatal(err)
		}
		got := s.do(t, call{path: path + "?since=" + old, bearer: key})
		got.refused(http.StatusGone, "cursor_expired")
		fresh := got.text("cursor")
		s.do(t, call{path: path + "?since=" + fresh, bearer: key}).fine()
		// A backup was restored, so the cursor's number is beyond the last one.
		if _, err := s.DB.ExecContext(t.Context(), "UPDATE update_head SET last = 8"); err != nil {
			t.Fatal(err)
		}
		s.do(t, call{path: path + "?since=" + fresh, bearer: key}).refused(http.StatusGone, "cursor_expired")
	})
}

// TestRulingsInUpdates checks that an agent reads that one of its decided predictions was corrected, and
// that another was voided.
func TestRulingsInUpdates(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		ada := s.register(t, "Ada")
		s.tick(t, priced("1", 0.4), priced("2", 0.4))
		first, second := s.publishOn(t, ada, "1"), s.publishOn(t, ada, "2")
		closed := priced("1", 0.9999)
		closed.Closed, closed.Active, closed.ClosedAt, closed.Resolution, closed.Prices = true, false, time.Now(), "resolved", []float64{1, 0}
		s.tick(t, closed)
		s.number(t)
		since := "?since=" + s.do(t, call{path: "/api/agents/me/updates", bearer: ada}).fine().text("cursor")

		for _, r := range []struct{ kind, target, outcome string }{
			{settlement.KindMarketCorrected, "1", "No"},
			{settlement.KindPredictionVoided, second, ""},
		} {
			ruling := settlement.Ruling{Outcome: r.outcome, Note: "The source changed its answer.", Actor: "ada"}
			if _, err := s.Settlement.Rule(t.Context(), r.kind, r.target, ruling); err != nil {
				t.Fatal(err)
			}
		}
		s.number(t)
		got := s.do(t, call{path: "/api/agents/me/updates" + since, bearer: ada}).fine()
		told := map[string]string{}
		for i, kind := range got.types() {
			if strings.HasPrefix(kind, "prediction.") {
				told[got.text("events", i, "ref", "prediction", "id")] += kind + " " + got.text("events", i, "ref", "prediction", "status")
			}
		}
		want := map[string]string{first: "prediction.corrected resolved", second: "prediction.voided void"}
		if !maps.Equal(told, want) {
			t.Errorf("got %v, want %v, of %s", told, want, got.raw)
		}
	})
}
