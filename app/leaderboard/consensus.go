package leaderboard

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

const (
	// countChunk is how many markets are counted by one query.
	countChunk = 50
	// maxCounted is how many markets one run of a Counter counts.
	maxCounted = 4 * countChunk
	// refreshAfter is the age at which a consensus is counted anew although no prediction
	// changed, because the weights of the agents did.
	refreshAfter = time.Hour
	// refreshEvery is the time between two looks for old consensus, maxRefreshed how many
	// markets one look takes.
	refreshEvery = 10 * time.Second
	maxRefreshed = countChunk
)

// Counter keeps the stored consensus of the markets up to date. One node should run it, under
// a lease; two at once do the same work twice. It is not safe for concurrent use.
type Counter struct {
	db      *database.DB
	now     func() time.Time
	last    string // market of the latest count: the next run goes on after it
	refresh time.Time
}

// NewCounter returns a Counter.
func NewCounter(db *database.DB, now func() time.Time) *Counter { return &Counter{db: db, now: now} }

// Tick counts changed markets, at most 200, and reports whether there may be more. Every ten
// seconds it also takes up to 50 markets that were last counted more than an hour ago.
func (c *Counter) Tick(ctx context.Context) (more bool, err error) {
	if now := c.now(); !now.Before(c.refresh) {
		if err := prediction.RefreshConsensus(ctx, c.db, now.Add(-refreshAfter), maxRefreshed); err != nil {
			return false, err
		}
		c.refresh = now.Add(refreshEvery)
	}
	for counted := 0; counted < maxCounted; counted += countChunk {
		rows, err := prediction.TakeChanged(ctx, c.db, c.last, countChunk, c.now())
		if err != nil {
			return false, err
		}
		if err := c.count(ctx, rows); err != nil {
			return false, err
		}
		if len(rows) < countChunk {
			// The next run begins again with the first market.
			began := c.last
			c.last = ""
			return began != "", nil
		}
		c.last = rows[len(rows)-1].MarketID
	}
	return true, nil
}

// CountAll counts until no market is marked as changed, for a database that no other process
// publishes into.
func (c *Counter) CountAll(ctx context.Context) error {
	for {
		if more, err := c.Tick(ctx); err != nil || !more {
			return err
		}
	}
}

// count counts and stores what TakeChanged returned.
func (c *Counter) count(ctx context.Context, rows []prediction.Consensus) error {
	if len(rows) == 0 {
		return nil
	}
	fresh, err := recount(ctx, c.db.Reader, rows)
	if err != nil {
		return err
	}
	return c.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		// A crash that takes this back leaves the rows marked as changed. Publishers wait for
		// them meanwhile.
		if err := database.CommitLater(ctx, tx); err != nil {
			return err
		}
		if err := prediction.SaveConsensus(ctx, tx, fresh); err != nil || !differ(rows, fresh) {
			return err
		}
		return generation.Moved(ctx, tx, generation.Consensus)
	})
}

// differ reports whether any consensus shows something else than before.
func differ(before, after []prediction.Consensus) bool {
	for i := range after {
		a, b := &before[i], &after[i]
		if a.Outcome != b.Outcome || a.Agents != b.Agents || a.Others != b.Others || !equal(a.Median, b.Median) || !equal(a.Weighted, b.Weighted) {
			return true
		}
	}
	return false
}

func equal(a, b *float64) bool { return a == b || (a != nil && b != nil && *a == *b) }

// Recount counts those of some stored consensus anew that are marked as changed, without
// storing them. What it reads of each market is bounded: see prediction.Opinions.
func (s *Store) Recount(ctx context.Context, db bun.IDB, stored map[string]prediction.Consensus) error {
	var rows []prediction.Consensus
	for _, c := range stored {
		if c.Changed {
			rows = append(rows, c)
		}
	}
	fresh, err := recount(ctx, db, rows)
	if err != nil {
		return err
	}
	for _, c := range fresh {
		stored[c.MarketID] = c
	}
	return nil
}

