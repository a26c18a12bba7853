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
	of := func(id string, outcomes []string, prices ...float64) market.Market {
		return market.Market{ID: id, Source: "polymarket", Question: id + "?", Title: id + "?", Outcomes: outcomes, Prices: prices, Active: true, ObservedAt: noon}
	}
	quoted := func(m market.Market, probability, price, bid, ask, change float64) market.Market {
		m.Probability, m.Price, m.BestBid, m.BestAsk, m.PriceChange24h = &probability, &price, &bid, &ask, &change
		return m
	}
	tokens := func(m market.Market, ids ...string) market.Market {
		m.TokenIDs = ids
		return m
	}
	teams, three := []string{"Lions", "Tigers"}, []string{"A", "B", "C"}
	for name, c := range map[string]struct{ stored, reading, want market.Market }{
		"the same": {
			of("m", three, 0.2, 0.3, 0.5), of("m", three, 0.5, 0.3, 0.2), of("m", three, 0.5, 0.3, 0.2),
		},
		"yes and no": {
			of("m", []string{"Yes", "No"}, 0.25, 0.75),
			tokens(quoted(of("m", []string{"No", "Yes"}, 0.5, 0.5), 0.5, 0.25, 0.125, 0.25, 0.5), "n", "y"),
			tokens(quoted(of("m", []string{"Yes", "No"}, 0.5, 0.5), 0.5, 0.25, 0.75, 0.875, -0.5), "y", "n"),
		},
		"two teams": {
			of("m", teams, 0.25, 0.75),
			quoted(of("m", []string{"Tigers", "Lions"}, 0.75, 0.25), 0.75, 0.5, 0, 0.75, 0),
			quoted(of("m", teams, 0.25, 0.75), 0.25, 0.5, 0.25, 1, 0),
		},
		"three": {
			of("m", three, 0.25, 0.25, 0.5),
			quoted(of("m", []string{"C", "A", "B"}, 0.5, 0.125, 0.375), 0.5, 0.5, 0.5, 0.75, 0),
			func() market.Market {
				m := of("m", three, 0.125, 0.375, 0.5)
				m.Probability = ptr(0.125)
				return m
			}(),
		},
		"three, the same first": {
			of("m", three, 0.25, 0.25, 0.5),
			quoted(of("m", []string{"A", "C", "B"}, 0.25, 0.5, 0.25), 0.25, 0.5, 0.125, 0.5, 0),
			quoted(of("m", three, 0.25, 0.25, 0.5), 0.25, 0.5, 0.125, 0.5, 0),
		},
		"another letter case": {
			of("m", teams, 0.25, 0.75), of("m", []string{"tigers", "lions"}, 0.75, 0.25), of("m", []string{"lions", "tigers"}, 0.25, 0.75),
		},
		"one more in front": {
			of("m", three[:2], 0.25, 0.75), of("m", []string{"C", "B", "A"}, 0.5, 0.25, 0.25), func() market.Market {
				m := of("m", []string{"A", "B", "C"}, 0.25, 0.25, 0.5)
				m.Probability = ptr(0.25)
				return m
			}(),
		},
		"renamed": {
			of("m", teams, 0.25, 0.75), of("m", []string{"Bears", "Lions"}, 0.75, 0.25), of("m", []string{"Bears", "Lions"}, 0.75, 0.25),
		},
		"no prices": {
			of("m", teams, 0.25, 0.75), of("m", []string{"Tigers", "Lions"}), of("m", teams),
		},
		"a market that isn't stored": {
			of("m", teams, 0.25, 0.75), of("n", []string{"Tigers", "Lions"}, 0.75, 0.25), of("n", []string{"Tigers", "Lions"}, 0.75, 0.25),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				observe(t, db, c.stored)
				reading := []market.Market{c.reading}
				if err := store.KeepOrder(t.Context(), db.Reader, reading); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, reading[0]); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
