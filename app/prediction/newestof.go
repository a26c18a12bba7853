package prediction

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Latest is an agent's latest prediction on a market.
type Latest struct {
	MarketID     string
	Confidence   float64
	OutcomeIndex int
	CreatedAt    time.Time
}

// LatestOf reads an agent's latest prediction on each of the markets, for the agent itself. It leaves out
// markets without one.
func LatestOf(ctx context.Context, db bun.IDB, agentID uuid.UUID, marketIDs []string) (map[string]Latest, error) {
	found := make(map[string]Latest, len(marketIDs))
	if len(marketIDs) == 0 {
		return found, nil
	}
	type wanted struct {
		AgentID  uuid.UUID `bun:",type:uuid"`
		MarketID string    `bun:",type:text"`
	}
	list := make([]wanted, len(marketIDs))
	for i, id := range marketIDs {
		list[i] = wanted{agentID, id}
	}
	var rows []Latest
	err := database.ScanRows(ctx, db, `SELECT p.market_id, p.confidence, p.outcome_index, p.created_at FROM v
		JOIN predictions AS p ON p.agent_id = v.agent_id AND p.id = (SELECT n.id FROM predictions AS n
			WHERE n.agent_id = v.agent_id AND n.market_id = v.market_id ORDER BY n.id DESC LIMIT 1)`, list, &rows)
	if err != nil {
		return nil, fmt.Errorf("read the latest predictions of an agent: %w", err)
	}
	for _, r := range rows {
		r.CreatedAt = r.CreatedAt.UTC()
		found[r.MarketID] = r
	}
	return found, nil
}

// newestLooked is how many of an agent's newest predictions are looked at where no index finds the right ones.
const newestLooked = 1000

// MarketsOf lists the markets of an agent's newest 1,000 predictions.
func MarketsOf(ctx context.Context, db bun.IDB, agentID uuid.UUID) ([]string, error) {
	ids := []string{}
	err := SelectNewestBy(db, agentID).ColumnExpr("DISTINCT p.market_id").Where("p.market_id IS NOT NULL").Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list the markets of an agent: %w", err)
	}
	return ids, nil
}
