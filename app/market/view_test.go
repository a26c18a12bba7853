package market_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

func TestView(t *testing.T) {
	t.Parallel()
	two, three := []float64{.6, .4}, []float64{.5, .3, .2}
	for name, c := range map[string]struct {
		prices   []float64
		bid, ask *float64
		outcome  int
		want     string
	}{
		"first outcome":              {two, ptr(.58), ptr(.62), 0, "0.6: 0.58..0.62 true"},
		"second of two":              {two, ptr(.58), ptr(.62), 1, "0.4: 0.38..0.42 true"},
		"empty book":                 {[]float64{.5, .5}, ptr(0.), ptr(1.), 0, "0.5: 0..1 true"},
		"empty book, second of two":  {[]float64{.5, .5}, ptr(0.), ptr(1.), 1, "0.5: 0..1 true"},
		"no bids, second of two":     {two, ptr(0.), ptr(.62), 1, "0.4: 0.38..1 true"},
		"no book":                    {two, nil, nil, 1, "0.4: 0.4..0.4 false"},
		"more than two, first":       {three, ptr(.4), ptr(.6), 0, "0.5: 0.5..0.5 false"},
		"more than two, third":       {three, ptr(.4), ptr(.6), 2, "0.2: 0.2..0.2 false"},
		"unknown prices with a book": {[]float64{0, 0}, ptr(.4), ptr(.6), 0, "unknown"},
		"no prices":                  {nil, ptr(.4), ptr(.6), 0, "unknown"},
		"unknown outcome":            {two, ptr(.4), ptr(.6), 2, "unknown"},
		"negative outcome":           {two, ptr(.4), ptr(.6), -1, "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			say := func(v market.View, ok bool) string {
				if !ok {
					return "unknown"
				}
				return fmt.Sprintf("%g: %g..%g %t", v.Price, v.Bid, v.Ask, v.Book)
			}
			m := market.Market{Outcomes: make([]string, len(c.prices)), Prices: c.prices, BestBid: c.bid, BestAsk: c.ask}
			if got := say(m.View(c.outcome)); got != c.want {
				t.Errorf("market: got %s, want %s", got, c.want)
			}
			p := market.Price{Prices: c.prices, BestBid: c.bid, BestAsk: c.ask}
			if got := say(p.View(c.outcome)); got != c.want {
				t.Errorf("price: got %s, want %s", got, c.want)
			}
		})
	}
}

func TestBookIsKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		with := func(at time.Time, bid, ask *float64) market.Market {
			m := yesNo("a", 300, at)
			m.BestBid, m.BestAsk, m.Liquidity = bid, ask, ptr(900.)
			m.Volume24h, m.PriceChange24h = ptr(25.), ptr(-.02)
			return m
		}
		long := noon.Add(-40 * 24 * time.Hour).Truncate(6 * time.Hour)
		observe(t, db, with(long, ptr(0.), ptr(1.)))
		observe(t, db, with(long.Add(time.Hour), ptr(.1), ptr(.2)))
		observe(t, db, with(noon, ptr(.58), ptr(.62)))
		m := get(t, db, "a")
		if *m.BestBid != .58 || *m.BestAsk != .62 || *m.Volume24h != 25 || *m.PriceChange24h != -.02 {
			t.Errorf("got market %+v", m)
		}
		if _, _, err := store.Thin(t.Context(), db, noon, noon); err != nil {
			t.Fatal(err)
		}
		rows := history(t, db, "a")
		if len(rows) != 2 || *rows[0].BestBid != 0 || *rows[0].BestAsk != 1 || *rows[1].BestBid != .58 || *rows[1].Liquidity != 900 || *rows[1].Volume != 300 {
			t.Errorf("got history %+v", rows)
		}
		thinned, err := store.ThinnedPrices(t.Context(), db.Reader, []string{"a"}, noon.Add(-time.Hour), 10)
		if err != nil || len(thinned) != 1 || *thinned[0].BestAsk != .62 {
			t.Errorf("got thinned prices %+v, %v", thinned, err)
		}
		between, err := store.PricesBetween(t.Context(), db.Reader, []string{"a", "b"}, noon.Add(-time.Hour), noon)
		if err != nil || len(between) != 1 || *between[0].BestBid != .58 {
			t.Errorf("got prices between two times %+v, %v", between, err)
		}
		observe(t, db, with(noon.Add(time.Minute), nil, nil))
		if m := get(t, db, "a"); m.BestBid != nil || m.BestAsk != nil {
			t.Errorf("a reading without a book kept the old one: %v %v", *m.BestBid, *m.BestAsk)
		}
	})
}
