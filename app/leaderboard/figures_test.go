package leaderboard_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

func TestFiguresAndChoices(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		if f, err := w.store.Figures(t.Context(), db.Reader); err != nil || f != (leaderboard.Figures{}) {
			t.Errorf("figures of an empty service: %+v, %v", f, err)
		}
		good, fair := w.agent(agent{handle: "good", model: "m", days: 14}), w.agent(agent{handle: "fair", model: "m", days: 14})
		fresh := w.agent(agent{handle: "fresh", model: "n", days: 1})
		w.spreadDays(good, "sport", 300, 9)
		w.days(fair, "sport", "2026-11-01", 30, 0)
		w.days(fair, "art", "2026-11-01", 10, 0)
		w.days(fresh, "art", "2026-11-01", 1, 1)
		w.days(fresh, "law", "2026-11-01", 1, 1)
		for _, id := range []uuid.UUID{good, fair, fresh} {
			w.unlinked(id, "general", "2026-11-01")
		}
		w.tick()
		// Settlement keeps the number of events.
		w.exec("INSERT INTO scored_event_count (id, events) VALUES (1, 2)")
		f, err := w.store.Figures(t.Context(), db.Reader)
		if want := (leaderboard.Figures{Agents: 3, Events: 2, Ranked: 2, Proven: 1}); err != nil || f != want {
			t.Errorf("%+v, %v, want %+v", f, err, want)
		}
		proven := func(when string, want map[string]int64) {
			t.Helper()
			for category, n := range want {
				if b := w.page(leaderboard.Filter{Category: category}).Board; b.Proven != n {
					t.Errorf("%s: %d proven on board %q, want %d", when, b.Proven, category, n)
				}
			}
		}
		proven("built", map[string]int64{"": 1, "sport": 1, "art": 0})
		w.spreadDays(fair, "sport", 300, 9)
		w.settle(fair, "sport")
		w.clock.move(time.Minute)
		w.tick()
		proven("one agent settled", map[string]int64{"": 2, "sport": 2, "art": 0})
		c, err := w.store.Choices(t.Context(), db.Reader, 2)
		if err != nil || !slices.Equal(c.Categories, []string{"art", "sport"}) || !slices.Equal(c.Models, []string{"m", "n"}) {
			t.Errorf("%+v, %v", c, err)
		}
		// No market has the label of a prediction without one, so no event can ever count under it.
		w.wantBoard(leaderboard.Filter{Category: "general"}, "- market")
		if st := w.stats(fresh); len(st.Categories) != 2 || st.Row.Resolved != 3 || st.Murphy == nil {
			t.Errorf("the stats list %+v, with %d resolved", st.Categories, st.Row.Resolved)
		}
	})
}

func TestThumbnails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b, none := w.agent(agent{handle: "a"}), w.agent(agent{handle: "b"}), w.agent(agent{handle: "c"})
		w.days(a, "sport", "2026-11-01", 5, 1)
		w.days(a, "art", "2026-11-02", 7, 1)
		w.days(a, "art", "2026-12-24", 9, 1) // settled before its day
		w.days(b, "art", "2026-11-02", 1, 1)
		for day, skill := range map[string]float64{"2026-08-01": 9, "2026-11-20": 2, "2026-10-01": 1} {
			w.exec("INSERT INTO skill_history (agent_id, day, skill, skill_low, skill_high, events) VALUES (?, ?, ?, 0, 0, 1)", a, day, skill)
		}
		w.tick()
		w.exec("DELETE FROM skill_history WHERE day = '2026-11-21'") // the tick's own points
		got, err := w.store.Thumbnails(t.Context(), db.Reader, []uuid.UUID{a, b, none}, 90)
		if err != nil || len(got) != 2 || !slices.Equal(got[a].Trend, []float64{1, 2}) || len(got[b].Trend) != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		var bins [score.BinCount]score.BinSum
		for range 12 {
			bins[7].Count, bins[7].P, bins[7].Y = bins[7].Count+1, bins[7].P+700_000_000, bins[7].Y+600_000_000
		}
		if got[a].Calibration != score.Bins(bins) {
			t.Errorf("calibration %+v, want %+v", got[a].Calibration, score.Bins(bins))
		}
		w.clock.move(24 * time.Hour * 100)
		w.tick()
		w.exec("DELETE FROM skill_history WHERE day > '2026-11-21'")
		if got, err = w.store.Thumbnails(t.Context(), db.Reader, []uuid.UUID{a}, 90); err != nil || got[a].Calibration[7].Count != 21 || len(got[a].Trend) != 0 {
			t.Errorf("a hundred days later: %+v, %v", got, err)
		}
		if got, err = w.store.Thumbnails(t.Context(), db.Reader, nil, 90); err != nil || len(got) != 0 {
			t.Errorf("thumbnails of no agents: %+v, %v", got, err)
		}
	})
}
