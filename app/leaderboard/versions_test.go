package leaderboard_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// crowd makes n ranked agents and some provisional ones. Later agents are worse.
func (w *world) crowd(n int) (ids []uuid.UUID) {
	w.t.Helper()
	for i := range n + n/4 {
		id := w.agent(agent{handle: fmt.Sprint("a", i), days: 14})
		events := 40
		if i >= n {
			events = 5
		}
		w.days(id, "sport", "2026-11-01", events, float64(n-i)/10)
		ids = append(ids, id)
	}
	return ids
}

// rows returns how many rows of boards there are, of all versions.
func (w *world) rows() (n int) {
	w.t.Helper()
	if err := w.db.Reader.NewRaw("SELECT COUNT(*) FROM board_rows").Scan(w.t.Context(), &n); err != nil {
		w.t.Error(err)
	}
	return n
}

// shown reads the whole main board as readers see it, and checks that its ranks are complete.
func (w *world) shown() (order string) {
	w.t.Helper()
	var board *leaderboard.Board
	f, ranked := leaderboard.Filter{Window: leaderboard.All, Limit: 100}, int64(0)
	for more := true; more; more = f.Cursor != "" {
		page, err := w.store.Read(w.t.Context(), w.db.Reader, f)
		if err != nil {
			w.t.Error(err)
			return ""
		}
		for _, e := range page.Entries {
			if e.Rank != nil {
				if ranked++; *e.Rank != ranked {
					w.t.Errorf("%s has rank %d, want %d", e.Handle, *e.Rank, ranked)
				}
			}
			order += e.Handle + " "
		}
		board, f.Cursor = page.Board, page.Next
	}
	if board != nil && board.Ranked != ranked {
		w.t.Errorf("the board shows %d ranked agents, want %d", ranked, board.Ranked)
	}
	return order
}

// TestLargeBoardInShortTransactions checks that a build that moves all ranks of a large board writes a bounded number of
// rows in one transaction, and that readers see a whole board after each of them.
func TestLargeBoardInShortTransactions(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite) // not Postgres, where publishing doesn't wait for a build
	const agents, most = 240, 100
	w := newWorld(t, db)
	ids := w.crowd(agents)
	rows, orders, watched := 0, map[string]bool{}, false
	db.Watch(dbtest.OnCommit(func() {
		if !watched {
			return
		}
		n := w.rows()
		if n-rows > most || rows-n > most {
			t.Errorf("one transaction wrote or deleted %d rows, want at most %d", max(n-rows, rows-n), most)
		}
		rows = n
		order := w.shown()
		orders[order] = true
	}))
	watched = true
	w.tick()
	first := w.shown()
	w.clock.move(time.Minute)
	watched = false
	w.days(ids[agents-1], "sport", "2026-11-02", 20, 100)
	w.settle(ids[agents-1], "sport")
	watched = true
	w.tick()
	watched = false
	second := w.shown()
	delete(orders, "")
	if len(orders) != 2 || !orders[first] || !orders[second] || first == second {
		t.Errorf("readers saw %d boards, want the two that were built", len(orders))
	}
	w.alike()
}

// alike checks that the main board is the same after a full build in another Builder, and that no old rows are left.
func (w *world) alike() {
	w.t.Helper()
	before := w.shown()
	n := w.rows()
	w.clock.move(time.Minute)
	if err := leaderboard.NewBuilder(w.db, thresholds, w.clock.now).Rebuild(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if after := w.shown(); after != before || w.rows() != n {
		w.t.Errorf("a full build gives %d rows instead of %d\n%s\ninstead of\n%s", w.rows(), n, after, before)
	}
	var old int
	err := w.db.Reader.NewRaw(`SELECT COUNT(*) FROM board_rows AS r JOIN boards AS b ON b.span = r.span AND b.category = r.category
		WHERE b.version <> r.version`).Scan(w.t.Context(), &old)
	if err != nil || old != 0 {
		w.t.Errorf("%d old rows are left (%v)", old, err)
	}
}

// interrupt builds the boards, moves the last agent to the top and interrupts the next build. It returns the main board
// of the first build.
func (w *world) interrupt(ids []uuid.UUID) (before string) {
	w.t.Helper()
	w.tick()
	before = w.shown()
	w.days(ids[239], "sport", "2026-11-02", 20, 100)
	w.settle(ids[239], "sport")
	w.clock.move(time.Minute)
	ctx, crash := context.WithCancel(w.t.Context())
	commits := 0
	w.db.Watch(dbtest.OnCommit(func() {
		if commits++; commits == 2 {
			crash()
		}
	}))
	if _, err := w.builder.Tick(ctx); err == nil {
		w.t.Error("the build was not interrupted")
	}
	return before
}

// TestInterruptedBuild checks that readers see the old board when a build of a large board is interrupted, and that the
// next build completes it.
func TestInterruptedBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	before := w.interrupt(w.crowd(240))
	if order := w.shown(); order != before {
		t.Error("readers see another board")
	}
	w.clock.move(time.Minute)
	w.tick()
	if order := w.shown(); order == before {
		t.Error("readers see the old board after the next build")
	}
	w.alike()
}

// TestBuildersBesideEachOther checks that a build doesn't delete the rows of a board that another process shows meanwhile. It is
// refused instead.
func TestBuildersBesideEachOther(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	w := newWorld(t, dbtest.OpenAt(t, address))
	w.interrupt(w.crowd(240)) // its rows are what the next build deletes first
	other := dbtest.OpenAt(t, address)
	w.clock.move(time.Minute)
	rows := w.rows()
	var once sync.Once
	w.db.Watch(dbtest.OnCommit(func() {
		if w.rows() >= rows {
			return
		}
		once.Do(func() {
			if err := leaderboard.NewBuilder(other, thresholds, w.clock.now).Rebuild(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}))
	err := leaderboard.NewBuilder(w.db, thresholds, w.clock.now).Rebuild(t.Context())
	if !errors.Is(err, leaderboard.ErrRaced) {
		t.Errorf("got %v, want a refusal", err)
	}
	seen := w.shownRows()
	w.clock.move(time.Minute)
	if err := leaderboard.NewBuilder(w.db, thresholds, w.clock.now).Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.alike()
	if all := w.shownRows(); seen != all {
		t.Errorf("readers saw %d rows of all boards, want %d", seen, all)
	}
}

// shownRows returns how many rows of all boards readers see.
func (w *world) shownRows() (n int) {
	w.t.Helper()
	err := w.db.Reader.NewRaw(`SELECT COUNT(*) FROM board_rows AS r JOIN boards AS b ON b.span = r.span AND b.category = r.category
		WHERE b.version = r.version`).Scan(w.t.Context(), &n)
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}
