package settlement_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// BenchmarkSettle100k settles a market with 100,000 predictions on Postgres. Each is by another
// agent, which holds earlier records. Meanwhile a reader pages through a board of 100,000 rows. The
// benchmark reports the seconds to settle and 99th percentiles of read times: of all reads during
// settlement, and separately of the first page and later pages, before and during it.
func BenchmarkSettle100k(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		db := dbtest.Open(b, database.Postgres)
		settle := settlement.Crowd(b, db, 100_000)
		quiet := readBoards(b, db, make(chan struct{}), 500)
		done := make(chan struct{})
		busy := make(chan reads)
		go func() { busy <- readBoards(b, db, done, 0) }()
		b.StartTimer()
		begin := time.Now()
		if err := settle(b.Context()); err != nil {
			b.Fatal(err)
		}
		seconds := time.Since(begin).Seconds()
		b.StopTimer()
		close(done)
		during := <-busy
		var resolved int
		if err := db.NewRaw("SELECT count(*) FROM score_entries").Scan(b.Context(), &resolved); err != nil {
			b.Fatal(err)
		}
		if resolved != 100_000 {
			b.Fatalf("settled %d predictions, want 100,000", resolved)
		}
		b.ReportMetric(seconds, "s/100k")
		b.ReportMetric(percentile(slices.Concat(during.first, during.next)), "busy-p99-ms")
		b.ReportMetric(percentile(quiet.next), "quiet-next-p99-ms")
		b.ReportMetric(percentile(during.first), "busy-first-p99-ms")
		b.ReportMetric(percentile(during.next), "busy-next-p99-ms")
		b.ReportMetric(float64(len(during.first)+len(during.next))/seconds, "reads/s")
		b.StartTimer()
	}
}

// reads are the times taken to read first and later pages.
type reads struct{ first, next []time.Duration }

// readBoards reads the first page of the leaderboard and the next later page in turns, until done
// is closed or count is reached.
func readBoards(b *testing.B, db *database.DB, done chan struct{}, count int) (took reads) {
	store := leaderboard.NewStore(leaderboard.Thresholds{}, time.Now)
	read := func(cursor string) (next string, span time.Duration) {
		begin := time.Now()
		page, err := store.Read(context.Background(), db.Reader, leaderboard.Filter{Limit: 24, Cursor: cursor})
		if err != nil || len(page.Entries) == 0 {
			b.Errorf("no page after %q: %v", cursor, err)
			return "", 0
		}
		return page.Next, time.Since(begin)
	}
	cursor := ""
	for i := 0; count == 0 || i < count; i++ {
		select {
		case <-done:
			return took
		case <-time.After(4 * time.Millisecond):
		}
		second, span := read("")
		took.first = append(took.first, span)
		cursor, span = read(cmp.Or(cursor, second))
		took.next = append(took.next, span)
	}
	return took
}

// percentile returns the 99th percentile, in milliseconds.
func percentile(took []time.Duration) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}
