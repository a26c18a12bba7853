package settlement

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Months divides the ledger by the month in which a prediction was published. All entries of a
// prediction lie in one part, so the unique key that keeps it from being scored twice still works.
var Months = database.Months{Table: "score_entries", Column: "prediction_id", ByID: true, Key: "id, agent_id, prediction_id"}

// Oldest returns when the first prediction in the ledger was published, or the zero time if the
// ledger is empty.
func Oldest(ctx context.Context, db bun.IDB) (time.Time, error) {
	var ids []uuid.UUID
	err := db.NewSelect().Model((*Entry)(nil)).Column("prediction_id").OrderExpr("prediction_id").Limit(1).Scan(ctx, &ids)
	if err != nil || len(ids) == 0 || ids[0].Version() != 7 {
		return time.Time{}, err
	}
	return time.Unix(ids[0].Time().UnixTime()), nil
}
