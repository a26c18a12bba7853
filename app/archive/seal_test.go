package archive_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

var day = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

// priceRow is a reading of a market at a minute of the day.
func priceRow(market string, minute int) archive.PriceRow {
	return archive.PriceRow{
		Market: market, Observed: archive.Observed{ObservedAt: day.Add(time.Duration(minute) * time.Minute), Source: "polymarket", Received: []byte{byte(minute)}},
		Prices: []float64{0.25, 0.75}, BestBid: new(0.0),
	}
}

func newSealer(t *testing.T, db *database.DB, storage archive.Writable) *archive.Sealer {
	t.Helper()
	return &archive.Sealer{
		DB: db, Storage: storage, Now: func() time.Time { return day.AddDate(0, 0, 1).Add(time.Hour) }, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
}

func TestSeal(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			ctx, db, folder := t.Context(), dbtest.Open(t, kind), archive.OpenFolder(t.TempDir())
			for minute := range 3 {
				rows := []archive.PriceRow{priceRow("b", minute), priceRow("a", minute)}
				if err := archive.Append(ctx, db, archive.Prices, rows, rows[0].ObservedAt); err != nil {
					t.Fatal(err)
				}
			}
			if err := newSealer(t, db, folder).Seal(ctx, "2026-11-21"); err != nil {
				t.Fatal(err)
			}
			d, err := archive.OpenDay(ctx, folder, "2026-11-21")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for row, err := range archive.Rows[archive.PriceRow](ctx, d, archive.Prices) {
				if err != nil || row.BestBid == nil || len(row.Received) != 1 {
					t.Errorf("row %+v, %v", row, err)
				}
				got = append(got, fmt.Sprint(row.Market, row.ObservedAt.Minute()))
			}
			if fmt.Sprint(got) != "[a0 a1 a2 b0 b1 b2]" {
				t.Errorf("rows %v", got)
			}
			days, err := archive.DaysBetween(ctx, db, "", "9999-12-31")
			if err != nil || len(days) != 1 || days[0].Hash != d.Hash || days[0].Manifest.Files[0].Rows != 6 {
				t.Errorf("days %+v, %v", days, err)
			}
			if n, err := db.NewSelect().Table("archive_segments").Count(ctx); n != 0 || err != nil {
				t.Errorf("%d segments are left, %v", n, err)
			}
		})
	}
}

// TestSegmentsAreDeletedInShortTransactions checks that one transaction deletes a bounded number of segments. If the
// deletion is interrupted, the next run of the job deletes the rest, and no row is in two days.
func TestSegmentsAreDeletedInShortTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const segments, most = 600, 500
		folder := archive.OpenFolder(t.TempDir())
		for i := range segments {
			row := priceRow("a", i)
			if err := archive.Append(t.Context(), db, archive.Prices, []archive.PriceRow{row}, row.ObservedAt); err != nil {
				t.Fatal(err)
			}
		}
		left := func() (n int) {
			t.Helper()
			if err := db.Reader.NewRaw("SELECT COUNT(*) FROM archive_segments").Scan(t.Context(), &n); err != nil {
				t.Error(err)
			}
			return n
		}
		had := left()
		ctx, crash := context.WithCancel(t.Context())
		db.Watch(dbtest.OnCommit(func() {
			n := left()
			if had-n > most {
				t.Errorf("one transaction deleted %d segments, want at most %d", had-n, most)
			}
			if n < had {
				crash()
			}
			had = n
		}))
		if err := newSealer(t, db, folder).Seal(ctx, "2026-11-21"); err == nil || had == 0 {
			t.Errorf("%v; %d segments are left, want an interrupted deletion", err, had)
		}
		s := newSealer(t, db, folder)
		s.Now = func() time.Time { return day.AddDate(0, 0, 1).Add(time.Hour) }
		if _, err := s.Tick(t.Context()); err != nil || left() != 0 {
			t.Errorf("%v; %d segments are left after the next run of the job", err, left())
		}
		s.Now = func() time.Time { return day.AddDate(0, 0, 2).Add(time.Hour) }
		if err := s.Seal(t.Context(), "2026-11-22"); err != nil {
			t.Fatal(err)
		}
		rows := 0
		for _, name := range []string{"2026-11-21", "2026-11-22"} {
			d, err := archive.OpenDay(t.Context(), folder, name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range d.Manifest.Of(archive.Prices) {
				rows += int(f.Rows)
			}
		}
		if rows != segments || left() != 0 {
			t.Errorf("the days have %d rows, and %d segments are left; want %d and none", rows, left(), segments)
		}
	})
}
