package leaderboard_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestCompareIsSymmetric checks that a comparison doesn't depend on which agent comes first, even if both know an event
// by another day.
func TestCompareIsSymmetric(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b := w.agent(agent{handle: "a"}), w.agent(agent{handle: "b"})
		for _, m := range []string{"1", "2", "3"} {
			w.market(m, "", "sport", nil, 0.5, 0.5)
		}
		w.record(
			forecast{agent: a, market: "1", p: 0.9, q: 0.5, y: 1, hours: 9, day: "2026-11-01"},
			forecast{agent: a, market: "2", p: 0.8, q: 0.5, y: 1, hours: 8, day: "2026-11-01"},
			forecast{agent: a, market: "3", p: 0.4, q: 0.5, y: 1, hours: 7, day: "2026-11-03"},
			forecast{agent: b, market: "1", p: 0.6, q: 0.5, y: 1, hours: 9, day: "2026-11-01"},
			forecast{agent: b, market: "2", p: 0.5, q: 0.5, y: 1, hours: 8, day: "2026-11-02"}, // the close moved
			forecast{agent: b, market: "3", p: 0.4, q: 0.5, y: 1, hours: 7, day: "2026-11-03"},
		)
		ab, err := w.store.Compare(t.Context(), db.Reader, a, b)
		if err != nil {
			t.Fatal(err)
		}
		ba, err := w.store.Compare(t.Context(), db.Reader, b, a)
		if err != nil {
			t.Fatal(err)
		}
		if ab.Shared != 3 || ba.Shared != 3 || *ab.Odds != *ba.OddsB || *ab.OddsB != *ba.Odds || ab.Difference.High != -ba.Difference.Low {
			t.Errorf("a and b: %+v, %v, %v\nb and a: %+v, %v, %v", ab.Difference, *ab.Odds, *ab.OddsB, ba.Difference, *ba.Odds, *ba.OddsB)
		}
		for i, e := range ab.Events {
			if other := ba.Events[i]; e.Day != other.Day || e.Key != other.Key || e.A != other.B {
				t.Errorf("event %+v, then %+v", e, other)
			}
		}
	})
}

func TestCompare(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b := w.agent(agent{handle: "a"}), w.agent(agent{handle: "b"})
		for _, m := range []string{"1", "2", "3", "4", "5"} {
			w.market(m, map[string]string{"2": "x"}[m], "sport", nil, 0.5, 0.5)
		}
		w.record(
			forecast{agent: a, market: "1", p: 0.9, q: 0.5, y: 1, hours: 9, day: "2026-11-01"}, // +24
			forecast{agent: a, market: "2", p: 0.4, q: 0.5, y: 1, hours: 8, day: "2026-11-02"}, // −11
			forecast{agent: a, market: "3", p: 0.4, q: 0.5, y: 1, hours: 7, day: "2026-11-03"},
			forecast{agent: a, market: "4", p: 0.4, q: 0.5, y: -1, hours: 6, day: "2026-11-04"}, // open
			forecast{agent: a, market: "5", p: 0.4, q: 0.5, y: 1, hours: 5, day: "2026-12-04"},  // settled early
			forecast{agent: b, market: "1", p: 0.6, q: 0.5, y: 1, hours: 9, day: "2026-11-01"},  // +9
			forecast{agent: b, market: "2", p: 0.5, q: 0.5, y: 1, hours: 8, day: "2026-11-02"},  // 0
			forecast{agent: b, market: "4", p: 0.4, q: 0.5, y: 1, hours: 6, day: "2026-11-04"},
			forecast{agent: b, market: "5", p: 0.4, q: 0.5, y: 1, hours: 5, day: "2026-12-04"},
		)
		c, err := w.store.Compare(t.Context(), db.Reader, a, b)
		if err != nil {
			t.Fatal(err)
		}
		if c.Shared != 2 || c.AWins != 1 || c.BWins != 1 || c.MeanA != 6.5 || c.MeanB != 4.5 {
			t.Errorf("comparison %+v", c)
		}
		var pair score.Pair
		for _, c := range []struct{ a, b float64 }{{.9, .6}, {.4, .5}} {
			a, b := score.Bet(c.a, .5, 1, 0), score.Bet(c.b, .5, 1, 0)
			var difference score.Tally
			difference.Add(a.C - b.C)
			pair.AddDay(difference, a.A, b.A, int64(a.U)*int64(a.U)+int64(b.U)*int64(b.U))
		}
		want, _ := pair.Posterior(score.DefaultSharePrior)
		odds, _ := pair.Odds()
		if c.Difference == nil || *c.Difference != want || *c.Odds != odds {
			t.Errorf("difference %+v with odds %v, want %+v with %v", c.Difference, *c.Odds, want, odds)
		}
		if against, _ := pair.Swapped().Odds(); *c.OddsB != against || against >= odds {
			t.Errorf("odds with the agents swapped %v, want %v", *c.OddsB, against)
		}
		if len(c.Events) != 2 || c.Events[0].Title != "Event x" || c.Events[1].Title != "Title 1" || c.Events[1].A.Float() != 24 || c.Events[1].B.Float() != 9 {
			t.Errorf("events %+v", c.Events)
		}
		if none, err := w.store.Compare(t.Context(), db.Reader, a, settlement.MarketAgent); err != nil || none.Shared != 0 || none.Events == nil || none.Difference != nil || none.Odds != nil {
			t.Errorf("without shared events: %+v, %v", none, err)
		}
	})
}
