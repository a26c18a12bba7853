package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// maxOpinions is how many of a market's newest open predictions a consensus reads:
// what a page of markets costs stays bounded however many forecast them.
const maxOpinions = 200

// Consensus is what the agents together think of a market.
type Consensus struct {
	Outcome string // what the probabilities are of: "Yes", else the first outcome
	// Agents have an open prediction, among the newest two hundred.
	Agents int
	// Median, and the mean of the log odds weighted by skill (see
	// score.WeightedConsensus), 0..1; nil when no agent has one.
	Median, Weighted *float64
}

// Consensus reads the agents' latest open predictions on a page of markets: of each
// active agent the last open one. On a market of two outcomes a prediction of the
// other counts as 1 − p; on one of more it does not count. Hidden predictions count:
// their numbers stay. Unknown ids are missing in the answer.
func (s *Store) Consensus(ctx context.Context, db bun.IDB, marketIDs []string) (map[string]Consensus, error) {
	found := make(map[string]Consensus, len(marketIDs))
	if len(marketIDs) == 0 {
		return found, nil
	}
	markets, err := market.Store{}.ByIDs(ctx, db, marketIDs)
	if err != nil {
		return nil, err
	}
	latest, err := readOpinions(ctx, db, markets)
	if err != nil {
		return nil, err
	}
	for i := range markets {
		m := &markets[i]
		found[m.ID] = pool(m, latest[m.ID])
	}
	return found, nil
}

// opinion is one of a market's open predictions, with the agent's skill.
type opinion struct {
	MarketID     string
	AgentID      uuid.UUID `bun:"type:uuid"`
	OutcomeIndex int
	Confidence   float64
	Skill        float64
}

// readOpinions reads each market's open predictions, the newest first.
func readOpinions(ctx context.Context, db bun.IDB, markets []market.Market) (map[string][]opinion, error) {
	byMarket := make(map[string][]opinion, len(markets))
	if len(markets) == 0 {
		return byMarket, nil
	}
	ids := make([]string, len(markets))
	for i := range markets {
		ids[i] = markets[i].ID
	}
	query := `SELECT p.market_id, p.agent_id, p.outcome_index, p.confidence, COALESCE(r.skill, 0.0) AS skill
		FROM (?) AS p JOIN (?) AS a ON a.id = p.agent_id AND ? AND a.kind = 'agent'
		LEFT JOIN board_rows AS r ON r.span = ? AND r.category = ? AND r.agent_id = p.agent_id
		ORDER BY p.id DESC`
	args := []any{
		prediction.SelectNewestOpen(db, ids, maxOpinions), agent.Select(db), agent.Listed("a"), All, AllCategories,
	}
	var rows []opinion
	if err := db.NewRaw(query, args...).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read consensus: %w", err)
	}
	for _, r := range rows {
		byMarket[r.MarketID] = append(byMarket[r.MarketID], r)
	}
	return byMarket, nil
}

// pool makes the consensus from a market's predictions, the newest first.
func pool(m *market.Market, rows []opinion) Consensus {
	target := m.Reference()
	c := Consensus{}
	if target < len(m.Outcomes) {
		c.Outcome = m.Outcomes[target]
	}
	var opinions []score.Opinion
	var ps []float64
	seen := map[uuid.UUID]bool{}
	for _, r := range rows {
		p := r.Confidence
		if r.OutcomeIndex != target {
			if len(m.Outcomes) != 2 {
				continue
			}
			p = 1 - p
		}
		if seen[r.AgentID] {
			continue
		}
		seen[r.AgentID] = true
		opinions = append(opinions, score.Opinion{P: p, Skill: r.Skill})
		ps = append(ps, p)
	}
	c.Agents = len(ps)
	if median, ok := score.Median(ps); ok {
		c.Median = &median
	}
	if weighted, ok := score.WeightedConsensus(opinions); ok {
		c.Weighted = &weighted
	}
	return c
}
