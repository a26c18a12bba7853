package leaderboard_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	identity "github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
)

func (w *world) stats(id uuid.UUID) *leaderboard.Stats {
	w.t.Helper()
	st, err := w.store.Stats(w.t.Context(), w.db.Reader, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return st
}

func near(a *float64, b float64) bool { return a != nil && math.Abs(*a-b) < 1e-6 }

// randomRecord returns an agent's random record over 40 markets of 20 events in two categories,
// with repeats, fractional outcomes and predictions without a baseline.
func randomRecord(w *world, id uuid.UUID) []forecast {
	r := rand.New(rand.NewPCG(1, 2))
	var list []forecast
	for m := range 40 {
		name := fmt.Sprint("m", m)
		category := []string{"sport", "politics"}[m/2%2]
		w.market(name, fmt.Sprint("e", m/2), category, nil, 0.4, 0.6)
		day := fmt.Sprintf("2026-11-%02d", 1+m/2)
		for range 1 + r.IntN(3) {
			f := forecast{agent: id, market: name, p: float64(r.IntN(101)) / 100, q: float64(1+r.IntN(99)) / 100,
				y: float64(m % 2), hours: 500 - float64(len(list)), day: day}
			if m == 7 {
				f.y = 0.25
			}
			if r.IntN(6) == 0 {
				f.q = -1
			}
			list = append(list, f)
		}
	}
	w.record(list...)
	return list
}

// TestStatsAgainstNaiveRecomputation checks that every number of Stats can be computed from the
// predictions alone.
func TestStatsAgainstNaiveRecomputation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		list := randomRecord(w, id)
		w.tick()
		st := w.stats(id)

		var brier, marketBrier, logEdge, scored float64
		var bins [score.BinCount]score.BinSum
		index, clusters := map[string]int{}, map[string]score.Cluster{}
		category, closes := map[string]string{}, map[string]string{}
		for _, f := range list {
			bins[score.BinOf(f.p)].Add(f.p, f.y)
			if f.q < 0 {
				continue
			}
			scored++
			brier += (f.p - f.y) * (f.p - f.y)
			marketBrier += (f.q - f.y) * (f.q - f.y)
			logEdge += score.LogEdge(f.p, f.q, f.y)
			var m int
			fmt.Sscanf(f.market, "m%d", &m)
			event := fmt.Sprint("e", m/2)
			clusters[event] = clusters[event].Plus(score.Bet(f.p, f.q, f.y, index[event]))
			if closes[event] == "" {
				closes[event] = f.day
			}
			category[event] = []string{"sport", "politics"}[m/2%2]
			index[event]++
		}
		all := score.Sums{}
		byCategory := map[string]*score.Tally{"sport": {}, "politics": {}}
		blocks := map[string]*score.Tally{}
		for event, c := range clusters {
			all.Add(c)
			byCategory[category[event]].Add(c.C)
			if blocks[closes[event]] == nil {
				blocks[closes[event]] = &score.Tally{}
			}
			blocks[closes[event]].Add(c.C)
		}
		for _, b := range blocks {
			all.Days.Add(b.N, b.S)
		}
		posterior, _ := all.Posterior(score.DefaultSharePrior)
		odds, _ := all.Odds()
		if st.Row.Skill != all.Skill(score.DefaultPrior.Kappa) || st.Row.Tally() != all.Tally || *st.Row.Odds != odds {
			t.Errorf("skill %v and odds %v of %+v, want %v of %+v", st.Row.Skill, *st.Row.Odds, st.Row.Tally(), odds, all)
		}
		if *st.Row.BestGuess != posterior.BestGuess || *st.Row.SkillLow != posterior.Low || *st.Row.SkillHigh != posterior.High {
			t.Errorf("best guess %v, range %v to %v, want %+v", *st.Row.BestGuess, *st.Row.SkillLow, *st.Row.SkillHigh, posterior)
		}
		if events, ok := all.EventsUntilProven(); ok != (st.UntilProven != nil) || ok && events != *st.UntilProven {
			t.Errorf("proven after %v more events, want %v, %v", st.UntilProven, events, ok)
		}
		if !near(st.Row.Brier, brier/scored) || !near(st.Row.MarketBrier, marketBrier/scored) || !near(st.Row.LogEdge, logEdge/scored) {
			t.Errorf("brier %v, market %v, log edge %v; want %v, %v, %v", *st.Row.Brier, *st.Row.MarketBrier, *st.Row.LogEdge,
				brier/scored, marketBrier/scored, logEdge/scored)
		}
		if want := score.CalibrationError(bins); *st.Row.CalibrationError != want {
			t.Errorf("calibration error %v, want %v", *st.Row.CalibrationError, want)
		}
		if want := score.Bins(bins); st.Calibration != want {
			t.Errorf("calibration\n%+v\nwant\n%+v", st.Calibration, want)
		}
		want := score.Decompose(bins)
		m := *st.Murphy
		for _, pair := range [][2]float64{{m.Reliability, want.Reliability}, {m.Resolution, want.Resolution}, {m.Uncertainty, want.Uncertainty}, {m.Brier, want.Brier}} {
			if math.Abs(pair[0]-pair[1]) > 1e-7 {
				t.Errorf("murphy %+v, want %+v", m, want)
			}
		}
		if len(st.Categories) != 2 || st.Categories[0].Category != "politics" || st.Categories[0].Tally() != *byCategory["politics"] || st.Categories[1].Tally() != *byCategory["sport"] {
			t.Errorf("categories %+v, want %+v", st.Categories, byCategory)
		}
		if st.Row.Resolved != int64(len(list)) || st.Events != (leaderboard.Progress{Have: all.N, Need: 30}) || st.Days != (leaderboard.Progress{Have: 14, Need: 14}) {
			t.Errorf("resolved %d, events %v, days %v", st.Row.Resolved, st.Events, st.Days)
		}

		events, _, err := w.store.EventsOf(t.Context(), db.Reader, id, 100, "")
		if err != nil {
			t.Fatal(err)
		}
		again := score.Tally{}
		for _, e := range events {
			sum := score.Points(0)
			for _, p := range e.Predictions {
				sum += score.Contribution(*p.Edge, *p.WeightIndex)
			}
			if sum != e.Value || e.Title != "Event "+e.Key[2:] || e.Value != clusters[e.Key[2:]].C {
				t.Errorf("event %+v: its predictions add up to %v", e, sum)
			}
			again.Add(e.Value)
		}
		if again != all.Tally {
			t.Errorf("the events add up to %+v, want %+v", again, all.Tally)
		}
	})
}

