package score

import (
	"math"
	"math/bits"
)

// Weight returns ½^i, the weight of an agent's prediction with index i among its predictions with a
// baseline on one event. Indexes begin at 0, and a negative i counts as 0. The weights on an event
// add up to less than 2, so one insight that is repeated or said on sibling markets is paid less than twice.
func Weight(i int) float64 { return math.Ldexp(1, -max(i, 0)) }

// Contribution returns Weight(i) · amount, rounded with halves away from zero. The amount is an
// edge, a stake or a spread. A cluster is a sum of contributions. Each is an integer, so the sum
// doesn't depend on the order of settlements and reversals. From the 21st repeat (i = 21) on, it is
// always 0.
func Contribution(amount Points, i int) Points {
	if i <= 0 {
		return amount
	}
	if i > 30 {
		return 0
	}
	return Points(divideRounding(int64(amount), 1<<i))
}

// Tally adds up the values of an agent's settled clusters, one for each event. Skill is computed
// from it. Tallies can be added: a window is the sum of its days.
//
// A cluster lies within ±200 points, which are 2e6 Points, because the weights add up to less than
// 2. So a cluster adds at most 4e12 to SS, and an int64 holds two million of the largest.
type Tally struct {
	// N is the number of settled clusters.
	N int64
	// S is the sum of their values.
	S Points
	// SS is the sum of their squares, in units of 1e-8 point².
	SS int64
}

// Add adds a settled cluster of value c.
func (t *Tally) Add(c Points) {
	t.N++
	t.S += c
	t.SS += int64(c) * int64(c)
}

// Plus returns the tally of two disjoint sets of clusters.
func (t Tally) Plus(u Tally) Tally { return Tally{t.N + u.N, t.S + u.S, t.SS + u.SS} }

// Mean returns the mean value of the clusters, in points. It is 0 without clusters.
func (t Tally) Mean() float64 {
	if t.N <= 0 {
		return 0
	}
	return t.S.Float() / float64(t.N)
}

// Deviance returns D = Σ(C − mean)² = SS − S²/n, in points². It is 0 without clusters. n·SS − S² is
// computed in 128 bits, because both terms are large and nearly equal for a steady agent.
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
	if borrow != 0 { // not a sum of squares: no clusters have such sums
		return 0
	}
	exact := math.Ldexp(float64(high), 64) + float64(low)
	return exact / float64(t.N) / (pointScale * pointScale)
}
