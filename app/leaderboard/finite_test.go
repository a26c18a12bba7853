package leaderboard_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

// TestNumbersAreFinite checks that each number of boards, stats, comparisons and models is finite
// or nil, even for extreme records. JSON has neither NaN nor infinity.
func TestNumbersAreFinite(t *testing.T) {
	t.Parallel()
	fill := map[string]func(w *world){
		"nobody":    func(*world) {},
		"no events": func(w *world) { w.agent(agent{handle: "one", model: "m", days: 14}) },
		"zero rows": func(w *world) {
			w.days(w.agent(agent{handle: "one", model: "m", days: 14}), "sport", "2026-11-01", 0, 0)
		},
		"one ranked": func(w *world) {
			w.days(w.agent(agent{handle: "one", model: "m", days: 14}), "sport", "2026-11-01", 40, 2)
		},
		"one event": func(w *world) {
			w.days(w.agent(agent{handle: "one", model: "m", days: 14}), "sport", "2026-11-01", 1, 2)
		},
		"all at a loss": func(w *world) {
			w.days(w.agent(agent{handle: "one", model: "m", days: 14}), "sport", "2026-11-01", 40, -100)
		},
		"equal edges": func(w *world) {
			for i := range 25 {
				w.spreadDays(w.agent(agent{handle: fmt.Sprint("equal-", i), model: "m", days: 14}), "sport", 40, 1)
			}
		},
		"copiers of the market": func(w *world) {
			for i := range 25 {
				w.spreadDays(w.agent(agent{handle: fmt.Sprint("copier-", i), model: "m", days: 14}), "sport", 40, 0)
			}
			w.exec("UPDATE agent_days SET stake = 0, variance = 0, disagreements = 0")
		},
		"no variance": func(w *world) {
			w.spreadDays(w.agent(agent{handle: "sure", model: "m", days: 14}), "sport", 40, 1)
			w.exec("UPDATE agent_days SET variance = 0")
		},
	}
	for name, fill := range fill {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				fill(w)
				w.tick()
				w.clock.move(24 * time.Hour) // with a prior made of these records
				w.tick()
				for _, category := range []string{leaderboard.AllCategories, "sport"} {
					page := w.page(leaderboard.Filter{Category: category})
					wantFinite(t, page)
					for _, e := range page.Entries {
						wantFinite(t, w.stats(e.AgentID))
						found, err := w.store.Compare(t.Context(), w.db.Reader, e.AgentID, page.Entries[0].AgentID)
						if err != nil {
							t.Fatal(err)
						}
						wantFinite(t, found)
					}
				}
				models, err := w.store.Models(t.Context(), w.db.Reader, leaderboard.All)
				if err != nil {
					t.Fatal(err)
				}
				wantFinite(t, models)
			})
		})
	}
}

// TestOneRankedAgent checks that the rank range of the only ranked agent is its rank.
func TestOneRankedAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	w.days(w.agent(agent{handle: "one", days: 14}), "sport", "2026-11-01", 40, 2)
	w.tick()
	one := w.entry(everything, "one")
	if one.Rank == nil || *one.Rank != 1 || *one.RankLow != 1 || *one.RankHigh != 1 || one.SkillLow == nil || one.Odds == nil {
		t.Errorf("alone on its board: %+v", one.Row)
	}
}

// TestHundredThousandEvents checks that no sum overflows for 100,000 events with the greatest
// possible edges, if they all close on one day or on a hundred days.
func TestHundredThousandEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		const events, most = 100_000, 200 * 10_000 // value in 1/10,000 of a point
		for name, days := range map[string]int{"one-day": 1, "many-days": 100} {
			id := w.agent(agent{handle: name, days: 14})
			for d := range days {
				w.days(id, "sport", time.Date(2026, 11, 1-d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly), events/days, -200)
			}
		}
		w.exec("UPDATE agent_days SET stake = clusters * ?, variance = clusters * ?", most, int64(most)*most)
		w.tick()
		for _, name := range []string{"one-day", "many-days"} {
			e := w.entry(everything, name)
			if e.Events != events || e.ClusterSum != -events*most || e.ClusterSquares != events*most*most || e.Variance != events*most*most || e.Stake != events*most {
				t.Errorf("%s: %+v", name, e.Row)
			}
			want := score.Sums{Tally: e.Tally(), A: e.Stake, V: e.Variance}
			n := int64(1)
			if name == "many-days" {
				n = 100
			}
			for range n {
				want.Days.Add(events/n, -events*most/score.Points(n))
			}
			p, _ := want.Posterior(score.DefaultSharePrior)
			if odds, _ := want.Odds(); *e.BestGuess != p.BestGuess || *e.SkillLow != p.Low || *e.SkillHigh != p.High || *e.Odds != odds {
				t.Errorf("%s: %+v, want %+v, odds %v", name, e.Row, p, odds)
			}
			if math.Abs(*e.BestGuess+200) > 2 {
				t.Errorf("%s: best guess %v of a record of -200", name, *e.BestGuess)
			}
			wantFinite(t, w.stats(e.AgentID))
		}
	})
}

// wantFinite fails the test if a number anywhere inside v isn't finite.
func wantFinite(t *testing.T, v any) {
	t.Helper()
	if _, err := json.Marshal(v); err != nil {
		t.Errorf("%s: %v\n%+v", reflect.TypeOf(v), err, v)
	}
}