func TestStatsOfNewAgent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		st := w.stats(w.agent(agent{handle: "new"}))
		if st.Row.Skill != 0 || st.Row.BestGuess != nil || st.Row.SkillLow != nil || st.Row.Odds != nil || !st.Row.Provisional || st.Row.Rank != nil || st.Row.Reason == "" {
			t.Errorf("row %+v", st.Row)
		}
		if st.LiveEdge != nil || st.Murphy != nil || !st.NextCloseAt.IsZero() || st.Categories == nil || st.History == nil || st.Calibration[9].BandHigh != 1 {
			t.Errorf("stats %+v", st)
		}
	})
}

// TestStatsOfDisabledAgent checks that an agent which is on no board keeps its record.
func TestStatsOfDisabledAgent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 25, 1)
		w.days(id, "art", "2026-11-02", 15, 2)
		w.unlinked(id, "general", "2026-11-03")
		w.tick()
		before := w.stats(id)
		w.disable(id, identity.Disabled)
		w.tick()
		w.wantBoard(leaderboard.Filter{}, "- market")
		after := w.stats(id)
		if before.Row.Rank == nil || after.Row.Rank != nil || after.Row.Provisional || after.Row.Reason != "Not ranked: the agent is disabled." {
			t.Errorf("ranked %v, then %v: %q", before.Row.Rank, after.Row.Rank, after.Row.Reason)
		}
		if after.Row.Events != 40 || after.Row.Skill != before.Row.Skill || *after.Row.Brier != *before.Row.Brier ||
			*after.Row.Odds != *before.Row.Odds || *after.Row.BestGuess != *before.Row.BestGuess {
			t.Errorf("before %+v\nafter %+v", before.Row, after.Row)
		}
		if after.Calibration != before.Calibration || *after.Murphy != *before.Murphy || *after.UntilProven != *before.UntilProven {
			t.Errorf("before %+v, %+v\nafter %+v, %+v", before.Calibration, before.Murphy, after.Calibration, after.Murphy)
		}
		if len(after.Categories) != 2 || after.Categories[0].Category != "art" || after.Categories[1].Events != before.Categories[1].Events {
			t.Errorf("categories %+v", after.Categories)
		}
	})
}

