// Package queue measures the rows that wait in a table.
package queue

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"
)

// Most is how many rows ReadOrdered counts.
const Most = 10_000

// Depth is the number of waiting rows and the time from which the oldest waits.
type Depth struct {
	Count  int64
	More   bool      // more rows wait than Count says
	Oldest time.Time `bun:",nullzero"` // UTC; zero if no row waits
}

// String returns the number of waiting rows, such as "7" or "10000+".
func (d Depth) String() string {
	if d.More {
		return fmt.Sprintf("%d+", d.Count)
	}
	return strconv.FormatInt(d.Count, 10)
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

// ReadOrdered is Read for a queue of any length with an index in the order of since. It reads at most Most rows and one
// more.
func ReadOrdered(ctx context.Context, db bun.IDB, waiting *bun.SelectQuery, since string) (d Depth, err error) {
	first := waiting.ColumnExpr(since + " AS since").OrderExpr(since).Limit(Most + 1)
	d, err = Read(ctx, db.NewSelect().TableExpr("(?) AS waiting", first), "since")
	if d.Count > Most {
		d.Count, d.More = Most, true
	}
	return d, err
}
