package leaderboard_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	stored "github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/update"
)

var everything = leaderboard.Filter{}

func TestNeverBuilt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		p := newWorld(t, db).page(everything)
		if p.Board != nil || p.Entries == nil || len(p.Entries) != 0 || p.Next != "" {
			t.Errorf("got %+v, want no board and an empty list", p)
		}
	})
}

func TestOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "below", days: 14}), "sport", "2026-11-01", 40, -2)
		w.days(w.agent(agent{handle: "second", days: 20}), "sport", "2026-11-01", 40, 2)
		w.days(w.agent(agent{handle: "best", days: 14}), "sport", "2026-11-01", 30, 4)
		w.days(w.agent(agent{handle: "tie-later", days: 14}), "sport", "2026-11-01", 30, 0)
		w.days(w.agent(agent{handle: "tie-more", days: 14}), "sport", "2026-11-01", 31, 0)
		w.days(w.agent(agent{handle: "too-few-days", days: 13}), "sport", "2026-11-01", 40, 9)
		w.days(w.agent(agent{handle: "too-few-events", days: 14}), "sport", "2026-11-01", 20, 9)
		w.agent(agent{handle: "unsettled", days: 1})
		w.agent(agent{handle: "silent"})
		off := w.agent(agent{handle: "disabled", days: 14})
		w.days(off, "sport", "2026-11-01", 40, 9)
		w.exec("UPDATE agents SET status = 'disabled' WHERE id = ?", off)
		w.tick()
		w.wantBoard(everything, "1 best", "2 second", "3 tie-more", "4 tie-later", "- market", "5 below",
			"- too-few-days", "- too-few-events", "- unsettled")
		w.wantBoard(leaderboard.Filter{Category: "sport"}, "1 too-few-events", "2 best", "3 second",
			"4 tie-more", "5 tie-later", "- market", "6 below", "- too-few-days")
		w.wantBoard(leaderboard.Filter{Category: "nothing"})

		best := w.entry(everything, "best")
		record := score.Sums{
			Tally: score.Tally{N: 30, S: 30 * 40_000, SS: 30 * 40_000 * 40_000}, A: 30 * stake, V: 30 * spread * spread,
		}
		record.Days.Add(30, 30*40_000)
		want, _ := record.Posterior(score.DefaultSharePrior)
		odds, _ := record.Odds()
		if *best.BestGuess != want.BestGuess || *best.SkillLow != want.Low || *best.SkillHigh != want.High || *best.Odds != odds {
			t.Errorf("best = %+v, want %+v and odds %v", best, want, odds)
		}
		if best.Skill != record.Skill(100) || best.Events != 30 || best.Disagreements != 30 || best.Resolved != 30 {
			t.Errorf("best = %+v, want skill %v", best, record.Skill(100))
		}
		if math.Abs(*best.Brier-.2) > 1e-12 || math.Abs(*best.MarketBrier-.22) > 1e-12 ||
			math.Abs(*best.LogEdge-.05) > 1e-12 || math.Abs(*best.CalibrationError-.1) > 1e-12 {
			t.Errorf("means = %v %v %v %v", *best.Brier, *best.MarketBrier, *best.LogEdge, *best.CalibrationError)
		}
		if best.Predictions != 14 || !best.LastPredictionAt.Equal(start.Add(-time.Hour)) || best.Name != "BEST" {
			t.Errorf("agent of best: %+v", best)
		}
		market := w.entry(everything, "market")
		if market.Skill != 0 || market.BestGuess != nil || market.SkillLow != nil || market.Odds != nil || !market.Reference || market.Proven() || market.Brier != nil {
			t.Errorf("market = %+v", market)
		}
		if p := w.page(everything); p.Board.Ranked != 5 || !p.Board.AsOf.Equal(start) || p.Board.Kappa != 100 {
			t.Errorf("board = %+v", p.Board)
		}
	})
}

