package score

import "math"

// Points is a signed amount in 1/10,000 of a point. One prediction earns between
// -100 and +100 points.
type Points int64

// pointScale is how many Points make a point.
const pointScale = 10_000

// Float returns the amount in points.
func (p Points) Float() float64 { return float64(p) / pointScale }

// nanoScale is how many steps the interval 0..1 has inside this package.
const nanoScale = 1_000_000_000

// nano turns a probability in 0..1 into billionths. All arithmetic that must not
// depend on the machine or on the order of additions starts here.
func nano(p float64) int64 { return int64(math.Round(p * nanoScale)) }

// Edge is 100 · [(q − y)² − (p − y)²], rounded to 1/10,000 of a point with halves
// away from zero. It is positive when the confidence p came closer to the result y than
// the market's q did, from -100 to +100 points, and exactly 0 when p = q. All three are
// in 0..1. This is the difference of two quadratic (Brier) scores, so with q fixed
// an agent that believes π expects 100 · [(q − π)² − (p − π)²], most at p = π.
//
// It is computed as 100 · (q − p)(q + p − 2y) in integers, so a half in decimals is
// rounded as one. Floats would send it either way.
func Edge(p, q, y float64) Points {
	const unit = nanoScale * nanoScale / (100 * pointScale)
	return Points(divideRounding(edgeNano(p, q, y), unit))
}

// LiveEdge is the Edge a prediction would have if the market settled at today's price:
// the same formula with the price for y. It is shown as unsettled and never ranked.
func LiveEdge(p, q, price float64) Points { return Edge(p, q, price) }

// edgeNano is (q − y)² − (p − y)² exactly, in 1e-18: at most 1e18, within an int64.
func edgeNano(p, q, y float64) int64 {
	np, nq, ny := nano(p), nano(q), nano(y)
	return (nq - np) * (nq + np - 2*ny)
}

// divideRounding divides by a positive even unit and rounds halves away from zero.
func divideRounding(value, unit int64) int64 {
	if value < 0 {
		return -((-value + unit/2) / unit)
	}
	return (value + unit/2) / unit
}

// Brier is (p − y)². 0 is best, 1 is worst, and "50 %" gets 0.25 on a result of 0 or 1.
func Brier(p, y float64) float64 {
	return float64(brierNano(p, y)) / (nanoScale * nanoScale)
}

// brierNano is (p − y)² in 1e-18.
func brierNano(p, y float64) int64 {
	d := nano(p) - nano(y)
	return d * d
}

// Probabilities are clipped to this range before a logarithm is taken: one "0 %"
// that happens would otherwise weigh more than a lifetime of predictions.
const (
	logFloor   = 0.001
	logCeiling = 0.999
)

// LogEdge is the logarithmic counterpart of Edge in bits,
// y·log₂(p/q) + (1 − y)·log₂((1 − p)/(1 − q)), with p and q clipped to 0.001..0.999
// (Good 1952). It lies within ±log₂ 999, about 9.96 bits. It is published beside the
// edge and never ranked.
func LogEdge(p, q, y float64) float64 {
	p, q = clipLog(p), clipLog(q)
	return y*math.Log2(p/q) + (1-y)*math.Log2((1-p)/(1-q))
}

func clipLog(p float64) float64 { return min(max(p, logFloor), logCeiling) }
