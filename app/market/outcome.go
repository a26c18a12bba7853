package market

import (
	"cmp"
	"math"
	"slices"
)

// Stage is how far a market has come towards an outcome.
type Stage string

const (
	// Waiting: open, contested, or closed without a clear result; look again later.
	Waiting Stage = "waiting"
	// Unknown: closed and the upstream shows no prices. That is never 0 %; an admin
	// can say what happened.
	Unknown Stage = "unknown"
	// AskBook: resolved upstream, but the prices do not say how; the order book may.
	AskBook Stage = "ask_book"
	// Voided: settled at even odds, which decides nothing.
	Voided Stage = "void"
	// Settled: Values say how far each outcome happened.
	Settled Stage = "settled"
)

// The bounds a settled price must reach; real ones are within 0.000001 of 0 and 1.
const (
	decisiveHigh = 0.99
	decisiveLow  = 0.01
	// evenWithin is how far from 0.5 both prices of a void market may lie.
	evenWithin = 0.0001
)

// Verdict is what a market says happened.
type Verdict struct {
	Stage Stage
	// Winner is the outcome that happened, -1 when none did alone.
	Winner int
	// Values has one number in 0..1 per outcome while Stage is Settled, nil else.
	Values []float64
}

// Verdict applies the rules to the market as last observed, in this order: an open
// market has none, whatever its end date; a proposed or disputed result waits; no
// prices are unknown; a scalar market settles at its fractions; 50/50 is void; one
// price at 1 and the rest at 0 decides. What is resolved and still unclear is a
// question for the order book; see DecidedBy.
func (m *Market) Verdict() Verdict {
	prices, priced := m.settledPrices()
	switch {
	case !m.Closed, m.Resolution == "proposed", m.Resolution == "disputed":
		return Verdict{Stage: Waiting, Winner: -1}
	case !priced:
		return Verdict{Stage: Unknown, Winner: -1}
	case m.Scalar:
		return fractions(prices)
	case even(prices):
		return Verdict{Stage: Voided, Winner: -1}
	}
	if winner, ok := decisive(prices); ok {
		return m.DecidedBy(winner)
	}
	if m.Resolution == "resolved" {
		return Verdict{Stage: AskBook, Winner: -1}
	}
	return Verdict{Stage: Waiting, Winner: -1}
}

// DecidedBy is the verdict that outcome winner happened and no other did.
func (m *Market) DecidedBy(winner int) Verdict {
	if winner < 0 || winner >= len(m.Outcomes) {
		return Verdict{Stage: Waiting, Winner: -1}
	}
	values := make([]float64, len(m.Outcomes))
	values[winner] = 1
	return Verdict{Stage: Settled, Winner: winner, Values: values}
}

// Reference is the outcome that stands for the whole market where one number must:
// "Yes", else the first.
func (m *Market) Reference() int { return max(m.YesIndex(), 0) }

// OfReference turns a confidence in an outcome into one in the reference outcome: in a market of
// two, the other outcome's is the complement. It reports false if it says nothing of it.
func (m *Market) OfReference(outcome int, confidence float64) (p float64, ok bool) {
	switch {
	case outcome == m.Reference():
		return confidence, true
	case len(m.Outcomes) == 2:
		return math.Round((1-confidence)*1e4) / 1e4, true // a confidence has at most four decimals
	}
	return 0, false
}

// settledPrices are the prices, if there is one for each outcome and not all are 0.
func (m *Market) settledPrices() ([]float64, bool) {
	known := len(m.Prices) > 0 && len(m.Prices) == len(m.Outcomes) &&
		slices.ContainsFunc(m.Prices, func(p float64) bool { return p > 0 })
	return m.Prices, known
}

func fractions(prices []float64) Verdict {
	v := Verdict{Stage: Settled, Winner: -1, Values: make([]float64, len(prices))}
	for i, p := range prices {
		v.Values[i] = nanoRound(min(max(p, 0), 1))
	}
	if winner, ok := decisive(prices); ok {
		v.Winner = winner
	}
	return v
}

// nanoRound keeps what the score package tells apart, so that a fraction is the
// same number wherever it has been stored.
func nanoRound(p float64) float64 { return math.Round(p*1e9) / 1e9 }

func even(prices []float64) bool {
	return len(prices) == 2 && math.Abs(prices[0]-0.5) <= evenWithin && math.Abs(prices[1]-0.5) <= evenWithin
}

func decisive(prices []float64) (winner int, ok bool) {
	winner = slices.Index(prices, slices.MaxFunc(prices, cmp.Compare[float64]))
	if prices[winner] < decisiveHigh {
		return -1, false
	}
	for i, p := range prices {
		if i != winner && p > decisiveLow {
			return -1, false
		}
	}
	return winner, true
}
