package market_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestKeepOrder stores a market, and checks what becomes of a later reading whose outcomes come in another order.
func TestKeepOrder(t *testing.T) {
	t.Parallel()
	// of returns a market whose tokens have the ids of its outcomes before they were renamed.
	of := func(tokens, outcomes []string, prices ...float64) market.Market {
		return market.Market{ID: "m", Source: "polymarket", Question: "Q?", Title: "Q?", Outcomes: outcomes, TokenIDs: tokens, Prices: prices, Active: true, ObservedAt: noon}
	}
	quoted := func(m market.Market, probability, price, bid, ask, change float64) market.Market {
		m.Probability, m.Price, m.BestBid, m.BestAsk, m.PriceChange24h = &probability, &price, &bid, &ask, &change
		return m
	}
	likely := func(m market.Market, probability float64) market.Market {
		m.Probability = &probability
		return m
	}
	closed := func(m market.Market) market.Market {
		m.Closed, m.Active = true, false
		return m
	}
	settled := func(m market.Market, price float64) market.Market {
		m.Price = &price
		return m
	}
	elsewhere := func(m market.Market) market.Market {
		m.ID = "n"
		return m
	}
	teams, turned := []string{"Lions", "Tigers"}, []string{"Tigers", "Lions"}
	three, mixed := []string{"A", "B", "C"}, []string{"C", "A", "B"}
	cases := map[string]struct{ stored, reading, want market.Market }{
		"the same": {of(three, three, 0.2, 0.3, 0.5), of(three, three, 0.5, 0.3, 0.2), of(three, three, 0.5, 0.3, 0.2)},
		"yes and no": {
			of([]string{"y", "n"}, []string{"Yes", "No"}, 0.25, 0.75),
			quoted(of([]string{"n", "y"}, []string{"No", "Yes"}, 0.5, 0.5), 0.5, 0.25, 0.125, 0.25, 0.5),
			quoted(of([]string{"y", "n"}, []string{"Yes", "No"}, 0.5, 0.5), 0.5, 0.25, 0.75, 0.875, -0.5),
		},
		"two teams": {
			of(teams, teams, 0.25, 0.75),
			quoted(of(turned, turned, 0.9, 0.1), 0.9, 0.7, 0, 0.9, 0.1),
			quoted(of(teams, teams, 0.1, 0.9), 0.1, 0.3, 0.1, 1, -0.1),
		},
		"two teams, settled": {
			of(teams, teams, 0.25, 0.75), closed(settled(likely(of(turned, turned, 1, 0), 1), 1)), closed(settled(likely(of(teams, teams, 0, 1), 0), 0)),
		},
		"three": {
			of(three, three, 0.25, 0.25, 0.5),
			quoted(of(mixed, mixed, 0.5, 0.125, 0.375), 0.5, 0.5, 0.5, 0.75, 0),
			likely(of(three, three, 0.125, 0.375, 0.5), 0.125),
		},
		"three, settled": {
			of(three, three, 0.25, 0.25, 0.5), closed(settled(likely(of(mixed, mixed, 0, 1, 0), 0), 0)), closed(settled(likely(of(three, three, 1, 0, 0), 1), 1)),
		},
		"three, the same first": {
			of(three, three, 0.25, 0.25, 0.5),
			quoted(of([]string{"A", "C", "B"}, []string{"A", "C", "B"}, 0.25, 0.5, 0.25), 0.25, 0.5, 0.125, 0.5, 0),
			quoted(of(three, three, 0.25, 0.25, 0.5), 0.25, 0.5, 0.125, 0.5, 0),
		},
		"renamed too": {
			of(teams, teams, 0.25, 0.75), likely(of(turned, []string{"Tigers", "Lions FC"}, 0.75, 0.25), 0.75), likely(of(teams, []string{"Lions FC", "Tigers"}, 0.25, 0.75), 0.25),
		},
		"only the names change places": {of(teams, teams, 0.25, 0.75), of(teams, turned, 0.25, 0.75), of(teams, turned, 0.25, 0.75)},
		"one more":                     {of(three[:2], three[:2], 0.25, 0.75), of(mixed, mixed, 0.5, 0.25, 0.25), of(mixed, mixed, 0.5, 0.25, 0.25)},
		"one less":                     {of(three, three, 0.25, 0.25, 0.5), of(mixed[:2], mixed[:2], 0.75, 0.25), of(mixed[:2], mixed[:2], 0.75, 0.25)},
		"other tokens":                 {of(teams, teams, 0.25, 0.75), of(three[:2], turned, 0.75, 0.25), of(three[:2], turned, 0.75, 0.25)},
		"one token twice":              {of([]string{"A", "A"}, teams, 0.25, 0.75), of([]string{"B", "A"}, turned, 0.75, 0.25), of([]string{"B", "A"}, turned, 0.75, 0.25)},
		"no tokens":                    {of(teams, teams, 0.25, 0.75), of(nil, turned, 0.75, 0.25), of(nil, turned, 0.75, 0.25)},
		"no stored tokens":             {of(nil, teams, 0.25, 0.75), of(turned, turned, 0.75, 0.25), of(turned, turned, 0.75, 0.25)},
		"no prices":                    {of(teams, teams, 0.25, 0.75), likely(of(turned, turned), 0.75), likely(of(teams, teams), 0.25)},
		"another market":               {of(teams, teams, 0.25, 0.75), elsewhere(of(turned, turned, 0.75, 0.25)), elsewhere(of(turned, turned, 0.75, 0.25))},
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for name, c := range cases {
			t.Run(name, func(t *testing.T) {
				for _, m := range []*market.Market{&c.stored, &c.reading, &c.want} {
					m.ID = name + ": " + m.ID
				}
				observe(t, db, c.stored)
				reading := []market.Market{c.reading}
				if err := store.KeepOrder(t.Context(), db.Reader, reading); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, reading[0]); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}
