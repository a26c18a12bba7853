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
	// countChunk is the most markets that one query counts. Crowded markets take some 20 ms each, and
	// publishers have less of the database meanwhile.
	countChunk = 10
	// maxCounted is the most changed markets that one Tick of a ConsensusCounter counts. After countTime it
	// begins no further chunk.
	maxCounted = 200
	countTime  = 50 * time.Millisecond
	// refreshAfter is the age at which a consensus is counted again although no prediction changed,
	// because the agents' weights change with the boards.
	refreshAfter = time.Hour
	// refreshEvery is the time between two searches for old consensus. One search takes at most
	// maxRefreshed markets.
	refreshEvery = 10 * time.Second
	maxRefreshed = 50
)

// ConsensusCounter keeps the stored consensus of the markets up to date. One node should run it, under a
// lease. Two nodes at once would do the same work twice. It is not safe for concurrent use.
type ConsensusCounter struct {
	db        *database.DB
	now       func() time.Time
	last      string    // the last market counted; the next Tick continues after it
	refreshed time.Time // of the last search for old consensus
}

// NewConsensusCounter returns a ConsensusCounter that starts with the first market.
func NewConsensusCounter(db *database.DB, now func() time.Time) *ConsensusCounter {
	return &ConsensusCounter{db: db, now: now}
}

// Tick counts at most 200 changed markets, for about 50 ms, and reports whether there may be more. Every ten
// seconds it also marks up to 50 markets as changed that were last counted more than an hour ago, and up to 50 that were
// counted while a clock was ahead.
func (c *ConsensusCounter) Tick(ctx context.Context) (more bool, err error) {
	if now := c.now(); now.Sub(c.refreshed).Abs() >= refreshEvery { // also once a clock that was ahead is set back
		if err := prediction.RefreshConsensus(ctx, c.db, now.Add(-refreshAfter), now, maxRefreshed); err != nil {
			return false, err
		}
		c.refreshed = now
	}
	began := time.Now()
	for counted := 0; counted < maxCounted && (counted == 0 || time.Since(began) < countTime); counted += countChunk {
		rows, err := prediction.TakeChanged(ctx, c.db, c.last, countChunk, c.now())
		if err != nil {
			return false, err
		}
		if err := c.count(ctx, rows); err != nil {
			return false, err
		}
		if len(rows) < countChunk {
			// The next Tick begins with the first market again.
			first := c.last == ""
			c.last = ""
			return !first, nil
		}
		c.last = rows[len(rows)-1].MarketID
	}
	return true, nil
}

// CountAll counts until no market is marked as changed. It is meant for a database into which no
// other process publishes.
func (c *ConsensusCounter) CountAll(ctx context.Context) error {
	for {
		if more, err := c.Tick(ctx); err != nil || !more {
			return err
		}
	}
}

// count counts the consensus of rows again and stores it.
func (c *ConsensusCounter) count(ctx context.Context, rows []prediction.Consensus) error {
	if len(rows) == 0 {
		return nil
	}
	fresh, err := recount(ctx, c.db.Reader, rows)
	if err != nil {
		return err
	}
	return c.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		// Publishers wait for the lock on these rows, so commit without waiting for the disk. If a
		// crash undoes the commit, the rows are still marked as changed.
		if err := database.CommitLater(ctx, tx); err != nil {
			return err
		}
		if err := prediction.SaveConsensus(ctx, tx, fresh); err != nil || !differ(rows, fresh) {
			return err
		}
		return generation.Move(ctx, tx, generation.Consensus)
	})
}

// differ reports whether any consensus changed.
func differ(before, after []prediction.Consensus) bool {
	for i := range after {
		a, b := &before[i], &after[i]
		if a.Outcome != b.Outcome || a.Agents != b.Agents || a.Others != b.Others || !equal(a.Median, b.Median) || !equal(a.Weighted, b.Weighted) {
			return true
		}
	}
	return false
}

const (
	// OwnWithin is how long after a publish its agent gets a consensus that was counted for it. Afterwards the
	// agent reads what ConsensusCounter has stored.
	OwnWithin = 5 * time.Minute
	// countTakes is an upper bound on the time from a prediction's CreatedAt, or from the start of a count, to its
	// commit.
	countTakes = 10 * time.Second
)

// Recount counts those consensus in stored again that may lack the latest prediction of an agent, and replaces
// them. It stores nothing in the database. An agent therefore sees its prediction at once. It causes at most one count
// for each prediction that it published within OwnWithin. A count reads a bounded number of rows; see
// prediction.Opinions.
func (s *Store) Recount(
	ctx context.Context, db bun.IDB, stored map[string]prediction.Consensus, agentID uuid.UUID, now time.Time,
) error {
	var changed []string
	for id, c := range stored {
		if c.Changed {
			changed = append(changed, id)
		}
	}
	own, err := prediction.LatestOf(ctx, db, agentID, changed)
	if err != nil {
		return err
	}
	var rows []prediction.Consensus
	for id, latest := range own {
		if at := latest.CreatedAt; at.After(now.Add(-OwnWithin)) && at.After(stored[id].CountedAt.Add(-countTakes)) {
			rows = append(rows, stored[id])
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

// recount returns rows with the consensus as it is now. It takes the last open prediction of each
// active agent with at least settlement.ConsensusEvents settled events, and counts the active
// agents with fewer as others. On a market of two outcomes, a prediction of the other outcome
// counts as 1 − p. On a market of more outcomes, it doesn't count. Hidden predictions count,
// because their numbers stay.
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

// voice is the weight of an agent in a consensus.
type voice struct {
	skill  float64 // 0 for an agent that is not on the main board
	counts bool    // whether it has enough settled events
}

// readOpinions reads the open predictions on markets, the newest first, and the voices of their
// agents.
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

// readVoices returns the voices of the listed agents among ids. A separate query reads each agent
// once; a join with the opinions would read it again for each opinion.
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
		LEFT JOIN board_rows AS r ON r.agent_id = a.id AND `+onMainBoard+`
		WHERE a.id IN (?) AND ? AND a.kind = 'agent'`,
		agent.Select(db), bun.List(ids), agent.Listed("a")).Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("read the skills of agents: %w", err)
	}
	for _, f := range found {
		voices[f.AgentID] = voice{f.Skill, counts[f.AgentID]}
	}
	return voices, nil
}

// pool sets the consensus from a market's open predictions, which come the newest first.
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
		p, ok := m.OfReference(r.OutcomeIndex, r.Confidence)
		if !listed || !ok || seen[r.AgentID] {
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
