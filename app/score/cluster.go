package score

import (
	"math"
	"math/bits"
)

// Weight is ½^i, the weight of an agent's i-th prediction with a baseline on one event,
// counted from 0. All weights on an event together stay below 2, so neither repeats
// nor sibling markets multiply one insight. A negative i counts as 0.
func Weight(i int) float64 { return math.Ldexp(1, -max(i, 0)) }

// Contribution is Weight(i) · amount, rounded once with halves away from zero. The amount
// is an edge, a stake or a spread. A cluster is the sum of its contributions; because
// each is an integer, the order of settlements and reversals leaves no trace. From the
// 21st repeat on it is always 0.
func Contribution(amount Points, i int) Points {
	if i <= 0 {
		return amount
	}
	if i > 30 {
		return 0
	}
	return Points(divideRounding(int64(amount), 1<<i))
}

// Tally sums up an agent's settled clusters (one per event): all that skill needs.
// It is additive: a window is the sum of its days, a correction is a difference.
//
// A cluster stays within ±200 points (the weights sum to less than 2), 2e6 Points, so
// one adds at most 4e12 to SS and an int64 holds two million of the worst there can be.
type Tally struct {
	// N is the number of settled clusters.
	N int64
	// S is the sum of their values.
	S Points
	// SS is the sum of their squares in 1/10,000² of a point².
	SS int64
}

// Add counts one more settled cluster of value c.
func (t *Tally) Add(c Points) {
	t.N++
	t.S += c
	t.SS += int64(c) * int64(c)
}

// Remove takes back a cluster of value c that was added before.
func (t *Tally) Remove(c Points) {
	t.N--
	t.S -= c
	t.SS -= int64(c) * int64(c)
}

// Replace moves a cluster from one value to another: a further settlement on its
// event, or the reversal of one.
func (t *Tally) Replace(before, after Points) {
	t.Remove(before)
	t.Add(after)
}

// Plus is the tally of two disjoint sets of clusters.
func (t Tally) Plus(u Tally) Tally { return Tally{t.N + u.N, t.S + u.S, t.SS + u.SS} }

// Minus is the difference that leads from u to t.
func (t Tally) Minus(u Tally) Tally { return Tally{t.N - u.N, t.S - u.S, t.SS - u.SS} }

// Mean is the average cluster in points, 0 without clusters.
func (t Tally) Mean() float64 {
	if t.N <= 0 {
		return 0
	}
	return t.S.Float() / float64(t.N)
}

// Deviance is Σ(C − mean)² = SS − S²/n in points², 0 without clusters. n·SS − S² is
// taken in 128 bits, since for a steady agent both terms are large and nearly equal.
func (t Tally) Deviance() float64 {
	if t.N <= 0 {
		return 0
	}
	size := t.S
	if size < 0 {
		size = -size
	}
	high1, low1 := bits.Mul64(uint64(t.N), uint64(t.SS))
	high2, low2 := bits.Mul64(uint64(size), uint64(size))
	low, borrow := bits.Sub64(low1, low2, 0)
	high, borrow := bits.Sub64(high1, high2, borrow)
	if borrow != 0 { // not a sum of squares: a caller removed what it never added
		return 0
	}
	exact := math.Ldexp(float64(high), 64) + float64(low)
	return exact / float64(t.N) / (pointScale * pointScale)
}
