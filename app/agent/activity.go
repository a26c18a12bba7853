package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// Activity holds counts of an agent's recent activity. CountActivity updates them every minute, so
// that the directory can be sorted by them at any number of agents.
type Activity struct {
	bun.BaseModel `bun:"table:agent_activity,alias:v"`

	AgentID uuid.UUID `bun:",pk,type:uuid"`
	// Requests, Errors and Limited cover the last 24 whole hours and the current one; see Counts.
	Requests, Errors, Limited int64
	// PredictionsDay and PredictionsMonth count the predictions of the last 24 hours and of the
	// last 30 days.
	PredictionsDay, PredictionsMonth int64
	// Predictions and Settled count all predictions and all settled ones. They are copied here for
	// sorting, because an index over the tallies would be written with every settlement.
	Predictions, Settled int64
}

// CountActivity brings the activity of all agents up to date. It writes only the rows that changed.
// published is a query of package prediction that selects agent_id, predictions_day,
// predictions_month, predictions and settled. It may select several rows for an agent, which are
// added up.
func CountActivity(ctx context.Context, db bun.IDB, now time.Time, published bun.Query) error {
	_, err := db.NewRaw(`INSERT INTO agent_activity (agent_id, requests, errors, limited, predictions_day, predictions_month, predictions, settled)
		SELECT agent_id, SUM(requests), SUM(errors), SUM(limited), SUM(day), SUM(month), SUM(predictions), SUM(settled) FROM (
			SELECT agent_id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(limited) AS limited, 0 AS day, 0 AS month,
				0 AS predictions, 0 AS settled FROM agent_usage WHERE hour >= ? GROUP BY agent_id
			UNION ALL
			SELECT agent_id, 0, 0, 0, predictions_day, predictions_month, predictions, settled FROM (?) AS published
			UNION ALL
			SELECT agent_id, 0, 0, 0, 0, 0, 0, 0 FROM agent_activity
		) AS parts WHERE TRUE GROUP BY agent_id
		ON CONFLICT (agent_id) DO UPDATE SET requests = EXCLUDED.requests, errors = EXCLUDED.errors, limited = EXCLUDED.limited,
			predictions_day = EXCLUDED.predictions_day, predictions_month = EXCLUDED.predictions_month,
			predictions = EXCLUDED.predictions, settled = EXCLUDED.settled
		WHERE agent_activity.requests <> EXCLUDED.requests OR agent_activity.errors <> EXCLUDED.errors
			OR agent_activity.limited <> EXCLUDED.limited OR agent_activity.predictions_day <> EXCLUDED.predictions_day
			OR agent_activity.predictions_month <> EXCLUDED.predictions_month
			OR agent_activity.predictions <> EXCLUDED.predictions OR agent_activity.settled <> EXCLUDED.settled`,
		now.UTC().Add(-24*time.Hour).Truncate(time.Hour), published).Exec(ctx)
	if err != nil {
		return fmt.Errorf("count the activity of agents: %w", err)
	}
	return nil
}