func TestReasons(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		events, days int
		want         string
	}{
		{29, 14, "Not ranked yet: needs 1 more settled event (29 of 30)."},
		{30, 12, "Not ranked yet: needs predictions on a market on 2 more UTC days (12 of 14)."},
		{0, 1, "Not ranked yet: needs 30 more settled events (0 of 30); 10 more events with a prediction at least 3 percentage points from the market (0 of 10); predictions on a market on 13 more UTC days (1 of 14)."},
		{30, 14, ""},
	} {
		w := newWorld(t, dbtest.Open(t, database.SQLite))
		id := w.agent(agent{handle: "one", days: c.days})
		if c.events > 0 {
			w.days(id, "sport", "2026-11-01", c.events, 1)
		}
		w.tick()
		e := w.entry(everything, "one")
		if e.Reason != c.want || e.Provisional != (c.want != "") || (e.Rank == nil) != (c.want != "") {
			t.Errorf("%d events, %d days: reason %q, provisional %v, rank %v; want %q", c.events, c.days, e.Reason, e.Provisional, e.Rank, c.want)
		}
	}
}

func TestDisagreementsNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	id := w.agent(agent{handle: "copier", days: 14})
	w.days(id, "sport", "2026-11-01", 40, 0)
	w.exec("UPDATE agent_days SET disagreements = 9")
	w.tick()
	if e := w.entry(everything, "copier"); !e.Provisional || !strings.Contains(e.Reason, "1 more event with a prediction at least 3 percentage points from the market") {
		t.Errorf("copier = %+v", e)
	}
}

// TestPriorCountsAgentsWithEvents checks that the prior leaves out an agent whose settled
// predictions have no baseline. Such an agent has a Brier score and no event.
func TestPriorCountsAgentsWithEvents(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	w.days(w.agent(agent{handle: "unlinked", days: 14}), "sport", "2026-11-01", 1, 0)
	w.exec("UPDATE agent_days SET clusters = 0, cluster_sum = 0, cluster_squares = 0, stake = 0, variance = 0, scored = 0, disagreements = 0")
	w.days(w.agent(agent{handle: "linked", days: 14}), "sport", "2026-11-01", 1, 1)
	w.tick()
	if prior, err := w.store.Prior(t.Context(), w.db); err != nil || prior.Agents != 1 {
		t.Errorf("got a prior of %d agents with events, want 1: %v", prior.Agents, err)
	}
}

// TestReversedAgentLeavesCategoryBoard checks that an agent whose settled predictions were all
// reversed leaves the category's board, although its rows of zeros are still stored.
func TestReversedAgentLeavesCategoryBoard(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 1, 2)
		w.tick()
		w.wantBoard(leaderboard.Filter{Category: "sport"}, "- market", "- one")
		w.days(id, "sport", "2026-11-01", -1, 2)
		w.clock.move(time.Hour)
		w.settle(id, "sport")
		w.tick()
		w.wantBoard(leaderboard.Filter{Category: "sport"}, "- market")
		w.wantBoard(everything, "- market", "- one")
	})
}

func TestOwnerLimit(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		for i, name := range []string{"ring-1", "ring-2", "ring-3", "ring-4", "ring-5"} {
			w.days(w.agent(agent{handle: name, owner: "ring", days: 14}), "sport", "2026-11-01", 40, 9-float64(i))
		}
		w.days(w.agent(agent{handle: "other", owner: "someone", days: 14}), "sport", "2026-11-01", 40, 1)
		// The provider before named another owner like this one.
		w.days(w.agent(agent{handle: "namesake", issuer: "https://old.example", owner: "ring", days: 14}), "sport", "2026-11-01", 40, 0.5)
		w.days(w.agent(agent{handle: "new", days: 1}), "sport", "2026-11-01", 1, 1)
		w.tick()
		w.wantBoard(everything, "1 ring-1", "2 ring-2", "3 ring-3", "4 other", "5 namesake", "- market", "- ring-4", "- ring-5", "- new")
		fourth := w.entry(everything, "ring-4")
		if fourth.Provisional || !strings.Contains(fourth.Reason, "at most 3 agents of one owner") {
			t.Errorf("ring-4 = %+v", fourth)
		}
		if got := w.stats(fourth.AgentID).Row; got.Provisional || got.Rank != nil || got.Reason != fourth.Reason {
			t.Errorf("the stats of ring-4 say %q, its board %q", got.Reason, fourth.Reason)
		}
		if other := w.entry(everything, "other"); *other.RankHigh > 5 {
			t.Errorf("rank range of other reaches %d, but only 5 are ranked", *other.RankHigh)
		}
	})
}

