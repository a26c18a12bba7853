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
	countEvery = 10 * time.Second
	countKept  = 24 * time.Hour
)

// serverErrors is one row: how many requests all nodes failed in one minute.
type serverErrors struct {
	bun.BaseModel `bun:"table:server_errors,alias:e"`

	Minute time.Time `bun:",pk"`
	Count  int64
}

// ErrorCounter counts this node's server errors and adds them to the database in batches, where any node's
// Watcher reads them. It writes nothing if there are no errors.
type ErrorCounter struct {
	db   *database.DB
	log  *slog.Logger
	now  func() time.Time
	n    atomic.Int64
	stop chan struct{}
	done chan struct{}
}

// NewErrorCounter returns an ErrorCounter that writes to db.
func NewErrorCounter(db *database.DB, log *slog.Logger, now func() time.Time) *ErrorCounter {
	return &ErrorCounter{db: db, log: log, now: now}
}

// Count counts an answer with an HTTP status.
func (c *ErrorCounter) Count(status int) {
	if status >= 500 {
		c.n.Add(1)
	}
}

// Flush writes the count. If that fails, it keeps the count for the next Flush.
func (c *ErrorCounter) Flush(ctx context.Context) error {
	n := c.n.Swap(0)
	if n == 0 {
		return nil
	}
	at := database.Stored(c.now())
	_, err := c.db.NewInsert().Model(&serverErrors{Minute: at.Truncate(time.Minute), Count: n}).
		On("CONFLICT (minute) DO UPDATE").Set("count = e.count + EXCLUDED.count").Exec(ctx)
	if err != nil {
		c.n.Add(n)
		return fmt.Errorf("write server errors: %w", err)
	}
	return nil
}

// Prune deletes one batch of the minutes that no alert reads any longer. more is true if some may
// be left.
func Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	return database.Prune(ctx, db, "server_errors", "minute", now.Add(-countKept), "minute")
}

// Start writes the count every ten seconds until Stop.
func (c *ErrorCounter) Start() {
	c.stop, c.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(c.done)
		tick := time.NewTicker(countEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				ctx, cancel := context.WithTimeout(context.Background(), countEvery)
				if err := c.Flush(ctx); err != nil {
					c.log.Warn("server errors not written; the next attempt includes them", "error", err)
				}
				cancel()
			case <-c.stop:
				return
			}
		}
	}()
}

// Stop ends the writes with a last Flush.
func (c *ErrorCounter) Stop(ctx context.Context) error {
	close(c.stop)
	<-c.done
	return c.Flush(ctx)
}
