package score

import "math"

// Points is a signed amount of edge, stake or spread, in units of 1/10,000 of a point. One
// prediction earns between -100 and +100 points.
type Points int64

// pointScale is the number of Points in a point.
const pointScale = 10_000

// Float returns the amount in points.
func (p Points) Float() float64 { return float64(p) / pointScale }

// nanoScale is the number of steps into which this package divides the interval 0..1.
const nanoScale = 1_000_000_000

// nano returns a probability in 0..1 as an integer of billionths. It is the first step of all
// arithmetic whose result must not depend on the machine or on the order of additions.
func nano(p float64) int64 { return int64(math.Round(p * nanoScale)) }

// Edge returns the points that confidence p earns against baseline q when the result is y:
//
//	100 · [(q − y)² − (p − y)²]
//
// All three arguments are in 0..1. The edge lies between -100 and +100 points. It is positive if p
// was closer to y than q was, and exactly 0 if p = q. It is rounded to 1/10,000 of a point, halves
// away from zero.
//
// The edge is a difference of two Brier scores (Brier 1950), so an honest confidence is best: an agent that
// believes π expects 100 · [(q − π)² − (p − π)²], which is highest at p = π.
//
// It is computed as 100 · (q − p)(q + p − 2y) in integers, so that an exact half in decimals is
// rounded as a half. In floats, it might be rounded either way.
func Edge(p, q, y float64) Points {
	const unit = nanoScale * nanoScale / (100 * pointScale)
	return Points(divideRounding(edgeNano(p, q, y), unit))
}

// LiveEdge returns the Edge that a prediction would have if the market settled at its present
// price, in 0..1. It is Edge with the price in place of y. It is shown for open predictions and
// never counts for a rank.
func LiveEdge(p, q, price float64) Points { return Edge(p, q, price) }

// edgeNano returns (q − y)² − (p − y)² exactly, in units of 1e-18. It lies within ±1e18, which fits
// an int64.
func edgeNano(p, q, y float64) int64 {
	np, nq, ny := nano(p), nano(q), nano(y)
	return (nq - np) * (nq + np - 2*ny)
}

// divideRounding returns value/unit, rounded with halves away from zero. unit must be positive and
// even.
func divideRounding(value, unit int64) int64 {
	if value < 0 {
		return -((-value + unit/2) / unit)
	}
	return (value + unit/2) / unit
}

// Brier returns the Brier score (p − y)² of confidence p for result y, both in 0..1 (Brier 1950, of
// one outcome). 0 is the best score and 1 the worst. A confidence of 0.5 scores 0.25 for a result
// of 0 or 1.
func Brier(p, y float64) float64 {
	return float64(brierNano(p, y)) / (nanoScale * nanoScale)
}

// brierNano returns (p − y)² in units of 1e-18.
func brierNano(p, y float64) int64 {
	d := nano(p) - nano(y)
	return d * d
}

// Probabilities are clipped to this range before a logarithm is taken. Otherwise a single
// confidence of 0 for an outcome that happens would outweigh all other predictions of an agent.
const (
	logFloor   = 0.001
	logCeiling = 0.999
)

// LogEdge returns the difference of the logarithmic scores (Good 1952) of confidence p and baseline
// q for result y, in bits:
//
//	y · log₂(p/q) + (1 − y) · log₂((1 − p)/(1 − q))
//
// All three arguments are in 0..1. p and q are clipped to 0.001..0.999, so the result lies within
// ±log₂ 999, about ±9.96 bits. It is positive if p gave the result more probability than q did. It
// is published beside the edge and never counts for a rank.
func LogEdge(p, q, y float64) float64 {
	p, q = clipLog(p), clipLog(q)
	return y*math.Log2(p/q) + (1-y)*math.Log2((1-p)/(1-q))
}

func clipLog(p float64) float64 { return min(max(p, logFloor), logCeiling) }
