package market

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Months partitions the price history by month of observation.
var Months = database.Months{Table: "market_prices", Column: "observed_at"}

// compacted is the setting with the end of the last month whose partition was compacted.
const compacted = "prices_compacted"

// CompactMonths compacts the partition of each month whose thinning is complete, once. By then, about 120 of
// the 43,000 rows per market and month are left.
func CompactMonths(ctx context.Context, db *database.DB) error {
	thinned, err := settingTime(ctx, db, retentions[len(retentions)-1].done)
	if err != nil {
		return err
	}
	done, err := settingTime(ctx, db, compacted)
	if err != nil {
		return err
	}
	months, err := Months.List(ctx, db)
	if err != nil {
		return err
	}
	for _, month := range months {
		end := month.AddDate(0, 1, 0)
		if month.Before(done) || end.After(thinned) {
			continue
		}
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			if err := Months.Compact(ctx, tx, month); err != nil {
				return err
			}
			return database.SetSetting(ctx, tx, compacted, end.Format(time.RFC3339))
		})
		if err != nil {
			return fmt.Errorf("compact prices: %w", err)
		}
	}
	return nil
}

// settingTime returns the time that a setting holds, or the zero time if it isn't set.
func settingTime(ctx context.Context, db bun.IDB, name string) (at time.Time, err error) {
	text, ok, err := database.Setting(ctx, db, name)
	if err != nil || !ok {
		return at, err
	}
	if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, fmt.Errorf("setting %s: %w", name, err)
	}
	return at, nil
}

// Oldest returns the time of the oldest price, or the zero time if there is none.
func Oldest(ctx context.Context, db bun.IDB) (at time.Time, err error) {
	var oldest []time.Time
	err = db.NewSelect().Model((*Price)(nil)).Column("observed_at").OrderExpr("observed_at").Limit(1).Scan(ctx, &oldest)
	if err != nil {
		return at, fmt.Errorf("find oldest price: %w", err)
	}
	if len(oldest) == 0 {
		return at, nil
	}
	return oldest[0].UTC(), nil
}
