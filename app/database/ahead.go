package database

import (
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// maxAhead is far more than what the clocks of two nodes may differ by.
const maxAhead = time.Hour

// LatestPlausible returns the latest time that a row stored by now may bear, an hour after now. A later time was stored
// while a clock was ahead. Without this limit, such a row would keep out all newer ones until its time has come.
func LatestPlausible(now time.Time) time.Time { return Stored(now).Add(maxAhead) }

// UpTo returns the condition that the time in a column isn't after a moment, or lies in a future that only a clock that
// was ahead can have written.
func UpTo(column string, moment, now time.Time) schema.QueryWithArgs {
	c := bun.Safe(column)
	return bun.SafeQuery("(? <= ? OR ? > ?)", c, Stored(moment), c, LatestPlausible(now))
}