func TestRankRanges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.spreadDays(w.agent(agent{handle: "top", days: 14}), "sport", 200, 9)
		w.spreadDays(w.agent(agent{handle: "a", days: 14}), "sport", 30, .2)
		w.spreadDays(w.agent(agent{handle: "b", days: 14}), "sport", 30, -.2)
		w.spreadDays(w.agent(agent{handle: "bottom", days: 14}), "sport", 200, -9)
		w.tick()
		for handle, want := range map[string][3]int64{"top": {1, 1, 1}, "a": {2, 2, 3}, "b": {3, 2, 3}, "bottom": {4, 4, 4}} {
			e := w.entry(everything, handle)
			if got := [3]int64{*e.Rank, *e.RankLow, *e.RankHigh}; got != want {
				t.Errorf("%s: rank and range %v, want %v", handle, got, want)
			}
			if e.Proven() != (handle == "top") {
				t.Errorf("%s: proven is %v", handle, e.Proven())
			}
		}
	})
}

func TestWindowsByDay(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		for i, day := range []string{
			"2026-11-23",               // settled early, so it doesn't count yet
			"2026-11-21", "2026-10-23", // last and first day of 30d
			"2026-10-22", "2026-08-24", // last and first day that only 90d and longer windows hold
			"2026-08-23", "2025-11-22", // last and first day that only 365d and all hold
			"2025-11-21",
		} {
			w.days(id, "sport", day, 1<<i, 1)
		}
		want := func(d30, d90, d365, all int64) {
			t.Helper()
			for window, n := range map[leaderboard.Window]int64{"30d": d30, "90d": d90, "365d": d365, "all": all} {
				if got := w.entry(leaderboard.Filter{Window: window}, "one").Events; got != n {
					t.Errorf("%s: %d events, want %d", window, got, n)
				}
			}
		}
		w.tick()
		want(2+4, 2+4+8+16, 254-128, 254)
		w.clock.move(24 * time.Hour)
		if !w.tick() {
			t.Error("the first tick of a new day built no board")
		}
		want(2, 2+4+8, 254-128-64, 254)
		w.clock.move(24 * time.Hour)
		w.tick()
		want(1+2, 1+2+4+8, 255-128-64, 255)
	})
}

func TestReferenceRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "good", days: 14}), "sport", "2026-11-01", 40, 1)
		w.days(w.agent(agent{handle: "bad", days: 14}), "sport", "2026-11-01", 40, -1)
		w.days(settlement.MarketAgent, "sport", "2026-11-01", 40, 0)
		fifty := settlement.MarketAgent
		fifty[15] = 2
		w.days(fifty, "sport", "2026-11-01", 40, -3)
		w.tick()
		w.wantBoard(everything, "1 good", "- market", "2 bad", "- fifty")
		if e := w.entry(everything, "fifty"); !e.Reference || e.Provisional || e.Reason != "" || e.Rank != nil {
			t.Errorf("fifty = %+v", e)
		}
		w.exec("UPDATE agent_days SET cluster_sum = cluster_sum + 1 WHERE agent_id = ?", settlement.MarketAgent)
		w.days(w.agent(agent{handle: "late", days: 14}), "sport", "2026-11-02", 40, 5)
		if err := w.builder.Rebuild(t.Context()); err == nil || !strings.Contains(err.Error(), "must be 0") {
			t.Errorf("rebuild with a market that scores against itself: got %v, want an error", err)
		}
		w.clock.move(time.Minute)
		w.wantBoard(everything, "1 good", "- market", "2 bad", "- fifty")
	})
}

func TestIncrementalEqualsRebuild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		up := w.agent(agent{handle: "up", days: 14})
		w.days(up, "sport", "2026-11-01", 30, 1)
		w.days(w.agent(agent{handle: "steady", model: "m", days: 14}), "politics", "2026-11-01", 30, 2)
		w.days(w.agent(agent{handle: "waiting", days: 3}), "sport", "2026-11-01", 3, 2)
		w.tick()
		w.wantBoard(everything, "1 steady", "2 up", "- market", "- waiting")
		politics := w.page(leaderboard.Filter{Category: "politics"}).Board.AsOf
		if w.clock.move(time.Minute); w.tick() {
			t.Error("a tick without a settlement built a board")
		}

		w.days(up, "sport", "2026-11-02", 10, 9)
		w.settle(up, "sport")
		w.agent(agent{handle: "newcomer", days: 1})
		if !w.tick() {
			t.Fatal("the tick after a settlement built no board")
		}
		w.clock.move(2 * time.Second)
		w.wantBoard(everything, "1 up", "2 steady", "- market", "- waiting", "- newcomer")
		if got := w.page(leaderboard.Filter{Category: "politics"}).Board.AsOf; !got.Equal(politics) {
			t.Errorf("the board of an untouched category was built again at %v", got)
		}
		if w.tick() {
			t.Error("the same settlement was built twice")
		}

		snapshot := func() string { return w.dump("SELECT * FROM board_rows ORDER BY span, category, position") }
		incremental := snapshot()
		if err := w.builder.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rebuilt := snapshot(); rebuilt != incremental {
			t.Errorf("ticks made\n%s\na rebuild makes\n%s", incremental, rebuilt)
		}
	})
}

