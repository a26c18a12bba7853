package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Activity is what an agent did lately, counted now and then so that the table of
// agents can be sorted by it whatever their number.
type Activity struct {
	bun.BaseModel `bun:"table:agent_activity,alias:v"`

	AgentID uuid.UUID `bun:",pk,type:uuid"`
	// Requests, Errors and Limited are of the last 24 whole hours and the current one;
	// see agent.Counts.
	Requests, Errors, Limited int64
	// PredictionsDay and PredictionsMonth are those of the last 24 hours and 30 days.
	PredictionsDay, PredictionsMonth int64
	// Predictions and Settled count all there ever were. They stand here for sorting: an
	// index over the running tallies would be written with every settlement.
	Predictions, Settled int64
}

// CountActivity brings agent_activity up to date. It writes only what changed.
func CountActivity(ctx context.Context, db *database.DB, now time.Time) error {
	now = now.UTC()
	day, month := database.FirstID(now.Add(-24*time.Hour)), database.FirstID(now.AddDate(0, 0, -30))
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.NewRaw(`INSERT INTO agent_activity (agent_id, requests, errors, limited, predictions_day, predictions_month, predictions, settled)
			SELECT agent_id, SUM(requests), SUM(errors), SUM(limited), SUM(day), SUM(month), SUM(predictions), SUM(settled) FROM (
				SELECT agent_id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(limited) AS limited, 0 AS day, 0 AS month,
					0 AS predictions, 0 AS settled FROM agent_usage WHERE hour >= ? GROUP BY agent_id
				UNION ALL
				SELECT agent_id, 0, 0, 0, SUM(CASE WHEN id >= ? THEN 1 ELSE 0 END), COUNT(*), 0, 0
					FROM predictions WHERE id >= ? GROUP BY agent_id
				UNION ALL
				SELECT agent_id, 0, 0, 0, 0, 0, total, resolved FROM agent_tallies
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
			now.Add(-24*time.Hour).Truncate(time.Hour), day, month).Exec(ctx)
		if err != nil {
			return fmt.Errorf("count the activity of agents: %w", err)
		}
		return nil
	})
}
