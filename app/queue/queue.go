// Package queue measures what waits in a table.
package queue

import (
	"context"
	"time"

	"github.com/uptrace/bun"
)

// Depth is how many rows wait, and since when the oldest of them does.
type Depth struct {
	Count  int64
	Oldest time.Time `bun:",nullzero"` // UTC; zero if nothing waits
}

// Age returns how long the oldest row has waited; zero if nothing waits.
func (d Depth) Age(now time.Time) time.Duration {
	if d.Oldest.IsZero() {
		return 0
	}
	return max(now.Sub(d.Oldest), 0)
}

// Read measures the rows that waiting selects. since is an SQL expression: the moment
// from which a row waits.
func Read(ctx context.Context, waiting *bun.SelectQuery, since string) (d Depth, err error) {
	err = waiting.ColumnExpr("COUNT(*) AS count").ColumnExpr("MIN("+since+") AS oldest").Scan(ctx, &d)
	d.Oldest = d.Oldest.UTC()
	return d, err
}
