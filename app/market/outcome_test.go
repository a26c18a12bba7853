package market_test

import (
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
)

func TestVerdict(t *testing.T) {
	t.Parallel()
	yesNo := []string{"Yes", "No"}
	seven := []string{"A", "B", "C", "D", "E", "F", "G"}
	past := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name   string
		m      market.Market
		stage  market.Stage
		winner int
		values []float64
	}{
		{"open past its end date", market.Market{Outcomes: yesNo, Prices: []float64{1, 0}, ClosesAt: past}, market.Waiting, -1, nil},
		{"open and resolved", market.Market{Outcomes: yesNo, Prices: []float64{1, 0}, Resolution: "resolved"}, market.Waiting, -1, nil},
		{"proposed", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{1, 0}, Resolution: "proposed"}, market.Waiting, -1, nil},
		{"disputed", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{1, 0}, Resolution: "disputed"}, market.Waiting, -1, nil},
		{"disputed scalar", market.Market{Closed: true, Scalar: true, Outcomes: yesNo, Prices: []float64{.3, .7}, Resolution: "disputed"}, market.Waiting, -1, nil},
		{"0/0", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{0, 0}, Resolution: "resolved"}, market.Unknown, -1, nil},
		{"no prices", market.Market{Closed: true, Outcomes: yesNo, Resolution: "resolved"}, market.Unknown, -1, nil},
		{"prices of another length", market.Market{Closed: true, Outcomes: seven, Prices: []float64{1, 0}}, market.Unknown, -1, nil},
		{"scalar", market.Market{Closed: true, Scalar: true, Outcomes: []string{"Long", "Short"}, Prices: []float64{.3333333333333, .6666666666667}}, market.Settled, -1, []float64{.333333333, .666666667}},
		{"scalar at the half", market.Market{Closed: true, Scalar: true, Outcomes: []string{"Long", "Short"}, Prices: []float64{.5, .5}, Resolution: "resolved"}, market.Settled, -1, []float64{.5, .5}},
		{"scalar at a bound", market.Market{Closed: true, Scalar: true, Outcomes: []string{"Long", "Short"}, Prices: []float64{1, 0}}, market.Settled, 0, []float64{1, 0}},
		{"50/50", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.5, .5}, Resolution: "resolved"}, market.Voided, -1, nil},
		{"50/50 with a rounding error", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.4999995, .5000005}}, market.Voided, -1, nil},
		{"yes", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{1, 0}, Resolution: "resolved"}, market.Settled, 0, []float64{1, 0}},
		{"nearly yes", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.9999992, .0000008}, Resolution: "resolved"}, market.Settled, 0, []float64{1, 0}},
		{"no, without a stage", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{0, 1}}, market.Settled, 1, []float64{0, 1}},
		{"at the bounds", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.99, .01}}, market.Settled, 0, []float64{1, 0}},
		{"just outside", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.989, .011}}, market.Waiting, -1, nil},
		{"two winners", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{1, 1}}, market.Waiting, -1, nil},
		{"resolved, not decisive", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.6, .4}, Resolution: "resolved"}, market.AskBook, -1, nil},
		{"closed, not decisive", market.Market{Closed: true, Outcomes: yesNo, Prices: []float64{.6, .4}}, market.Waiting, -1, nil},
		{"seven outcomes", market.Market{Closed: true, Outcomes: seven, Prices: []float64{0, 0, .001, 0, .9995, 0, 0}}, market.Settled, 4, []float64{0, 0, 0, 0, 1, 0, 0}},
		{"three at a third", market.Market{Closed: true, Outcomes: seven[:3], Prices: []float64{.33, .33, .34}, Resolution: "resolved"}, market.AskBook, -1, nil},
	} {
		got := c.m.Verdict()
		if got.Stage != c.stage || got.Winner != c.winner || !slices.Equal(got.Values, c.values) {
			t.Errorf("%s: got %+v, want %s, %d, %v", c.name, got, c.stage, c.winner, c.values)
		}
	}
}

func TestDecidedBy(t *testing.T) {
	t.Parallel()
	m := market.Market{Outcomes: []string{"FaZe", "illwill"}}
	if v := m.DecidedBy(1); v.Stage != market.Settled || v.Winner != 1 || !slices.Equal(v.Values, []float64{0, 1}) {
		t.Errorf("second outcome: got %+v", v)
	}
	for _, i := range []int{-1, 2} {
		if v := m.DecidedBy(i); v.Stage != market.Waiting || v.Values != nil {
			t.Errorf("outcome %d: got %+v", i, v)
		}
	}
}
