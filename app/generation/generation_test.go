package generation_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
)

// watcher returns a watcher. It opens a connection first, because a check fails if it takes long, and connecting may.
func watcher(t *testing.T, db *database.DB) *generation.Watcher {
	t.Helper()
	if _, err := db.Reader.ExecContext(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
	return generation.NewWatcher(db.Reader, slog.New(slog.DiscardHandler))
}

func move(t *testing.T, db *database.DB, topics ...generation.Topic) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return generation.Move(ctx, tx, topics...) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatcherSeesWhatMoved(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := watcher(t, db)
		texts, before := 0, w.Stamp()
		w.OnMoved(generation.Texts, func() {
			if texts++; !w.Stamp().Same(before, []generation.Topic{generation.Texts}) {
				t.Error("the new stamp shows before what depends on it is dropped")
			}
		})
		move(t, db, generation.Boards, generation.Texts)
		move(t, db, generation.Texts)
		if err := w.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := w.Stamp()
		if now.Same(before, []generation.Topic{generation.Boards}) || now.Same(before, []generation.Topic{generation.Markets, generation.Texts}) {
			t.Error("the moves don't show")
		}
		if !now.Same(before, []generation.Topic{generation.Markets, generation.Predictions}) {
			t.Error("other topics moved")
		}
		if err := w.Check(t.Context()); err != nil || texts != 1 || !w.Stamp().Same(now, []generation.Topic{generation.Texts}) {
			t.Errorf("%v, OnMoved called %d times", err, texts)
		}
	})
}

func TestRolledBackMoveIsNotSeen(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := watcher(t, db)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := generation.Move(t.Context(), tx, generation.Results); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(t.Context()); err != nil || *w.Stamp() != (generation.Stamp{}) {
			t.Errorf("%v: the move shows before the commit", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(t.Context()); err != nil || *w.Stamp() != (generation.Stamp{}) {
			t.Errorf("%v: the move shows after a rollback", err)
		}
	})
}

// TestMovingNeverWaits checks that transactions that have moved a topic don't block others from
// moving it, and that every move shows with its commit, in any order of commits.
func TestMovingNeverWaits(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	w := watcher(t, db)
	topics := []generation.Topic{generation.Results}
	for range 2 { // the second time, the slots exist
		open := make([]bun.Tx, 4)
		for i := range open {
			var err error
			if open[i], err = db.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			defer open[i].Rollback()
			if err := generation.Move(t.Context(), open[i], topics...); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range []int{2, 0, 3, 1} {
			before := w.Stamp()
			if err := open[i].Commit(); err != nil {
				t.Fatal(err)
			}
			if err := w.Check(t.Context()); err != nil || w.Stamp().Same(before, topics) {
				t.Errorf("%v: a commit doesn't show", err)
			}
		}
	}
	slots, err := db.NewSelect().Table("generations").Count(t.Context())
	if err != nil || slots != 4 {
		t.Errorf("got %d slots, %v; want 4", slots, err)
	}
}

// TestChecksShareLooks checks that each of many waiting callers sees everything that was committed
// before its call.
func TestChecksShareLooks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := watcher(t, db)
		w.Start()
		defer w.Stop()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					before := w.Stamp()
					move(t, db, generation.Agents)
					if err := w.Check(t.Context()); err != nil || w.Stamp().Same(before, []generation.Topic{generation.Agents}) {
						t.Errorf("%v: the caller's own move doesn't show", err)
					}
				}
			})
		}
		wg.Wait()
		if got := w.Stamp()[generation.Agents]; got != 160 {
			t.Errorf("moved to %d, want 160", got)
		}
	})
}

func TestCheckFailsWithTheDatabase(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	w := watcher(t, db)
	move(t, db, generation.Agents)
	if err := w.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := w.Stamp()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Check(t.Context()); err == nil || w.Stamp() != before {
		t.Errorf("got %v", err)
	}
}
