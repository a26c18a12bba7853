package market

import (
	"time"

	"github.com/uptrace/bun"
)

// EndedAt is the SQL expression for the end of a market in Ended: when it closed, else when it was last seen open. If the
// source doesn't say when it closed, that is the time of its last price, else when it was first seen. The scheduled
// close says nothing, because a market may close long before or after.
const EndedAt = "CASE WHEN m.closed THEN COALESCE(m.closed_at, " +
	"(SELECT p.observed_at FROM market_prices AS p WHERE p.market_id = m.id ORDER BY p.observed_at DESC LIMIT 1), m.first_seen_at) ELSE m.observed_at END"

// Ended selects, as m, the markets that have presumably stopped trading: closed markets, and open ones last
// seen before unseenSince. Samples are left out because no source knows them.
func Ended(db bun.IDB, unseenSince time.Time) *bun.SelectQuery {
	return db.NewSelect().Model((*Market)(nil)).
		Where("NOT m.sample").Where("m.closed OR m.observed_at < ?", unseenSince.UTC())
}