// TestClockSetBack checks that the boards show settlements that follow a clock which was set back, although their entries
// are older than those that were read before.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		up, steady := w.agent(agent{handle: "up", days: 14}), w.agent(agent{handle: "steady", days: 14})
		w.days(up, "sport", "2026-11-01", 30, 1)
		w.days(steady, "politics", "2026-11-01", 30, 2)
		w.tick()
		w.clock.move(40 * time.Minute)
		w.days(up, "sport", "2026-11-02", 10, 9)
		w.settle(up, "sport")
		w.tick()
		w.wantBoard(everything, "1 up", "2 steady", "- market")
		w.clock.move(-39 * time.Minute)
		w.days(steady, "politics", "2026-11-02", 10, 90)
		w.settle(steady, "politics")
		if !w.tick() {
			t.Error("the tick after a settlement built no board")
		}
		w.wantBoard(everything, "1 steady", "2 up", "- market")
		if w.tick() {
			t.Error("the same settlement was built twice")
		}
	})
}

// TestMidnightDuringBuild checks that a day's first boards are of the new day if midnight passes before their sums are
// read.
func TestMidnightDuringBuild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		w.days(w.agent(agent{handle: "one", days: 14}), "sport", "2026-11-01", 30, 1)
		midnight := start.Truncate(24*time.Hour).AddDate(0, 0, 1)
		times := []time.Time{midnight.Add(-time.Second), midnight.Add(time.Second)}
		w.clock.at = times[1]
		b := leaderboard.NewBuilder(db, thresholds, func() time.Time {
			at := times[0]
			times = times[min(1, len(times)-1):]
			return at
		})
		b.Records = true
		if built, err := b.Tick(t.Context()); !built || err != nil {
			t.Fatalf("built: %v, %v", built, err)
		}
		if board := w.page(everything).Board; !board.AsOf.Equal(times[0]) || board.PriorDay != "2026-11-22" {
			t.Errorf("the board is of %v with the prior of %s", board.AsOf, board.PriorDay)
		}
		recorded := 0
		for row, err := range leaderboard.RecordsIn(t.Context(), db.Reader, time.Time{}, midnight.AddDate(0, 0, 1)) {
			if recorded++; err != nil || !row.AsOf.Equal(times[0]) {
				t.Fatalf("a row of %v is recorded, error %v", row.AsOf, err)
			}
		}
		if recorded == 0 {
			t.Error("no board is recorded")
		}
	})
}

// TestLastDayGivesARank checks that an agent that lacks only days of publication gets its rank with the publication on
// the last of them, although nothing settles.
func TestLastDayGivesARank(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 13})
		w.days(id, "sport", "2026-11-01", 30, 1)
		w.tick()
		w.wantBoard(everything, "- market", "- one")
		w.clock.move(time.Minute)
		w.exec("UPDATE agent_tallies SET publication_days = 14 WHERE agent_id = ?", id)
		w.moved(generation.Predictions)
		if !w.tick() {
			t.Fatal("the tick after the last day built no board")
		}
		w.clock.move(2 * time.Second)
		for _, category := range []string{leaderboard.AllCategories, "sport"} {
			if e := w.entry(leaderboard.Filter{Category: category}, "one"); e.Rank == nil {
				t.Errorf("no rank in %q: %s", category, e.Reason)
			}
		}
		w.clock.move(time.Minute)
		if w.tick() {
			t.Error("the same day built a board again")
		}
	})
}

