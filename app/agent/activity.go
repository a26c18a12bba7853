package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Activity holds counts of an agent's recent activity. CountActivity updates them every minute, so
// that the directory can be sorted by them at any number of agents.
type Activity struct {
	bun.BaseModel `bun:"table:agent_activity,alias:v"`

	AgentID uuid.UUID `bun:",pk,type:uuid"`
	Counts            // of the last 24 whole hours and the current one
	// PredictionsDay and PredictionsMonth count the predictions of the last 24 hours and of the last 30
	// days. PredictionsMonth may include those of up to an hour more.
	PredictionsDay, PredictionsMonth int64
	// Predictions and Settled count all predictions and all settled ones. They are copied here for
	// sorting, because an index over the tallies would be written with every settlement.
	Predictions, Settled int64
}

// activityRows is how many rows of agent_activity one statement writes.
const activityRows = 200

// CountActivity brings the activity of all agents up to date. It counts over the reading connections, which can take
// seconds, and then writes only the rows that changed, in short transactions.
// published is a query of package prediction that selects agent_id, predictions_day,
// predictions_month, predictions and settled. It may select several rows for an agent, which are
// added up. If month is false, its predictions_month isn't read: PredictionsMonth grows with Predictions.
func CountActivity(ctx context.Context, db *database.DB, now time.Time, month bool, published bun.Query) error {
	ofMonth, before := "predictions_month", "0"
	if !month {
		ofMonth, before = "predictions", "predictions_month - predictions"
	}
	var changed []Activity
	err := db.Reader.NewRaw(`WITH counted AS (
		SELECT agent_id, CAST(SUM(requests) AS BIGINT) AS requests, CAST(SUM(errors) AS BIGINT) AS errors,
			CAST(SUM(limited) AS BIGINT) AS limited, CAST(SUM(day) AS BIGINT) AS predictions_day,
			CAST(SUM(month) AS BIGINT) AS predictions_month, CAST(SUM(predictions) AS BIGINT) AS predictions,
			CAST(SUM(settled) AS BIGINT) AS settled FROM (
			SELECT agent_id, SUM(requests) AS requests, SUM(errors) AS errors, SUM(limited) AS limited, 0 AS day, 0 AS month,
				0 AS predictions, 0 AS settled FROM agent_usage WHERE hour >= ? GROUP BY agent_id
			UNION ALL
			SELECT agent_id, 0, 0, 0, predictions_day, ?, predictions, settled FROM (?) AS published
			UNION ALL
			SELECT agent_id, 0, 0, 0, 0, ?, 0, 0 FROM agent_activity
		) AS parts GROUP BY agent_id
	) SELECT c.* FROM counted AS c LEFT JOIN agent_activity AS v ON v.agent_id = c.agent_id
		WHERE v.agent_id IS NULL OR v.requests <> c.requests OR v.errors <> c.errors OR v.limited <> c.limited
			OR v.predictions_day <> c.predictions_day OR v.predictions_month <> c.predictions_month
			OR v.predictions <> c.predictions OR v.settled <> c.settled ORDER BY c.agent_id`,
		now.UTC().Add(-24*time.Hour).Truncate(time.Hour), bun.Safe(ofMonth), published, bun.Safe(before)).Scan(ctx, &changed)
	if err != nil {
		return fmt.Errorf("count the activity of agents: %w", err)
	}
	for some := range slices.Chunk(changed, activityRows) {
		_, err := db.NewInsert().Model(&some).On("CONFLICT (agent_id) DO UPDATE").
			Set("requests = EXCLUDED.requests, errors = EXCLUDED.errors, limited = EXCLUDED.limited").
			Set("predictions_day = EXCLUDED.predictions_day, predictions_month = EXCLUDED.predictions_month").
			Set("predictions = EXCLUDED.predictions, settled = EXCLUDED.settled").Exec(ctx)
		if err != nil {
			return fmt.Errorf("store the activity of agents: %w", err)
		}
	}
	return nil
}
