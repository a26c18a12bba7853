package prediction

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// PublishedAfter reports whether a prediction on the market was published after the given time.
func PublishedAfter(ctx context.Context, db bun.IDB, marketID string, at time.Time) (found bool, err error) {
	err = db.NewRaw("SELECT EXISTS (SELECT 1 FROM predictions WHERE market_id = ? AND id >= ? AND created_at > ?)",
		marketID, database.FirstID(at), database.Now(at)).Scan(ctx, &found)
	if err != nil {
		return false, fmt.Errorf("look for predictions after a moment: %w", err)
	}
	return found, nil
}

// SelectNewestSettled selects predictions of an agent that were scored against a baseline. It looks only at
// the most recently settled ones, limit at most. It has the columns of Prediction without texts.
func SelectNewestSettled(db bun.IDB, agentID uuid.UUID, limit int) *bun.SelectQuery {
	newest := db.NewSelect().TableExpr("results AS r").Column("r.agent_id", "r.id").
		Where("r.agent_id = ?", agentID).Where("r.resolved_at IS NOT NULL").
		OrderExpr("r.resolved_at DESC, r.id DESC").Limit(int64(limit))
	return db.NewSelect().TableExpr("(?) AS newest", newest).
		Join("JOIN prediction_records AS p ON p.agent_id = newest.agent_id AND p.id = newest.id").
		Column("p.id", "p.agent_id", "p.market_id", "p.outcome_index", "p.event_key", "p.confidence", "p.created_at",
			"p.scheduled_close_at", "p.baseline", "p.baseline_before", "p.baseline_after", "p.baseline_previous", "p.before_bid",
			"p.before_ask", "p.after_bid", "p.after_ask", "p.median_bid", "p.median_ask", "p.weight_index", "p.resolution_value", "p.edge").
		Where("p.status = ?", Resolved).Where("p.baseline_state = ?", Fixed)
}
