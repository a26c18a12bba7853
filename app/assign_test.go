package app_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source"
)

// fixedMarkets is a market source whose top markets are fixed.
type fixedMarkets struct {
	source.MarketSource
	top []market.Market
	now func() time.Time
}

func (f fixedMarkets) Top(context.Context, int) (source.Markets, error) {
	return source.Markets{Markets: f.top, ObservedAt: f.now()}, nil
}

// TestAssignsAfterAWholeReading checks that a new installation doesn't choose the day's assignments among the first
// stored markets of its first reading.
func TestAssignsAfterAWholeReading(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return goldenAt }
	cfg := config.Default()
	cfg.LogFormat, cfg.DatabaseURL = "off", dbtest.URL(t, database.SQLite)
	a, err := app.New(t.Context(), cfg, app.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	var markets []market.Market
	for i := range 13 {
		probability, liquidity := 0.5, 1e6+float64(i)
		markets = append(markets, market.Market{ID: fmt.Sprintf("m%02d", i), Source: "polymarket", Question: fmt.Sprint("Q", i, "?"), Title: fmt.Sprint("Q", i, "?"),
			Outcomes: []string{"Yes", "No"}, Prices: []float64{0.5, 0.5}, Probability: &probability, Liquidity: &liquidity, ClosesAt: goldenAt.AddDate(0, 0, 9), Active: true, ObservedAt: goldenAt})
	}
	assigned := func() (ids []string) {
		t.Helper()
		if err := a.Assign(t.Context()); err != nil {
			t.Fatal(err)
		}
		list, err := assignment.Store{}.All(t.Context(), a.DB.Reader, 50)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range list {
			ids = append(ids, l.MarketID)
		}
		return ids
	}
	err = a.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return market.Store{}.Observe(ctx, tx, markets[:1]) })
	if err != nil {
		t.Fatal(err)
	}
	if got := assigned(); len(got) != 0 {
		t.Errorf("chose %v while the first reading is being stored", got)
	}
	a.Markets.Source = fixedMarkets{top: markets, now: now}
	if _, err := a.Markets.Tick(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := assigned(); len(got) != 12 {
		t.Errorf("after the reading: chose %v, want 12", got)
	}
}
