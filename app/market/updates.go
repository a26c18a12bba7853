package market

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/update"
)

// told is a market that has changed enough since its latest update.
type told struct {
	ID          string
	EventID     string `bun:",nullzero"`
	Category    string `bun:",nullzero"`
	Probability *float64
	ToldPrice   *float64
	Closed      bool
}

// tell records updates for the stored markets that moved or closed since their latest update. An update bears the time
// now, when the change is stored, and not that of the reading, which may be long before.
func tell(ctx context.Context, db bun.IDB, part []Market, now time.Time) error {
	const moved = "m.told_price IS NULL OR abs(m.probability - m.told_price) >= ?"
	var list []told
	err := db.NewSelect().TableExpr("markets AS m").
		Column("m.id", "m.event_id", "m.category", "m.probability", "m.told_price", "m.closed").
		Where("m.id IN ?", bun.Tuple(ids(part))).
		Where("m.closed <> m.told_closed OR (NOT m.closed AND m.probability IS NOT NULL AND ("+moved+"))", update.MovedBy-priceError).
		Order("m.id").Scan(ctx, &list)
	if err != nil {
		return fmt.Errorf("find markets that moved: %w", err)
	}
	if len(list) == 0 {
		return nil
	}
	changed, updates := make([]string, len(list)), make([]update.Update, 0, len(list))
	for i := range list {
		changed[i] = list[i].ID
		if u, ok := list[i].update(); ok {
			u.At = database.Stored(now)
			updates = append(updates, u)
		}
	}
	_, err = db.NewRaw(`UPDATE markets SET told_closed = closed, told_price = CASE WHEN closed THEN told_price ELSE probability END
		WHERE id IN ?`, bun.Tuple(changed)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the last update of markets: %w", err)
	}
	return update.Record(ctx, db, updates...)
}

// update returns the update for a market. ok is false if the market is seen for the first time, or reopens at
// nearly the price of its latest update.
func (t *told) update() (u update.Update, ok bool) {
	u.Ref.Market = &update.Market{
		ID: t.ID, EventID: t.EventID, Category: t.Category, Probability: t.Probability, Before: t.ToldPrice,
	}
	if t.Closed {
		u.Type = update.MarketClosed
		return u, t.ToldPrice != nil
	}
	u.Type = update.MarketMoved
	return u, t.ToldPrice != nil && t.Probability != nil && math.Abs(*t.Probability-*t.ToldPrice) >= update.MovedBy-priceError
}
