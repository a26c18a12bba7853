package settlement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// voidedOn lists the void predictions of the UTC day of a moment, page by page.
func (w *world) voidedOn(at time.Time) (ids []uuid.UUID) {
	w.t.Helper()
	day := at.UTC().Truncate(24 * time.Hour)
	for after := (Voided{}); ; {
		page, err := VoidedIn(w.t.Context(), w.db, Span{From: day, To: day.AddDate(0, 0, 1)}, after, 1)
		w.must(err)
		if len(page) == 0 {
			return ids
		}
		after = page[0]
		ids = append(ids, after.ID)
	}
}

// listed checks on which of three days void predictions are listed.
func (w *world) listed(first time.Time, want ...[]uuid.UUID) {
	w.t.Helper()
	for i := range want {
		day := first.AddDate(0, 0, i)
		if got := w.voidedOn(day); !slices.Equal(got, want[i]) {
			w.t.Errorf("%s lists %v, want %v", day.Format(time.DateOnly), got, want[i])
		}
	}
}

// TestVoidIsListedOnItsDay checks that the archive lists a void prediction on the day on which it became void, however
// long before its market was decided.
func TestVoidIsListedOnItsDay(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(w *world, s *Service) (first time.Time, want [][]uuid.UUID){
		"published days after a ruling": func(w *world, s *Service) (time.Time, [][]uuid.UUID) {
			m, other := w.market("1", "", "x", time.Time{}), w.market("2", "", "x", start)
			w.trade(s, m, w.agent(1), .6, .7)
			w.clock = w.clock.Add(25 * time.Hour)
			ruled := w.clock
			_, err := s.Rule(w.t.Context(), KindMarketCorrected, "1", Ruling{Outcome: "Yes", Note: "seen elsewhere", Actor: "ada"})
			w.must(err)
			w.clock = w.clock.Add(48 * time.Hour)
			late := w.publish(w.agent(2), m, 0, .99)
			w.clock = w.clock.Add(time.Hour)
			w.tick(s, other)
			return ruled, [][]uuid.UUID{nil, nil, {late}}
		},
		"applied after midnight": func(w *world, s *Service) (time.Time, [][]uuid.UUID) {
			m := w.market("1", "", "x", start)
			one, two := w.trade(s, m, w.agent(1), .6, .7), w.trade(s, m, w.agent(2), .6, .7)
			w.clock = time.Date(2026, 11, 20, 22, 30, 0, 0, time.UTC)
			closeWith(m, w.clock, .5, .5)
			stopped := errors.New("stopped")
			s.chunk = 1
			s.afterChunk = func() error { return stopped }
			if err := s.AfterMarkets(w.t.Context(), w.observe(m)); !errors.Is(err, stopped) {
				w.t.Fatalf("the settlement wasn't stopped: %v", err)
			}
			first := w.clock
			w.clock = w.clock.Add(2 * time.Hour)
			w.tick(w.service(0), m)
			return first, [][]uuid.UUID{{one}, {two}, nil}
		},
		// The ledger lists it on this day.
		"voided on the day of its score": func(w *world, s *Service) (time.Time, [][]uuid.UUID) {
			m := w.market("1", "", "x", start)
			id := w.trade(s, m, w.agent(1), .6, .7)
			closeWith(m, w.clock, 1, 0)
			w.tick(s, m)
			_, err := s.Rule(w.t.Context(), KindMarketVoided, "1", Ruling{Note: "ambiguous", Actor: "ada"})
			w.must(err)
			if p := w.prediction(id); p.Status != prediction.Void || !p.SettledAt.Equal(w.clock) {
				w.t.Errorf("%s at %s", p.Status, p.SettledAt)
			}
			return w.clock, [][]uuid.UUID{nil, nil, nil}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				first, want := run(w, w.service(0))
				w.listed(first, want...)
				w.rebuilt()
			})
		})
	}
}

// TestVoidedIsFoundByItsIndex checks that the query for the void predictions of a day doesn't read all of them.
func TestVoidedIsFoundByItsIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	var seen queries
	w := newWorld(t, &database.DB{DB: db.WithQueryHook(&seen), Reader: db.Reader, Kind: db.Kind, Breaker: db.Breaker})
	_, err := VoidedIn(t.Context(), w.db, Span{From: start, To: start.AddDate(0, 0, 1)}, Voided{SettledAt: start}, 10)
	w.must(err)
	var steps []struct {
		ID, Parent, Notused int64
		Detail              string
	}
	w.must(db.NewRaw("EXPLAIN QUERY PLAN "+seen.asked[len(seen.asked)-1]).Scan(t.Context(), &steps))
	plan := fmt.Sprint(steps)
	if len(steps) == 0 || !strings.Contains(steps[0].Detail, "SEARCH s USING INDEX results_voided (status=? AND settled_at>") || strings.Contains(plan, "TEMP B-TREE") {
		t.Errorf("the plan is %+v, want a search in index results_voided without a sort", steps)
	}
}
