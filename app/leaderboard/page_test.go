package leaderboard_test

import (
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/problem"
)

// walk reads a whole board page by page.
func (w *world) walk(f leaderboard.Filter, between func(page int)) []string {
	w.t.Helper()
	var handles []string
	for page := 0; ; page++ {
		p := w.page(f)
		for _, e := range p.Entries {
			handles = append(handles, e.Handle)
		}
		if p.Next == "" {
			return handles
		}
		between(page)
		f.Cursor = p.Next
	}
}

func TestPaging(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		for i := range 25 {
			model := []string{"odd", "even"}[i%2]
			w.days(w.agent(agent{handle: "agent-" + strconv.Itoa(i), model: model, days: 14}), "sport", "2026-11-01", 30, float64(20-i))
		}
		w.tick()
		all := w.walk(leaderboard.Filter{Limit: 100}, nil)
		if len(all) != 26 {
			t.Fatalf("%d rows, want 25 agents and the market", len(all))
		}
		for _, limit := range []int{1, 7, 25, 26} {
			got := w.walk(leaderboard.Filter{Limit: limit}, func(int) {})
			if !slices.Equal(got, all) {
				t.Errorf("by %d: %q, want %q", limit, got, all)
			}
		}
		odd := w.walk(leaderboard.Filter{Limit: 5, Model: "odd"}, func(int) {})
		if len(odd) != 13 || odd[0] != "agent-0" || odd[12] != "agent-24" {
			t.Errorf("model odd: %q", odd)
		}

		page := w.page(leaderboard.Filter{Limit: 100})
		first, last := page.Entries[0].Row, page.Entries[24].Row
		rows, err := leaderboard.MainRows(t.Context(), db.Reader, []uuid.UUID{last.AgentID, first.AgentID, w.agent(agent{handle: "new"})})
		if err != nil || len(rows) != 2 || *rows[first.AgentID].Rank != *first.Rank || rows[last.AgentID].Skill != last.Skill {
			t.Errorf("rows of agents: %+v, %v; want %+v and %+v", rows, err, first, last)
		}
	})
}

// TestCursorDuringRebuild checks that an agent that keeps its position is seen exactly once if the
// board is built again between two pages.
func TestCursorDuringRebuild(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		var steady []string
		for i := range 20 {
			handle := "steady-" + strconv.Itoa(i)
			steady = append(steady, handle)
			w.days(w.agent(agent{handle: handle, days: 14}), "sport", "2026-11-01", 30, float64(40-i))
		}
		rising := w.agent(agent{handle: "rising", days: 14})
		w.days(rising, "sport", "2026-11-01", 30, -9)
		w.tick()
		seen := w.walk(leaderboard.Filter{Limit: 3}, func(page int) {
			if page == 1 {
				w.days(rising, "sport", "2026-11-02", 300, 90)
				w.settle(rising, "sport")
				w.days(w.agent(agent{handle: "new", days: 14}), "sport", "2026-11-01", 30, 60)
			}
			if page == 2 {
				w.exec("UPDATE agents SET status = 'disabled' WHERE handle = 'steady-8'")
			}
			if err := w.builder.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		want := append(slices.Clone(steady), "market")
		if !slices.Equal(seen, want) {
			t.Errorf("walked %q\nwant %q", seen, want)
		}
	})
}

func TestBadCursor(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		for i := range 3 {
			w.days(w.agent(agent{handle: "agent-" + strconv.Itoa(i), days: 14}), "sport", "2026-11-01", 30, 1)
		}
		w.tick()
		good := w.page(leaderboard.Filter{Limit: 1}).Next
		for name, f := range map[string]leaderboard.Filter{
			"noise": {Cursor: "!"}, "cut": {Cursor: good[:len(good)-1]},
			"another window": {Cursor: good, Window: leaderboard.Days30}, "another category": {Cursor: good, Category: "sport"},
			"another list": {Cursor: cursor.Encode("all", "", "x")},
		} {
			_, err := w.store.Read(t.Context(), db.Reader, f)
			if err == nil || problem.As(err).Code != "invalid_parameter" {
				t.Errorf("%s: %v, want invalid_parameter", name, err)
			}
		}
	})
}

// TestPagesOfAnySizeShareTheirPlans checks that pages of all sizes share a few query plans. A plan
// takes 160 kB on each connection to Postgres, so one for each size would cost too much memory.
func TestPagesOfAnySizeShareTheirPlans(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.Postgres))
	for i := range 30 {
		w.days(w.agent(agent{handle: "agent-" + strconv.Itoa(i), model: "m", days: 14}), "sport", "2026-11-01", 30, 1)
	}
	w.tick()
	w.db.SetMaxOpenConns(1) // only now, because a build needs two connections
	for limit := 1; limit <= leaderboard.MaxLimit; limit++ {
		p := w.page(leaderboard.Filter{Model: "m", Limit: limit})
		if len(p.Entries) != min(limit, 30) || (p.Next != "") != (limit < 30) {
			t.Errorf("%d of %d, next %q", len(p.Entries), limit, p.Next)
		}
	}
	var plans int
	if err := w.db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%board_rows%'").Scan(&plans); err != nil || plans > 5 {
		t.Errorf("%d plans, %v", plans, err)
	}
}

// TestReadersSeeWholeBoards checks that a reader sees a complete board, with the ranks 1..n in
// order, while boards are built.
func TestReadersSeeWholeBoards(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		for i := range 60 {
			w.days(w.agent(agent{handle: "agent-" + strconv.Itoa(i), days: 14}), "sport", "2026-11-01", 30, float64(i))
		}
		w.tick()
		stop := make(chan struct{})
		var readers sync.WaitGroup
		for range 2 {
			readers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					fresh := leaderboard.NewStore(thresholds, w.clock.now)
					p, err := fresh.Read(t.Context(), db.Reader, leaderboard.Filter{Limit: 100})
					if err != nil {
						t.Error(err)
						return
					}
					rank := int64(0)
					for _, e := range p.Entries {
						if e.Rank == nil {
							continue
						}
						if rank++; *e.Rank != rank {
							t.Errorf("got rank %d, want %d", *e.Rank, rank)
							return
						}
					}
					if rank != 60 {
						t.Errorf("%d ranked, want 60", rank)
						return
					}
				}
			})
		}
		for range 8 {
			w.exec("UPDATE agent_days SET cluster_sum = -cluster_sum")
			if err := w.builder.Rebuild(t.Context()); err != nil {
				t.Error(err)
			}
		}
		close(stop)
		readers.Wait()
	})
}
