package alert

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	tallyEvery = 10 * time.Second
	tallyKept  = 24 * time.Hour
)

// serverErrors is one row: how many requests all nodes failed in one minute.
type serverErrors struct {
	bun.BaseModel `bun:"table:server_errors,alias:e"`

	Minute time.Time `bun:",pk"`
	Count  int64
}

// Tally counts this node's server errors and adds them to the database in batches, where any node's
// Watcher reads them. It writes nothing if there are no errors.
type Tally struct {
	db   *database.DB
	log  *slog.Logger
	now  func() time.Time
	n    atomic.Int64
	stop chan struct{}
	done chan struct{}
}

// NewTally makes an empty Tally.
func NewTally(db *database.DB, log *slog.Logger, now func() time.Time) *Tally {
	return &Tally{db: db, log: log, now: now}
}

// Count counts an answer with an HTTP status.
func (t *Tally) Count(status int) {
	if status >= 500 {
		t.n.Add(1)
	}
}

// Flush writes the count. If that fails, it keeps the count for the next Flush.
func (t *Tally) Flush(ctx context.Context) error {
	n := t.n.Swap(0)
	if n == 0 {
		return nil
	}
	at := database.Now(t.now())
	_, err := t.db.NewInsert().Model(&serverErrors{Minute: at.Truncate(time.Minute), Count: n}).
		On("CONFLICT (minute) DO UPDATE").Set("count = e.count + EXCLUDED.count").Exec(ctx)
	if err != nil {
		t.n.Add(n)
		return fmt.Errorf("write server errors: %w", err)
	}
	return nil
}

// Prune deletes one batch of the minutes that no alert reads any longer. more is true if some may
// be left.
func Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	return database.Prune(ctx, db, "server_errors", "minute", now.Add(-tallyKept), "minute")
}

// Start writes the count every ten seconds until Stop.
func (t *Tally) Start() {
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(t.done)
		tick := time.NewTicker(tallyEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				ctx, cancel := context.WithTimeout(context.Background(), tallyEvery)
				if err := t.Flush(ctx); err != nil {
					t.log.Warn("server errors not written; the next attempt includes them", "error", err)
				}
				cancel()
			case <-t.stop:
				return
			}
		}
	}()
}

// Stop ends the writes with a last Flush.
func (t *Tally) Stop(ctx context.Context) error {
	close(t.stop)
	<-t.done
	return t.Flush(ctx)
}
