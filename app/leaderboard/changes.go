package leaderboard

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// ledgerOverlap is the longest time that a settlement's transaction may take from its timestamp to
// its commit. The boards show an entry of a slower one only after the day's end.
const ledgerOverlap = 2 * time.Minute

// ledgerMark says how far the ledger has been read: from the moment From on, the counts were as they are here.
type ledgerMark struct {
	From time.Time
	counts
	// Stamp was read before the counts.
	Stamp generation.Stamp
}

// counts show by a difference that a board may have changed. Entries counts the ledger entries from the moment
// ledgerMark.From on. An entry that is committed late still changes the count.
type counts struct {
	Entries int64
	// References counts the reference rows that were settled or reopened from From on, and LastReference is when the
	// last of them was, in microseconds of Unix time. Reference rows have no ledger entries.
	References, LastReference int64
	// Publishers counts the agents that have ever published.
	Publishers int64
	// EnoughDays counts the agents that have published on as many days as a rank needs.
	EnoughDays int64
	// Agents moves when an agent registers, is disabled, is enabled or changes its profile.
	Agents int64
}

// readMark returns a mark that begins at at. last is an earlier one, or nil.
func (b *Builder) readMark(ctx context.Context, db bun.IDB, last *ledgerMark, at time.Time) (ledgerMark, error) {
	var m ledgerMark
	if last != nil {
		m = *last
	}
	m.From = at.Add(-ledgerOverlap)
	err := b.count(ctx, db, &m, last == nil)
	return m, err
}

// count counts again what m counts. It counts the publishers only if something was published since, or if all is true,
// because that reads the tallies of all agents.
func (b *Builder) count(ctx context.Context, db bun.IDB, m *ledgerMark, all bool) error {
	before := m.Stamp
	var err error
	if m.Stamp, err = generation.ReadStamp(ctx, db); err != nil {
		return err
	}
	m.Agents = m.Stamp[generation.Agents]
	if m.Entries, err = settlement.CountEntries(ctx, db, m.From); err != nil {
		return err
	}
	var latest time.Time
	if m.References, latest, err = settlement.CountReferences(ctx, db, m.From); err != nil {
		return err
	}
	m.LastReference = latest.UnixMicro()
	if !all && m.Stamp.Same(&before, talliesMove) {
		return nil
	}
	m.Publishers, m.EnoughDays, err = (prediction.Store{}).PublishersOn(ctx, db, b.thresholds.Days)
	return err
}

// talliesMove are the topics that move when an agent publishes, or when its tally is counted again.
var talliesMove = []generation.Topic{generation.Predictions, generation.Results}

// changes lists the agents and categories to build again since the last build.
type changes struct {
	agents     map[uuid.UUID]bool
	categories map[string]bool // includes AllCategories
	everywhere bool            // build all categories
	mark       ledgerMark
}

func (c *changes) none() bool { return len(c.agents) == 0 }

// changes finds the agents and categories with new ledger entries or reference rows settled since, the agents that
// published for the first time or on the last day that a rank needs, and the agents whose status or model differs from
// the board.
func (b *Builder) changes(ctx context.Context, at time.Time) (changes, error) {
	current := b.seen
	if err := b.count(ctx, b.db.Reader, &current, false); err != nil {
		return changes{}, err
	}
	if current.counts == b.seen.counts {
		b.seen = current
		return changes{}, nil
	}
	// Read the new mark before the entries, so that the next Tick finds entries committed in
	// between.
	mark, err := b.readMark(ctx, b.db.Reader, &current, at)
	if err != nil {
		return changes{}, err
	}
	// Count again, so that the checks below cover everything that the new mark has counted.
	if err := b.count(ctx, b.db.Reader, &current, false); err != nil {
		return changes{}, err
	}
	c := changes{agents: map[uuid.UUID]bool{}, categories: map[string]bool{AllCategories: true}, mark: mark}
	if current.Entries != b.seen.Entries || current.References != b.seen.References || current.LastReference != b.seen.LastReference {
		if err := c.settled(ctx, b.db.Reader, b.seen.From); err != nil {
			return changes{}, err
		}
	}
	if current.Publishers != b.seen.Publishers || current.Agents != b.seen.Agents {
		if err := c.arrived(ctx, b.db.Reader); err != nil {
			return changes{}, err
		}
	}
	if current.EnoughDays != b.seen.EnoughDays {
		if err := c.gotEnoughDays(ctx, b.db.Reader, b.thresholds.Days); err != nil {
			return changes{}, err
		}
	}
	if current.Agents != b.seen.Agents {
		if err := c.altered(ctx, b.db.Reader); err != nil {
			return changes{}, err
		}
	}
	if c.none() {
		b.seen = mark // the change doesn't show on any board
	}
	return c, nil
}