// TestEarlySettlementBuildsNoBoard checks that an event that settles before its scheduled day
// leaves the boards unchanged.
func TestEarlySettlementBuildsNoBoard(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 30, 1)
		w.tick()
		w.clock.move(time.Minute)
		w.days(id, "sport", "2026-12-01", 1, 50)
		w.settle(id, "sport")
		w.tick()
		if p := w.page(everything); !p.Board.AsOf.Equal(start) || p.Entries[0].Events != 30 {
			t.Errorf("board of %v: %+v", p.Board.AsOf, p.Entries[0])
		}
		w.days(id, "sport", "2026-11-02", 1, 50)
		w.settle(id, "sport")
		w.tick()
		w.clock.move(time.Second)
		if p := w.page(everything); !p.Board.AsOf.After(start) || p.Entries[0].Events != 31 {
			t.Errorf("board of %v: %+v", p.Board.AsOf, p.Entries[0])
		}
	})
}

// TestAlteredAgentsReachTheBoards checks that a change of an agent on any node reaches the boards.
// The Builder finds it without a message.
func TestAlteredAgentsReachTheBoards(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a := w.agent(agent{handle: "a", model: "old", days: 14})
		w.days(a, "sport", "2026-11-01", 30, 2)
		w.days(w.agent(agent{handle: "b", days: 14}), "sport", "2026-11-01", 30, 1)
		w.tick()
		sport := leaderboard.Filter{Category: "sport"}
		for _, step := range []struct {
			status stored.Status
			want   []string
		}{{stored.Disabled, []string{"1 b", "- market"}}, {stored.Active, []string{"1 a", "2 b", "- market"}}} {
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, err := stored.Store{}.SetStatus(ctx, tx, a, step.status, start)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			w.tick()
			w.clock.move(time.Second)
			w.wantBoard(everything, step.want...)
			w.wantBoard(sport, step.want...)
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := stored.Store{}.Update(ctx, tx, a, func(p *stored.Profile) { p.Model = "new" })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		w.tick()
		w.wantBoard(leaderboard.Filter{Model: "new"}, "1 a")
		w.wantBoard(leaderboard.Filter{Model: "new", Category: "sport"}, "1 a")
		w.wantBoard(leaderboard.Filter{Model: "old"})
		if built, err := w.builder.Tick(t.Context()); built || err != nil {
			t.Errorf("nothing changed, but built: %v, %v", built, err)
		}
	})
}

func TestDisabledAgentsLeaveTheBoard(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a := w.agent(agent{handle: "a", model: "old", days: 14})
		w.days(a, "sport", "2026-11-01", 30, 2)
		w.days(w.agent(agent{handle: "b", days: 14}), "sport", "2026-11-01", 30, 1)
		w.tick()
		w.exec("UPDATE agents SET status = 'disabled' WHERE id = ?", a)
		w.moved(generation.Agents)
		w.tick()
		w.clock.move(time.Second)
		w.wantBoard(everything, "1 b", "- market")
		w.exec("UPDATE agents SET status = 'active', model = 'new' WHERE id = ?", a)
		w.moved(generation.Agents)
		w.tick()
		w.clock.move(time.Second)
		w.wantBoard(everything, "1 a", "2 b", "- market")
		w.wantBoard(leaderboard.Filter{Model: "new"}, "1 a")
		w.wantBoard(leaderboard.Filter{Model: "old"})
	})
}

func TestRest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	at := start
	slow := leaderboard.NewBuilder(w.db, thresholds, func() time.Time { at = at.Add(time.Second); return at })
	a := w.agent(agent{handle: "a", days: 14})
	for i, want := range []bool{true, false, false} {
		w.exec("UPDATE agents SET model = ? WHERE id = ?", fmt.Sprint("m", i), a)
		w.moved(generation.Agents)
		if built, err := slow.Tick(t.Context()); err != nil || built != want {
			t.Errorf("tick %d: built %v, %v; want %v", i, built, err, want)
		}
	}
	at = at.Add(10 * time.Second)
	if built, err := slow.Tick(t.Context()); err != nil || !built {
		t.Errorf("after the rest: built %v, %v", built, err)
	}
}

