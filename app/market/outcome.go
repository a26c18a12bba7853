package market

import (
	"cmp"
	"math"
	"slices"

	"github.com/pulsecast/pulsecast/app/score"
)

// Stage says how far a market's settlement has come.
type Stage string

const (
	// Waiting: open, contested, or closed without a clear result; check again later.
	Waiting Stage = "waiting"
	// Unknown: closed, and the source shows no prices. Unknown is not 0 %. An admin can decide the outcome.
	Unknown Stage = "unknown"
	// AskBook: resolved, but the prices don't show the result; the order book may.
	AskBook Stage = "ask_book"
	// Voided: settled at even odds, which decides nothing.
	Voided Stage = "void"
	// Settled: Values hold the result.
	Settled Stage = "settled"
)

// A settled price must reach one of these bounds. Real ones are within 0.000001 of 0 or 1.
const (
	decisiveHigh = 0.99
	decisiveLow  = 0.01
	// evenWithin is the largest distance from 0.5 of the two prices of a void market.
	evenWithin = 0.0001
)

// Verdict is the result of a market.
type Verdict struct {
	Stage Stage
	// Winner is the index of the outcome that happened, or -1 if no single outcome did.
	Winner int
	// Values holds how far each outcome happened, 0..1. It is nil unless Stage is Settled.
	Values []float64
}

// Verdict decides the result from the last observation. The rules, in this order:
//
//   - An open market has no result, whatever its scheduled close.
//   - A proposed or disputed result waits.
//   - Without prices the result is unknown.
//   - A scalar market settles at its fractions.
//   - 50/50 is void.
//   - One price at 1 and all others at 0 decide.
//
// If a market is resolved and its prices are still unclear, the order book decides; see DecidedBy.
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

// DecidedBy returns the verdict that the outcome with index winner happened, and no other.
func (m *Market) DecidedBy(winner int) Verdict {
	if winner < 0 || winner >= len(m.Outcomes) {
		return Verdict{Stage: Waiting, Winner: -1}
	}
	values := make([]float64, len(m.Outcomes))
	values[winner] = 1
	return Verdict{Stage: Settled, Winner: winner, Values: values}
}

// Reference returns the index of the outcome that represents the market where only one number is shown: "Yes",
// else the first.
func (m *Market) Reference() int { return max(m.YesIndex(), 0) }

// OfReference converts a confidence in an outcome to one in the reference outcome. In a market with two
// outcomes, it is the complement. ok is false if the confidence says nothing about the reference outcome.
func (m *Market) OfReference(outcome int, confidence float64) (p float64, ok bool) {
	switch {
	case outcome == m.Reference():
		return confidence, true
	case len(m.Outcomes) == 2:
		return score.Complement(confidence), true
	}
	return 0, false
}

// settledPrices returns the prices. The bool is false unless every outcome has a price and one of them is above
// 0.
func (m *Market) settledPrices() ([]float64, bool) {
	known := len(m.Prices) > 0 && len(m.Prices) == len(m.Outcomes) &&
		slices.ContainsFunc(m.Prices, func(p float64) bool { return p > 0 }) &&
		!slices.ContainsFunc(m.Prices, func(p float64) bool { return math.IsNaN(p) || math.IsInf(p, 0) })
	return m.Prices, known
}

func fractions(prices []float64) Verdict {
	v := Verdict{Stage: Settled, Winner: -1, Values: make([]float64, len(prices))}
	for i, p := range prices {
		v.Values[i] = score.RoundValue(min(max(p, 0), 1))
	}
	if winner, ok := decisive(prices); ok {
		v.Winner = winner
	}
	return v
}

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
