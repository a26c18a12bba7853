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

// recheck is the time between two checks, and recheckTimeout the longest time that a check takes.
// Together they are less than a second, because a revocation must work on every node within a
// second.
const (
	recheck        = 400 * time.Millisecond
	recheckTimeout = 400 * time.Millisecond
)

// bump increments the credential generation, in the transaction that takes access away.
func bump(ctx context.Context, tx bun.Tx) error {
	if _, err := tx.ExecContext(ctx, "UPDATE credential_generation SET generation = generation + 1 WHERE id = 1"); err != nil {
		return fmt.Errorf("bump the credential generation: %w", err)
	}
	return nil
}

// CurrentGeneration reads the credential generation; see Generation.
func CurrentGeneration(ctx context.Context, db bun.IDB) (n int64, err error) {
	if err := db.NewRaw("SELECT generation FROM credential_generation WHERE id = 1").Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("read the credential generation: %w", err)
	}
	return n, nil
}

// Generation watches the credential generation. A caller that caches an answer about a credential
// notes the Epoch before it asks, and uses the answer only while Epoch has that value. Epoch
// changes when the generation changes. It also changes when the generation can't be read, because a
// revocation may have been missed.
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

// Epoch returns a number that changes when cached answers about credentials may be wrong.
func (g *Generation) Epoch() uint64 { return g.epoch.Load() }

// Recheck requests a check now instead of within 400 ms. It doesn't wait for the check.
func (g *Generation) Recheck() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}

// Check reads the generation and updates Epoch. It takes at most 400 ms.
func (g *Generation) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, recheckTimeout)
	defer cancel()
	g.mu.Lock()
	defer g.mu.Unlock()
	now, err := CurrentGeneration(ctx, g.db)
	if err != nil {
		g.epoch.Add(1)
		return err
	}
	if now != g.last {
		g.last = now
		g.epoch.Add(1)
	}
	return nil
}

// Start begins to check the generation every 400 ms, until Stop.
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
				g.log.Warn("can't read the credential generation; each request looks up its credential until the database answers", "error", err)
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

// Stop ends the checks and waits for a running one.
func (g *Generation) Stop() {
	g.stop()
	<-g.done
}