// recount returns rows with what the agents' latest open predictions say now: of each active
// agent with settlement.ConsensusEvents settled events the last open one. The active agents
// with fewer are counted as others. On a market of two outcomes a prediction of the other counts
// as 1 − p; on one of more it does not count. Hidden predictions count: their numbers stay.
func recount(ctx context.Context, db bun.IDB, rows []prediction.Consensus) ([]prediction.Consensus, error) {
	if len(rows) == 0 {
		return nil, nil
	}
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i] = rows[i].MarketID
	}
	markets, err := market.Store{}.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]*market.Market, len(markets))
	for i := range markets {
		byID[markets[i].ID] = &markets[i]
	}
	latest, voices, err := readOpinions(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	fresh := make([]prediction.Consensus, len(rows))
	for i := range rows {
		fresh[i] = rows[i]
		pool(&fresh[i], byID[rows[i].MarketID], latest[rows[i].MarketID], voices)
	}
	return fresh, nil
}

// voice is an agent that may speak on a market.
type voice struct {
	skill  float64 // 0 for an agent that no board has
	counts bool    // it has enough settled events
}

// readOpinions reads the open predictions on markets, the newest first.
func readOpinions(ctx context.Context, db bun.IDB, ids []string) (map[string][]prediction.Opinion, map[uuid.UUID]voice, error) {
	rows, err := prediction.Opinions(ctx, db, ids)
	if err != nil {
		return nil, nil, err
	}
	byMarket := make(map[string][]prediction.Opinion, len(ids))
	agents := map[uuid.UUID]struct{}{}
	for _, r := range rows {
		byMarket[r.MarketID] = append(byMarket[r.MarketID], r)
		agents[r.AgentID] = struct{}{}
	}
	voices, err := readVoices(ctx, db, slices.Collect(maps.Keys(agents)))
	return byMarket, voices, err
}

// readVoices returns those of some agents that are listed. To join them to every opinion would
// find the same ones again and again.
func readVoices(ctx context.Context, db bun.IDB, ids []uuid.UUID) (map[uuid.UUID]voice, error) {
	voices := make(map[uuid.UUID]voice, len(ids))
	if len(ids) == 0 {
		return voices, nil
	}
	counts, err := settlement.CountInConsensus(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	var found []struct {
		AgentID uuid.UUID `bun:"type:uuid"`
		Skill   float64
	}
	err = db.NewRaw(`SELECT a.id AS agent_id, COALESCE(r.skill, 0.0) AS skill FROM (?) AS a
		LEFT JOIN board_rows AS r ON r.span = ? AND r.category = ? AND r.agent_id = a.id
		WHERE a.id IN (?) AND ? AND a.kind = 'agent'`,
		agent.Select(db), All, AllCategories, bun.List(ids), agent.Listed("a")).Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("read the skills of agents: %w", err)
	}
	for _, f := range found {
		voices[f.AgentID] = voice{f.Skill, counts[f.AgentID]}
	}
	return voices, nil
}

// pool makes the consensus from a market's predictions, the newest first.
func pool(c *prediction.Consensus, m *market.Market, rows []prediction.Opinion, voices map[uuid.UUID]voice) {
	target := m.Reference()
	c.Outcome, c.Median, c.Weighted, c.Others = "", nil, nil, 0
	if target < len(m.Outcomes) {
		c.Outcome = m.Outcomes[target]
	}
	var opinions []score.Opinion
	var ps []float64
	seen := map[uuid.UUID]bool{}
	for _, r := range rows {
		v, listed := voices[r.AgentID]
		p, speaks := m.OfReference(r.OutcomeIndex, r.Confidence)
		if !listed || !speaks || seen[r.AgentID] {
			continue
		}
		seen[r.AgentID] = true
		if !v.counts {
			c.Others++
			continue
		}
		opinions = append(opinions, score.Opinion{P: p, Skill: v.skill})
		ps = append(ps, p)
	}
	c.Agents = len(ps)
	if median, ok := score.Median(ps); ok {
		c.Median = &median
	}
	if weighted, ok := score.WeightedConsensus(opinions); ok {
		c.Weighted = &weighted
	}
}
