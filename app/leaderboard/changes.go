package leaderboard

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// ledgerOverlap is how long a settlement's transaction may take from its timestamp
// to its commit without being overlooked until the day ends.
const ledgerOverlap = 2 * time.Minute

// ledgerMark is how far the ledger has been read: how many entries there were from
// a moment on. An entry that is committed late still changes the number.
type ledgerMark struct {
	From    time.Time
	Entries int64
	// Publishers is how many agents had ever published.
	Publishers int64
	// Generation moves when an agent is disabled, enabled or changes its profile, on
	// whatever node that happens.
	Generation int64
}

func readMark(ctx context.Context, db queryer, at time.Time) (ledgerMark, error) {
	m := ledgerMark{From: at.Add(-ledgerOverlap)}
	err := m.count(ctx, db)
	return m, err
}

func (m *ledgerMark) count(ctx context.Context, db queryer) error {
	err := db.NewRaw(`SELECT (SELECT COUNT(*) FROM score_entries WHERE id >= ?) AS entries,
		(SELECT COUNT(*) FROM agent_tallies) AS publishers,
		(SELECT generation FROM credential_generation WHERE id = 1) AS generation`, database.FirstID(m.From)).
		Scan(ctx, &m.Entries, &m.Publishers, &m.Generation)
	if err != nil {
		return fmt.Errorf("read the end of the ledger: %w", err)
	}
	return nil
}

// changes is what was settled since the last build.
type changes struct {
	agents     map[uuid.UUID]bool
	categories map[string]bool // with AllCategories
	everywhere bool            // whatever the categories
	mark       ledgerMark
}

func (c *changes) none() bool { return len(c.agents) == 0 }

// changes finds the agents and categories with new ledger entries, the agents that
// published for the first time, those whose status or model is another than the board
// shows, and those that Touch named.
func (b *Builder) changes(ctx context.Context, at time.Time, touched []uuid.UUID) (changes, error) {
	current := b.seen
	if err := current.count(ctx, b.db.Reader); err != nil {
		return changes{}, err
	}
	if current == b.seen && len(touched) == 0 {
		return changes{}, nil
	}
	// The new mark is read before the entries: what is committed in between is
	// found again by the next Tick.
	mark, err := readMark(ctx, b.db.Reader, at)
	if err != nil {
		return changes{}, err
	}
	// Counted again, so that whatever the mark has counted is looked for below.
	if err := current.count(ctx, b.db.Reader); err != nil {
		return changes{}, err
	}
	c := changes{agents: map[uuid.UUID]bool{}, categories: map[string]bool{AllCategories: true}, mark: mark}
	for _, id := range touched {
		c.agents[id], c.everywhere = true, true
	}
	if current.Entries != b.seen.Entries {
		if err := c.settled(ctx, b.db.Reader, b.seen.From); err != nil {
			return changes{}, err
		}
	}
	if current.Publishers != b.seen.Publishers {
		if err := c.arrived(ctx, b.db.Reader); err != nil {
			return changes{}, err
		}
	}
	if current.Generation != b.seen.Generation {
		if err := errors.Join(c.arrived(ctx, b.db.Reader), c.altered(ctx, b.db.Reader)); err != nil {
			return changes{}, err
		}
		c.everywhere = true
	}
	if c.none() {
		b.seen = mark // what moved does not show on a board
	}
	return c, nil
}

// altered adds the agents that left or came to a board other than as it shows them.
func (c *changes) altered(ctx context.Context, db queryer) error {
	var ids []uuid.UUID
	err := db.NewRaw(`SELECT r.agent_id FROM board_rows AS r JOIN agents AS a ON a.id = r.agent_id
		WHERE r.span = ? AND r.category = ? AND (NOT (?) OR a.model <> r.model)`, All, AllCategories, agent.Listed("a")).Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read altered agents: %w", err)
	}
	for _, id := range ids {
		c.agents[id], c.everywhere = true, true
	}
	return nil
}

// settled adds who has ledger entries from a moment on, and in which categories.
func (c *changes) settled(ctx context.Context, db queryer, from time.Time) error {
	var entries []struct {
		AgentID  uuid.UUID `bun:"type:uuid"`
		Category string
	}
	err := db.NewRaw("SELECT DISTINCT agent_id, category FROM score_entries WHERE id >= ?", database.FirstID(from)).Scan(ctx, &entries)
	if err != nil {
		return fmt.Errorf("read new ledger entries: %w", err)
	}
	for _, e := range entries {
		c.agents[e.AgentID] = true
		c.categories[e.Category] = true
	}
	return nil
}

// arrived adds the agents that have published and are not on the main board: new
// ones, and those that were enabled again.
func (c *changes) arrived(ctx context.Context, db queryer) error {
	var ids []uuid.UUID
	err := db.NewRaw(`SELECT t.agent_id FROM agent_tallies AS t
		JOIN agents AS a ON a.id = t.agent_id AND ?
		LEFT JOIN board_rows AS r ON r.span = ? AND r.category = ? AND r.agent_id = t.agent_id
		WHERE r.agent_id IS NULL AND t.total > 0`, agent.Listed("a"), All, AllCategories).Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read new publishers: %w", err)
	}
	for _, id := range ids {
		c.agents[id] = true
	}
	return nil
}

// with lists the touched agents together with those whose rows can change without a
// settlement of their own: the reference agents, which have no ledger entries.
func (c *changes) with(contenders map[uuid.UUID]contender) []uuid.UUID {
	for id, one := range contenders {
		if one.Reference {
			c.agents[id] = true
		}
	}
	return slices.Collect(maps.Keys(c.agents))
}

// chunkSize is how many ids or rows go into one statement.
const chunkSize = 500

func chunks[T any](list []T) iter.Seq[[]T] { return slices.Chunk(list, chunkSize) }

// queryer is the part of a bun handle that reads with SQL of its own.
type queryer interface {
	NewRaw(query string, args ...any) *bun.RawQuery
}
