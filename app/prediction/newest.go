package prediction

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// NewestOpenBy lists open predictions of agents, newest first, at most limit. It looks only at the newest
// perAgent predictions of every agent, so its cost doesn't grow with the number of predictions.
func (s Store) NewestOpenBy(
	ctx context.Context, db bun.IDB, agents []uuid.UUID, perAgent, limit int,
) ([]Record, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	var page []place
	err := db.NewSelect().TableExpr("(?) AS n", newestBy(db, agents, perAgent)).ColumnExpr("n.agent_id, n.id").
		Join("JOIN results AS r ON r.agent_id = n.agent_id AND r.id = n.id").Where("r.status = ?", Open).
		OrderExpr("n.id DESC").Limit(int64(limit)).Scan(ctx, &page)
	if err != nil {
		return nil, fmt.Errorf("list open predictions of agents: %w", err)
	}
	return s.inOrder(ctx, db, page)
}

// newestBy is a subquery of the newest perAgent predictions of every agent, with the columns agent_id and id.
func newestBy(db bun.IDB, agents []uuid.UUID, perAgent int) *bun.RawQuery {
	if database.IsPostgres(db) { // Postgres takes longer to plan a UNION with more parts.
		return db.NewRaw(`SELECT p.agent_id, p.id FROM unnest((SELECT ARRAY[?]::uuid[])) AS v (agent_id)
			CROSS JOIN LATERAL (SELECT w.agent_id, w.id FROM predictions AS w WHERE w.agent_id = v.agent_id
				ORDER BY w.id DESC LIMIT ?) AS p`, bun.List(agents), perAgent)
	}
	parts, args := make([]string, len(agents)), make([]any, len(agents))
	for i, id := range agents {
		parts[i] = "?"
		args[i] = db.NewRaw(`SELECT * FROM (SELECT agent_id, id FROM predictions WHERE agent_id = ?
			ORDER BY id DESC LIMIT ?) AS p`, id, perAgent)
	}
	return db.NewRaw(strings.Join(parts, " UNION ALL "), args...)
}

// SelectNewestSettled selects predictions of an agent that were scored against a baseline. It looks only at
// the most recently settled ones, limit at most. It has the columns of Prediction without texts.
func SelectNewestSettled(db bun.IDB, planned *database.Planned, agentID uuid.UUID, limit int) *bun.SelectQuery {
	newest := db.NewSelect().TableExpr("results AS r").Column("r.agent_id", "r.id", "r.baseline", "r.baseline_before",
		"r.baseline_after", "r.baseline_previous", "r.before_bid", "r.before_ask", "r.after_bid", "r.after_ask", "r.median_bid",
		"r.median_ask", "r.weight_index", "r.resolution_value", "r.edge", "r.status", "r.baseline_state", "r.day", "r.score_category").
		Where("r.agent_id = ?", planned.Value(agentID)).Where("r.resolved_at IS NOT NULL").
		OrderExpr("r.resolved_at DESC, r.id DESC").Limit(int64(limit))
	return db.NewSelect().TableExpr("(?) AS r", newest).
		Join("JOIN predictions AS p ON p.agent_id = r.agent_id AND p.id = r.id").
		Column("r.*", "p.market_id", "p.outcome_index", "p.event_key", "p.confidence", "p.created_at", "p.scheduled_close_at").
		Where("r.status = ?", Resolved).Where("r.baseline_state = ?", Fixed)
}

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

// SelectNewestBy is SelectBy for an agent's newest 1,000 predictions.
func SelectNewestBy(db bun.IDB, agentID uuid.UUID) *bun.SelectQuery {
	return db.NewSelect().TableExpr("(?) AS p", SelectBy(db, agentID).OrderExpr("p.id DESC").Limit(newestLooked))
}

// MarketsOf lists the markets of an agent's newest 1,000 predictions.
func MarketsOf(ctx context.Context, db bun.IDB, agentID uuid.UUID) ([]string, error) {
	ids := []string{}
	err := SelectNewestBy(db, agentID).ColumnExpr("DISTINCT p.market_id").Where("p.market_id IS NOT NULL").Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list the markets of an agent: %w", err)
	}
	return ids, nil
}