// TestReasonAsOfNow checks that a page of a board and the agent's stats say on how many days an agent has published by
// now, and that its account was closed, although the board was built before.
func TestReasonAsOfNow(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 10})
		w.days(id, "sport", "2026-11-01", 25, 1)
		w.tick()
		entry := func() leaderboard.Entry {
			t.Helper()
			e := w.entry(leaderboard.Filter{}, "one")
			short, err := w.store.Summary(t.Context(), db.Reader, id)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.stats(id).Row.Reason; got != e.Reason || short.Row.Reason != e.Reason {
				t.Errorf("the board says %q, the stats %q, their summary %q", e.Reason, got, short.Row.Reason)
			}
			return e
		}
		for _, days := range []int{10, 11, 13} {
			w.exec("UPDATE agent_tallies SET publication_days = ?", days)
			e := entry()
			if want := fmt.Sprintf("(%d of 14)", days); !strings.Contains(e.Reason, want) || !strings.Contains(e.Reason, "(25 of 30)") || e.PublicationDays != int64(days) {
				t.Errorf("the reason %q lacks %s", e.Reason, want)
			}
		}
		w.exec("UPDATE agents SET closed_at = ? WHERE id = ?", start, id)
		if e := entry(); e.Reason != "Not ranked: the account was closed and publishes no more." {
			t.Errorf("closed: %q", e.Reason)
		}
	})
}

func TestNextCloseAndLiveEdge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 3})
		w.market("a", "", "sport", nil, 0.8, 0.2)
		w.market("b", "", "sport", nil, 0.5, 0.5)
		w.market("c", "", "sport", nil)
		w.market("d", "", "sport", nil, 0.5, 0.5)
		w.record(
			forecast{agent: id, market: "a", p: 0.9, q: 0.6, y: -1, hours: 9, day: "2026-11-25"},
			forecast{agent: id, market: "b", outcome: 1, p: 0.7, q: 0.6, y: -1, hours: 8, day: "2026-11-24"},
			forecast{agent: id, market: "c", p: 0.7, q: 0.6, y: -1, hours: 7, day: "2026-11-20"}, // overdue, no price
			forecast{agent: id, market: "b", p: 0.2, q: -1, y: -1, hours: 6, day: "2026-11-24"},  // no baseline
		)
		st := w.stats(id)
		// 100·[(.6−.8)² − (.9−.8)²] = 3 and 100·[(.6−.5)² − (.7−.5)²] = −3.
		if !near(st.LiveEdge, 0) {
			t.Errorf("live edge of %+v, want the mean of 3 and −3", st)
		}
		if want := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC); !st.NextCloseAt.Equal(want) {
			t.Errorf("next close %v, want %v", st.NextCloseAt, want)
		}
		w.record(forecast{agent: id, market: "d", p: 0.7, q: 0.6, y: 1, hours: 5, day: "2026-11-23"})
		if got, want := w.stats(id).NextCloseAt, time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("with an early settlement waiting: %v, want %v", got, want)
		}
	})
}

func TestSkillHistory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 5, 1)
		w.tick()
		w.days(id, "sport", "2026-11-02", 5, 1)
		w.settle(id, "sport")
		w.tick()
		w.clock.move(48 * time.Hour) // a day on which the agent's record didn't change leaves no row
		w.tick()
		w.clock.move(24 * time.Hour)
		w.days(id, "sport", "2026-11-03", 5, -9)
		w.tick()
		var got []string
		for _, h := range w.stats(id).History {
			got = append(got, fmt.Sprintf("%s %d %.3f", h.Day, h.Events, h.Skill))
		}
		if want := "[2026-11-21 10 0.091 2026-11-24 15 -0.304]"; fmt.Sprint(got) != want {
			t.Errorf("history %v, want %v", got, want)
		}
	})
}

