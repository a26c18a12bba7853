package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
)

// recheck and recheckTimeout add up to less than the second within which a
// revocation must work on every node.
const (
	recheck        = 400 * time.Millisecond
	recheckTimeout = 400 * time.Millisecond
)

// bump moves the credential generation on, in the transaction that takes access
// away.
func bump(ctx context.Context, tx bun.Tx) error {
	if _, err := tx.ExecContext(ctx, "UPDATE credential_generation SET generation = generation + 1 WHERE id = 1"); err != nil {
		return fmt.Errorf("bump the credential generation: %w", err)
	}
	return nil
}

// Generation watches the credential generation. What was learned about a credential
// holds only while Epoch stays what it was before the question was asked; Epoch
// moves when the generation does. It also moves when the generation cannot be read,
// since a revocation may have been missed.
type Generation struct {
	db  *bun.DB
	log *slog.Logger

	epoch atomic.Uint64
	wake  chan struct{}

	mu   sync.Mutex
	last int64

	stop context.CancelFunc
	done chan struct{}
}

// NewGeneration returns a watcher that reads through db.
func NewGeneration(db *bun.DB, log *slog.Logger) *Generation {
	return &Generation{db: db, log: log, wake: make(chan struct{}, 1)}
}

// Epoch is what answers about credentials are stamped with.
func (g *Generation) Epoch() uint64 { return g.epoch.Load() }

// Recheck asks for a look now rather than within 400 ms. It does not wait.
func (g *Generation) Recheck() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Check looks now.
func (g *Generation) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recheckTimeout)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	var now int64
	err := g.db.QueryRowContext(ctx, "SELECT generation FROM credential_generation WHERE id = 1").Scan(&now)
	if err != nil {
		g.epoch.Add(1)
		return fmt.Errorf("read the credential generation: %w", err)
	}
	if now != g.last {
		g.last = now
		g.epoch.Add(1)
	}
	return nil
}

// Start watches until Stop.
func (g *Generation) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	g.stop, g.done = cancel, make(chan struct{})
	go func() {
		defer close(g.done)
		tick := time.NewTicker(recheck)
		defer tick.Stop()
		failing := false
		for {
			err := g.Check(ctx)
			if ctx.Err() != nil {
				return
			}
			if err != nil && !failing {
				g.log.Warn("credentials are checked one by one until the database answers", "error", err)
			}
			failing = err != nil
			select {
			case <-tick.C:
			case <-g.wake:
			case <-ctx.Done():
				return
			}
		}
	}()
}

// Stop ends the watch.
func (g *Generation) Stop() {
	g.stop()
	<-g.done
}
