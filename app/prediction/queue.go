package prediction

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/queue"
)

// OpenOn selects the open predictions on one market. market is an SQL expression for its id, such as a column
// of the outer query of an EXISTS.
func OpenOn(db bun.IDB, market string) *bun.SelectQuery {
	return db.NewSelect().TableExpr("results AS open").ColumnExpr("1").
		Where("open.market_id = "+market).Where("open.status = ?", Open)
}

// OpenMarkets selects, as market_id, the markets with open predictions. One look-up in the index finds each market,
// however many predictions it has.
func OpenMarkets(db bun.IDB) *bun.RawQuery {
	along := bun.Safe("")
	if !database.IsPostgres(db) {
		along = "INDEXED BY results_open_market" // SQLite would read all open predictions for each market, along results_status
	}
	return db.NewRaw(`WITH RECURSIVE held (market_id) AS (
			SELECT MIN(r.market_id) FROM results AS r ?0 WHERE r.status = 'open' AND r.market_id IS NOT NULL
			UNION ALL
			SELECT (SELECT MIN(r.market_id) FROM results AS r ?0 WHERE r.status = 'open' AND r.market_id > h.market_id)
			FROM held AS h WHERE h.market_id IS NOT NULL
		)
		SELECT market_id FROM held WHERE market_id IS NOT NULL`, along)
}

// due selects, as s, the predictions that an admin must settle: open predictions without a market whose horizon
// has passed. Samples are never settled.
func due(db bun.IDB, now time.Time) *bun.SelectQuery {
	return db.NewSelect().TableExpr("results AS s").
		Where("s.status = ?", Open).Where("s.market_id IS NULL").Where("NOT s.sample").Where("s.horizon_at <= ?", now.UTC())
}

// DuePrediction is a prediction without a market whose horizon has passed.
type DuePrediction struct {
	ID         uuid.UUID `bun:",type:uuid"`
	Title      string
	Confidence float64
	HorizonAt  time.Time
}

// Due lists up to limit predictions that an admin must settle, longest due first.
func (Store) Due(ctx context.Context, db bun.IDB, now time.Time, limit int) ([]DuePrediction, error) {
	var rows []DuePrediction
	err := due(db, now).Join("JOIN predictions AS p ON p.agent_id = s.agent_id AND p.id = s.id").
		Column("p.id", "p.title", "p.confidence", "p.horizon_at").
		Order("s.horizon_at", "s.id").Limit(int64(limit)).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read due predictions: %w", err)
	}
	for i := range rows {
		rows[i].HorizonAt = rows[i].HorizonAt.UTC()
	}
	return rows, nil
}

// DueQueue measures the number and the age of what Due lists. Age counts from the horizon. The number is bounded by
// queue.Most, because these predictions wait for an admin and may be many.
func (Store) DueQueue(ctx context.Context, db bun.IDB, now time.Time) (queue.Depth, error) {
	d, err := queue.ReadOrdered(ctx, db, due(db, now), "s.horizon_at")
	if err != nil {
		return d, fmt.Errorf("count due predictions: %w", err)
	}
	return d, nil
}

// BaselineQueue measures the number and the age of predictions that wait for their baseline. Age counts from
// publication. Samples are left out.
func (Store) BaselineQueue(ctx context.Context, db bun.IDB) (queue.Depth, error) {
	waiting := db.NewSelect().TableExpr("results AS s").Where("s.baseline_state = ?", Pending).Where("NOT s.sample")
	d, err := queue.Read(ctx, waiting, "s.created_at")
	if err != nil {
		return d, fmt.Errorf("count predictions without a baseline: %w", err)
	}
	return d, nil
}
