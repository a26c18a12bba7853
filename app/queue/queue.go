// Package queue measures the rows that wait in a table.
package queue

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// Depth is the number of waiting rows and the time from which the oldest waits.
type Depth struct {
	Count  int64
	Oldest time.Time `bun:",nullzero"` // UTC; zero if no row waits
}

// Age returns the time for which the oldest row has waited. It is 0 if no row waits.
func (d Depth) Age(now time.Time) time.Duration {
	if d.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(d.Oldest), 0)
}

// Read measures the rows that waiting selects. since is the SQL expression for the time from which
// a row waits.
func Read(ctx context.Context, waiting *bun.SelectQuery, since string) (d Depth, err error) {
	err = waiting.ColumnExpr("COUNT(*) AS count").ColumnExpr("MIN("+since+") AS oldest").Scan(ctx, &d)
	d.Oldest = d.Oldest.UTC()
	return d, err
}
