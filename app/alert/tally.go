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

// Tally counts this node's server errors and adds them to the database in batches,
// where the Monitor of whichever node finds them. Nothing is written while there are
// none.
type Tally struct {
	db   *database.DB
	log  *slog.Logger
	now  func() time.Time
	n    atomic.Int64
	stop chan struct{}
	done chan struct{}
}

// NewTally makes a Tally that has counted nothing.
func NewTally(db *database.DB, log *slog.Logger, now func() time.Time) *Tally {
	return &Tally{db: db, log: log, now: now}
}

// Count takes the HTTP status of an answer.
func (t *Tally) Count(status int) {
	if status >= 500 {
		t.n.Add(1)
	}
}

// Flush writes what was counted. When that fails it is kept for the next.
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

// Prune deletes one batch of the minutes that no alert looks at any more; more tells
// that some may be left.
func Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	return database.Prune(ctx, db, "server_errors", "minute", now.Add(-tallyKept), "minute")
}

// Start writes every ten seconds until Stop.
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
					t.log.Warn("server errors are kept for the next try", "error", err)
				}
				cancel()
			case <-t.stop:
				return
			}
		}
	}()
}

// Stop ends the writing with one last Flush.
func (t *Tally) Stop(ctx context.Context) error {
	close(t.stop)
	<-t.done
	return t.Flush(ctx)
}
