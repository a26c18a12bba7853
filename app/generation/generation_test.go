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

func watcher(db *database.DB) *generation.Watcher {
	return generation.NewWatcher(db.Reader, slog.New(slog.DiscardHandler))
}

func move(t *testing.T, db *database.DB, topics ...generation.Topic) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return generation.Moved(ctx, tx, topics...) })
	if err != nil {
		t.Fatal(err)
	}
}

func TestWatcherSeesWhatMoved(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := watcher(db)
		texts := 0
		w.OnMoved(generation.Texts, func() { texts++ })
		before := w.Stamp()
		move(t, db, generation.Boards, generation.Texts)
		move(t, db, generation.Texts)
		if err := w.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		now := w.Stamp()
		if now.Same(before, []generation.Topic{generation.Boards}) || now.Same(before, []generation.Topic{generation.Markets, generation.Texts}) {
			t.Error("the moves are not seen")
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
		w := watcher(db)
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := generation.Moved(t.Context(), tx, generation.Results); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(t.Context()); err != nil || *w.Stamp() != (generation.Stamp{}) {
			t.Errorf("%v: seen before the commit", err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if err := w.Check(t.Context()); err != nil || *w.Stamp() != (generation.Stamp{}) {
			t.Errorf("%v: seen after a rollback", err)
		}
	})
}

// TestMovingNeverWaits: transactions that hold a topic don't stop others from moving it,
// and every move is seen with its commit, in whatever order they commit.
func TestMovingNeverWaits(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	w := watcher(db)
	topics := []generation.Topic{generation.Results}
	for range 2 { // the second time the slots are there
		open := make([]bun.Tx, 4)
		for i := range open {
			var err error
			if open[i], err = db.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			defer open[i].Rollback()
			if err := generation.Moved(t.Context(), open[i], topics...); err != nil {
				t.Fatal(err)
			}
		}
		for _, i := range []int{2, 0, 3, 1} {
			before := w.Stamp()
			if err := open[i].Commit(); err != nil {
				t.Fatal(err)
			}
			if err := w.Check(t.Context()); err != nil || w.Stamp().Same(before, topics) {
				t.Errorf("%v: a commit is not seen", err)
			}
		}
	}
	slots, err := db.NewSelect().Table("generations").Count(t.Context())
	if err != nil || slots != 4 {
		t.Errorf("%d slots, %v", slots, err)
	}
}

// TestChecksShareLooks: however many callers wait, each sees what was committed before its
// call.
func TestChecksShareLooks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := watcher(db)
		w.Start()
		defer w.Stop()
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					before := w.Stamp()
					move(t, db, generation.Agents)
					if err := w.Check(t.Context()); err != nil || w.Stamp().Same(before, []generation.Topic{generation.Agents}) {
						t.Errorf("%v: a caller's own move is not seen", err)
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
	w := watcher(db)
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