// altered adds the agents on the main board that are no longer listed or declare another model.
func (c *changes) altered(ctx context.Context, db bun.IDB) error {
	var ids []uuid.UUID
	err := db.NewRaw(`SELECT r.agent_id FROM board_rows AS r JOIN (?) AS a ON a.id = r.agent_id
		WHERE `+onMainBoard+` AND (NOT (?) OR a.model <> r.model)`, agent.Select(db), agent.Listed("a")).Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read altered agents: %w", err)
	}
	for _, id := range ids {
		c.agents[id], c.everywhere = true, true
	}
	return nil
}

// settled adds the agents and categories of what was scored from a moment on.
func (c *changes) settled(ctx context.Context, db bun.IDB, from time.Time) error {
	list, err := settlement.ScoredSince(ctx, db, from)
	if err != nil {
		return err
	}
	for _, scored := range list {
		c.agents[scored.AgentID] = true
		c.categories[scored.Category] = true
	}
	return nil
}

// arrived adds the agents that have published and are not on the main board: new agents and agents
// that were enabled again. Only the latter can have results, and so be on boards of categories.
func (c *changes) arrived(ctx context.Context, db bun.IDB) error {
	var found []struct {
		AgentID uuid.UUID `bun:",type:uuid"`
		Settled bool
	}
	err := db.NewRaw(`SELECT t.agent_id, t.resolved > 0 AS settled FROM (?) AS t
		JOIN (?) AS a ON a.id = t.agent_id AND ?
		LEFT JOIN board_rows AS r ON r.agent_id = t.agent_id AND `+onMainBoard+`
		WHERE r.agent_id IS NULL AND t.total > 0`,
		prediction.SelectTallies(db), agent.Select(db), agent.Listed("a")).Scan(ctx, &found)
	if err != nil {
		return fmt.Errorf("read new publishers: %w", err)
	}
	for _, f := range found {
		c.agents[f.AgentID], c.everywhere = true, c.everywhere || f.Settled
	}
	return nil
}

// gotEnoughDays adds the agents without a rank on the main board that have published on exactly as many days as a rank
// needs.
func (c *changes) gotEnoughDays(ctx context.Context, db bun.IDB, days int64) error {
	var ids []uuid.UUID
	err := db.NewRaw(`SELECT t.agent_id FROM (?) AS t
		JOIN board_rows AS r ON r.agent_id = t.agent_id AND `+onMainBoard+`
		WHERE t.publication_days = ? AND r.provisional`, prediction.SelectTallies(db), days).Scan(ctx, &ids)
	if err != nil {
		return fmt.Errorf("read agents with enough days: %w", err)
	}
	for _, id := range ids {
		c.agents[id], c.everywhere = true, true
	}
	return nil
}

// with returns the touched agents and the reference agents.
func (c *changes) with(contenders map[uuid.UUID]contender) []uuid.UUID {
	for id, one := range contenders {
		if one.Reference {
			c.agents[id] = true
		}
	}
	return slices.Collect(maps.Keys(c.agents))
}

// chunkSize is the most ids or rows in one statement.
const chunkSize = 500

func chunks[T any](list []T) iter.Seq[[]T] { return slices.Chunk(list, chunkSize) }