// TestLooksAreCheap checks which events make a tick read the tallies of all agents, and that no look for changes that
// finds none goes on without a rest.
func TestLooksAreCheap(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		id := w.agent(agent{handle: "one", days: 14})
		w.days(id, "sport", "2026-11-01", 30, 1)
		var tallyReads atomic.Int64
		hooked := *db
		hooked.Watch(dbtest.OnQuery(func(query string) {
			if strings.Contains(query, "agent_tallies") {
				tallyReads.Add(1)
			}
		}))
		b := leaderboard.NewBuilder(&hooked, thresholds, w.clock.now)
		if built, err := b.Tick(t.Context()); err != nil || !built {
			t.Fatal(built, err)
		}
		for _, c := range []struct {
			name  string
			do    func()
			reads bool
		}{
			{"nothing", func() {}, false},
			{"a session ended", func() {
				err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
					return (stored.Store{}).EndSession(ctx, tx, id, "ps_none")
				})
				if err != nil {
					t.Fatal(err)
				}
			}, false},
			{"a prediction was published", func() { w.moved(generation.Predictions) }, true},
			{"nothing more", func() {}, false},
			{"a profile changed", func() { w.moved(generation.Agents) }, true},
			{"still nothing", func() {}, false},
		} {
			c.do()
			w.clock.move(time.Minute)
			tallyReads.Store(0)
			if built, err := b.Tick(t.Context()); err != nil || built {
				t.Errorf("%s: built %v, %v", c.name, built, err)
			}
			if n := tallyReads.Load(); (n > 0) != c.reads {
				t.Errorf("%s: %d reads of the tallies", c.name, n)
			}
		}
		at := w.clock.now()
		slow := leaderboard.NewBuilder(&hooked, thresholds, func() time.Time { at = at.Add(time.Second); return at })
		if built, err := slow.Tick(t.Context()); err != nil || !built {
			t.Fatal(built, err)
		}
		at = at.Add(time.Minute)
		for i, want := range []bool{true, false, false} {
			w.moved(generation.Agents)
			tallyReads.Store(0)
			if built, err := slow.Tick(t.Context()); err != nil || built || (tallyReads.Load() > 0) != want {
				t.Errorf("tick %d: built %v, %v, %d reads", i, built, err, tallyReads.Load())
			}
		}
	})
}

func TestTwoBuilders(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		for i := range 50 {
			w.days(w.agent(agent{handle: string(rune('a'+i%26)) + strings.Repeat("x", i/26), days: 14}), "sport", "2026-11-01", 30, float64(i))
		}
		other := leaderboard.NewBuilder(db, thresholds, w.clock.now)
		done := make(chan error)
		for _, b := range []*leaderboard.Builder{w.builder, other} {
			go func() { done <- b.Rebuild(t.Context()) }()
		}
		for range 2 {
			if err := <-done; err != nil && !errors.Is(err, leaderboard.ErrRaced) {
				t.Error(err)
			}
		}
		if err := other.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.page(everything); len(got.Entries) != 51 || got.Board.Ranked != 50 {
			t.Errorf("%d entries, %d ranked", len(got.Entries), got.Board.Ranked)
		}
	})
}

// TestBoardIsAnnounced checks that a build records an update only if it changes a row of the main
// board.
func TestBoardIsAnnounced(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		announced := func() (list []update.Board) {
			t.Helper()
			if err := update.NewSequencer(db, w.clock.now).Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			all, _, err := update.Store{}.Chunks(t.Context(), db.Reader, 0, 100)
			if err != nil {
				t.Fatal(err)
			}
			for i := range all {
				if all[i].Type == update.LeaderboardChanged {
					list = append(list, *all[i].Ref.Board)
				}
			}
			return list
		}
		ada := w.agent(agent{handle: "ada"})
		w.days(ada, "politics", "2026-11-10", 40, .5)
		w.settle(ada, "politics")
		if !w.tick() {
			t.Fatal("nothing was built")
		}
		first := announced()
		if len(first) != 1 || !first[0].AsOf.Equal(w.page(leaderboard.Filter{}).Board.AsOf) {
			t.Fatalf("announced %+v", first)
		}
		w.clock.move(time.Hour)
		w.tick()
		if again := announced(); len(again) != 1 {
			t.Errorf("a build without a change is announced: %+v", again)
		}
		bob := w.agent(agent{handle: "bob"})
		w.days(bob, "politics", "2026-11-11", 5, .1)
		w.settle(bob, "politics")
		w.clock.move(time.Hour)
		if !w.tick() {
			t.Fatal("nothing was built")
		}
		if list := announced(); len(list) != 2 || !list[1].AsOf.After(list[0].AsOf) {
			t.Errorf("announced %+v", list)
		}
	})
}
