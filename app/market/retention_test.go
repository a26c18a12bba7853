package market_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// afterDelete is a hook for database.DB.Watch that is called after each DELETE.
type afterDelete func()

func (f afterDelete) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (f afterDelete) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "DELETE") {
		f()
	}
}

// TestThinAfterClockAhead checks that prices are thinned although their windows were, while the clock was ten days ahead.
func TestThinAfterClockAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		thin := func(now time.Time) (deleted int64) {
			t.Helper()
			deleted, more, err := store.Thin(t.Context(), db, now, now)
			if err != nil || more {
				t.Fatalf("more %v, %v", more, err)
			}
			return deleted
		}
		observe(t, db, yesNo("a", 1, noon))
		thin(noon.Add(10 * 24 * time.Hour))
		thin(noon)
		for i := range 6 {
			observe(t, db, yesNo("a", 1, noon.Add(time.Duration(60+i)*time.Minute)))
		}
		if n := thin(noon.Add(market.PricesKept)); n != 0 {
			t.Errorf("thinned %d prices that are too young", n)
		}
		if n := thin(noon.Add(market.PricesKept + 2*time.Hour)); n != 5 {
			t.Errorf("thinned %d prices, want 5 of 6", n)
		}
	})
}

// TestThinsInShortStatements checks that one statement of Thin deletes a bounded number of prices, although an hour can
// have many.
func TestThinsInShortStatements(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const markets, each, most = 50, 60, 1000
		hour := noon.Add(-100 * time.Hour)
		var known []market.Market
		var prices []market.Price
		for m := range markets {
			known = append(known, yesNo(fmt.Sprint(m), 1, hour)) // also has the first price
			for i := range each {
				prices = append(prices, market.Price{MarketID: fmt.Sprint(m), ObservedAt: hour.Add(time.Duration(i) * time.Minute), Prices: []float64{0.5, 0.5}})
			}
		}
		if err := errors.Join(store.Observe(t.Context(), db, known), store.AddPrices(t.Context(), db, prices)); err != nil {
			t.Fatal(err)
		}
		had := int64(len(prices))
		db.Watch(afterDelete(func() {
			n, err := db.Reader.NewSelect().Table("market_prices").Count(t.Context())
			if err != nil || had-n > most {
				t.Errorf("one statement deleted %d prices (%v), want at most %d", had-n, err, most)
			}
			had = n
		}))
		deleted, more, err := store.Thin(t.Context(), db, noon, noon)
		if err != nil || more || deleted != markets*(each-1) || had != markets {
			t.Errorf("deleted %d prices, more %t, %v; %d are left, want one for each of %d markets", deleted, more, err, had, markets)
		}
	})
}
