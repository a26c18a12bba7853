package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/generation"
)

// recheck is the time between two checks, and recheckTimeout the longest time that a check takes.
// Together they are less than a second, because a revocation must work on every node within a
// second.
const (
	recheck        = 400 * time.Millisecond
	recheckTimeout = 400 * time.Millisecond
)

const (
	// changesKept is the least number of changes that are kept. A node that missed more drops all that it has cached.
	changesKept = 1_000
	// changesPruned is the number of changes that are deleted at a time.
	changesPruned = 100
	// agentsNoted is the most agents whose last change a node remembers.
	agentsNoted = 50_000
)

// bump records that the access or the profile of an agent changed, in the transaction that changes it.
// The row of credential_generation stays locked until the end of the transaction. So the changes are
// committed in the order of their numbers, and a node that has read one has read all before it.
func bump(ctx context.Context, tx bun.Tx, agentID uuid.UUID) error {
	return bumpOf(ctx, tx, uuid.NullUUID{UUID: agentID, Valid: true})
}

// changed is bump, and also moves the generations of what is made from the agent.
func changed(ctx context.Context, tx bun.Tx, agentID uuid.UUID, topics ...generation.Topic) error {
	if err := bump(ctx, tx, agentID); err != nil {
		return err
	}
	return generation.Move(ctx, tx, topics...)
}

// bumpAll is bump for all agents.
func bumpAll(ctx context.Context, tx bun.Tx) error { return bumpOf(ctx, tx, uuid.NullUUID{}) }

func bumpOf(ctx context.Context, tx bun.Tx, agentID uuid.NullUUID) error {
	var now int64
	err := tx.NewRaw("UPDATE credential_generation SET generation = generation + 1 WHERE id = 1 RETURNING generation").Scan(ctx, &now)
	if err == nil {
		_, err = tx.NewRaw("INSERT INTO credential_changes (generation, agent_id) VALUES (?, ?)", now, agentID).Exec(ctx)
	}
	if err == nil && now%changesPruned == 0 {
		_, err = tx.NewRaw("DELETE FROM credential_changes WHERE generation <= ?", now-changesKept).Exec(ctx)
	}
	if err != nil {
		return fmt.Errorf("bump the credential generation: %w", err)
	}
	return nil
}

// Generation watches the credential generation. A caller that caches an answer about a credential notes the
// Epoch before it asks, and uses the answer only while Epoch has that value or Holds returns true for it.
// Epoch changes when the generation changes. It also changes when the generation can't be read, because a
// revocation may have been missed. Its methods are safe for concurrent use.
type Generation struct {
	db  *bun.DB
	log *slog.Logger

	epoch atomic.Uint64
	wake  chan struct{}

	checking sync.Mutex
	last     int64

	mu      sync.RWMutex
	floor   uint64               // answers of earlier epochs hold for no agent
	changed map[uuid.UUID]uint64 // the epoch of the last change of an agent

	stop context.CancelFunc
	done chan struct{}
}

// NewGeneration returns a watcher that reads through db.
func NewGeneration(db *bun.DB, log *slog.Logger) *Generation {
	return &Generation{db: db, log: log, wake: make(chan struct{}, 1), changed: map[uuid.UUID]uint64{}}
}

// Epoch returns a number that changes when cached answers about some agents may be wrong.
func (g *Generation) Epoch() uint64 { return g.epoch.Load() }

// Holds reports whether an answer about the credential of an agent still holds if Epoch was epoch before it was asked.
// uuid.Nil stands for a credential that belongs to no known agent. Such an answer is a refusal. It holds until a change
// of all agents, because no change of one agent gives a credential to another.
func (g *Generation) Holds(agentID uuid.UUID, epoch uint64) bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return epoch >= g.floor && epoch >= g.changed[agentID]
}

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
	g.checking.Lock()
	defer g.checking.Unlock()
	now, agents, complete, err := g.changes(ctx)
	switch {
	case err != nil:
		g.dropAll()
		return err
	case !complete:
		g.dropAll()
	case len(agents) > 0:
		g.drop(agents)
	}
	g.last = now
	return nil
}

// changes reads the generation, and the agents that changed since the last check. complete is false if they are not all
// known, or if all agents changed.
func (g *Generation) changes(ctx context.Context) (now int64, agents []uuid.UUID, complete bool, err error) {
	var rows []struct {
		Now        int64
		Generation int64         `bun:",nullzero"`
		AgentID    uuid.NullUUID `bun:",type:uuid"`
	}
	err = g.db.NewRaw(`SELECT g.generation AS now, c.generation, c.agent_id FROM credential_generation AS g
		LEFT JOIN credential_changes AS c ON c.generation > ? WHERE g.id = 1`, g.last).Scan(ctx, &rows)
	if err != nil {
		return 0, nil, false, fmt.Errorf("read the credential generation: %w", err)
	}
	complete = true
	for _, row := range rows {
		now = row.Now
		if row.Generation == 0 {
			continue // no changes
		}
		agents = append(agents, row.AgentID.UUID)
		complete = complete && row.AgentID.Valid
	}
	// Each change has one row, until it is pruned.
	return now, agents, complete && int64(len(agents)) == now-g.last, nil
}

// dropAll begins a new epoch, in which no earlier answer holds.
func (g *Generation) dropAll() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.changed)
	g.floor = g.epoch.Load() + 1
	g.epoch.Store(g.floor)
}

// drop begins a new epoch, in which no earlier answer about the agents holds.
func (g *Generation) drop(agents []uuid.UUID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.epoch.Load() + 1
	if len(g.changed)+len(agents) > agentsNoted {
		clear(g.changed)
		g.floor = now
	}
	for _, id := range agents {
		g.changed[id] = now
	}
	g.epoch.Store(now)
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
