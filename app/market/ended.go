package market

import (
	"time"

	"github.com/uptrace/bun"
)

// EndedAt is the SQL expression for the moment a market of Ended ended: it closed, or was
// last seen.
const EndedAt = "CASE WHEN m.closed THEN COALESCE(m.closed_at, m.closes_at, m.observed_at) ELSE m.observed_at END"

// Ended selects, as m, the markets that no longer trade as far as is known: closed ones,
// and open ones last seen before unseenSince. Samples are left out: no upstream knows them.
func Ended(db bun.IDB, unseenSince time.Time) *bun.SelectQuery {
	return db.NewSelect().Model((*Market)(nil)).
		Where("NOT m.sample").Where("m.closed OR m.observed_at < ?", unseenSince.UTC())
}