// TestStatsReadNoDays checks that a record and a thumbnail come from the board. The days of settled
// predictions aren't added up for a reader.
func TestStatsReadNoDays(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 5, 1)
		w.days(id, "art", "2026-11-02", 3, 2)
		w.tick()
		before := w.stats(id)
		w.exec("DELETE FROM agent_days")
		after := w.stats(id)
		if before.Calibration[7].Count != 8 || before.Murphy == nil || before.UntilProven == nil {
			t.Errorf("the board holds %+v, %+v, %v", before.Calibration, before.Murphy, before.UntilProven)
		}
		if after.Calibration != before.Calibration || *after.Murphy != *before.Murphy || *after.UntilProven != *before.UntilProven {
			t.Errorf("without days: %+v, %+v, %v", after.Calibration, after.Murphy, after.UntilProven)
		}
		made, err := w.store.Thumbnails(t.Context(), db.Reader, []uuid.UUID{id}, 90)
		if err != nil || made[id].Calibration != before.Calibration {
			t.Errorf("thumbnail %+v, %v", made[id], err)
		}
	})
}

// TestHistoryAfterReversal checks that an agent whose settled events were all reversed gets a last
// point without events. Its trend doesn't end at a skill that it no longer has.
func TestHistoryAfterReversal(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.tick()
		w.clock.move(24 * time.Hour)
		w.days(id, "sport", "2026-11-01", 5, 1)
		w.settle(id, "sport")
		w.tick()
		w.clock.move(24 * time.Hour)
		w.exec("DELETE FROM agent_days WHERE agent_id = ?", id)
		w.settle(id, "sport")
		w.tick()
		var got []string
		for _, h := range w.stats(id).History {
			got = append(got, fmt.Sprintf("%s %d", h.Day, h.Events))
		}
		if want := "[2026-11-22 5 2026-11-23 0]"; fmt.Sprint(got) != want {
			t.Errorf("got history %v, want %v", got, want)
		}
	})
}

func TestHighlights(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		var list []forecast
		for i, p := range []float64{0.9, 0.1, 0.5, 0.8} {
			name := fmt.Sprint("m", i)
			w.market(name, "", "sport", nil, 0.5, 0.5)
			list = append(list, forecast{agent: id, market: name, p: p, q: 0.5, y: 1, hours: 9, day: "2026-11-20"})
		}
		w.record(list...)
		h, err := w.store.Highlights(t.Context(), db.Reader, id, 3, 5)
		if err != nil {
			t.Fatal(err)
		}
		var latest []string
		for _, e := range h.Latest {
			latest = append(latest, e.Title)
			if len(e.Predictions) != 1 {
				t.Errorf("%s has the predictions %+v, want one", e.Title, e.Predictions)
			}
		}
		if want := "[Title m3 Title m2 Title m1]"; fmt.Sprint(latest) != want {
			t.Errorf("latest %v, want %v", latest, want)
		}
		older, next, err := w.store.EventsOf(t.Context(), db.Reader, id, 3, h.Older)
		if err != nil || len(older) != 1 || older[0].Title != "Title m0" || next != "" {
			t.Errorf("older %+v, next %q, error %v; want the event m0 alone", older, next, err)
		}
		best, worst := h.Best, h.Worst
		if len(best) != 2 || best[0].Title != "Title m0" || best[1].Title != "Title m3" || len(best[0].Predictions) != 1 || best[0].Value.Float() != 24 {
			t.Errorf("best %+v", best)
		}
		if len(worst) != 1 || worst[0].Title != "Title m1" || worst[0].Value.Float() != -56 {
			t.Errorf("worst %+v", worst)
		}
	})
}

// TestStatsOnSchemaOfTheNextVersion checks that stats can be read from tables with more columns.
func TestStatsOnSchemaOfTheNextVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		dbtest.Widen(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 40, 1)
		w.tick()
		if st := w.stats(id); st.Row.Rank == nil || st.Row.Events != 40 {
			t.Errorf("stats %+v, want a rank from 40 events", st.Row)
		}
	})
}
