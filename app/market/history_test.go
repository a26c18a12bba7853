package market_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// readings returns n prices of a market, the last one at the time to.
func readings(id string, n int, every time.Duration, to time.Time) []market.Price {
	rows := make([]market.Price, n)
	for i := range rows {
		rows[i] = market.Price{MarketID: id, ObservedAt: to.Add(-time.Duration(n-1-i) * every), Prices: []float64{float64(i%100) / 100, 0}}
	}
	return rows
}

// TestHistory checks that a history goes from the first price to the newest, that the newest prices are all there, and
// that the others are spread evenly.
func TestHistory(t *testing.T) {
	t.Parallel()
	twoYears := append(readings("x", 2920, 6*time.Hour, noon.Add(-48*time.Hour)), readings("x", 2880, time.Minute, noon)...)
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for name, c := range map[string]struct {
			stored []market.Price
			count  int // of the history
			step   int // between two prices of the older part
		}{
			"none":            {nil, 0, 1},
			"one":             {readings("x", 1, time.Minute, noon), 1, 1},
			"few":             {readings("x", 1501, time.Minute, noon), 1501, 1},
			"as many as fit":  {readings("x", 3000, time.Minute, noon), 3000, 1},
			"one more":        {readings("x", 3001, time.Minute, noon), 1500 + 751, 2},
			"two long years":  {twoYears, 1500 + 1434, 3},
			"hours of a year": {readings("x", 8760, time.Hour, noon), 1500 + 1452, 5},
		} {
			observe(t, db, yesNo(name, 1, time.Time{}), yesNo("other", 1, noon))
			if _, err := db.ExecContext(t.Context(), "DELETE FROM market_prices WHERE market_id = ?", name); err != nil {
				t.Fatal(err)
			}
			stored := slices.Clone(c.stored)
			for i := range stored {
				stored[i].MarketID = name
			}
			if err := store.AddPrices(t.Context(), db, stored); err != nil {
				t.Fatal(err)
			}
			var want []time.Time
			for i, row := range stored {
				if older := len(stored) - 1500; i >= older || i%c.step == 0 {
					want = append(want, row.ObservedAt)
				}
			}
			var got []time.Time
			for _, row := range history(t, db, name) {
				got = append(got, row.ObservedAt)
				if row.MarketID != name || len(row.Prices) != 2 {
					t.Fatalf("%s: got %+v", name, row)
				}
			}
			if len(got) != c.count || !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Errorf("%s: got %d prices, want %d and one in %d of the older ones", name, len(got), c.count, c.step)
			}
		}
	})
}

// TestHistoryRows checks that a history reads only rows of its market, and not more than a limit, even if no prices were
// thinned for long.
func TestHistoryRows(t *testing.T) {
	t.Parallel()
	const most = 50_000
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			grown(t, db, 1, 3)
			at := "strftime('%Y-%m-%d %H:%M:%S', '2026-01-01 00:00:00', n || ' minutes') || '+00:00'"
			if db.Kind == database.Postgres {
				at = "timestamptz '2026-01-01 00:00:00+00:00' + interval '1 minute' * n"
			}
			for id, n := range map[string]int{"m1": 10, "m2": most + 100} {
				if _, err := db.ExecContext(t.Context(), `INSERT INTO market_prices (market_id, observed_at, prices) WITH RECURSIVE numbers (n) AS
					(SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?) SELECT ?, `+at+`, '[0.5,0.5]' FROM numbers`, n, id); err != nil {
					t.Fatal(err)
				}
			}
			if db.Kind == database.Postgres {
				if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
					t.Fatal(err)
				}
			}
			for id, limit := range map[string]int64{"m1": 10, "m2": most} {
				plans := dbtest.Explain(t, db, func(db *database.DB) {
					if rows, err := store.History(t.Context(), db.Reader, id); err != nil || len(rows) > 3000 {
						t.Fatalf("got %d prices, %v", len(rows), err)
					}
				})
				if n := plans[0].Tables["market_prices"]; len(plans) != 1 || n > limit || len(plans[0].Whole) > 0 {
					t.Errorf("%s: %d queries read %d rows, want at most %d: %v", id, len(plans), n, limit, fmt.Sprint(plans[0].Whole))
				}
			}
		})
	}
}
