package archive

import (
	"context"
	"iter"
	"time"

	"github.com/uptrace/bun"
)

// Sorted exports sorted, with a small limit of rows in memory.
func Sorted[T any](rows iter.Seq2[T, error], compare func(a, b *T) int, most int) iter.Seq2[T, error] {
	return sorted(rows, compare, most)
}

// WatchWith is Watch with another timer. A test that writes Parquet files can't have fake time, because their encoder is
// shared with other tests.
func WatchWith(s Writable, timer func(time.Duration) (<-chan time.Time, func() bool)) Writable {
	w := Watch(s).(*watched)
	w.timer = timer
	return w
}

// Requested returns how many of the given texts must not be written.
func Requested(ctx context.Context, db bun.IDB, table string, rows []TextRow) (int, error) {
	found, err := requested(db)(ctx, table, rows)
	return len(found), err
}
