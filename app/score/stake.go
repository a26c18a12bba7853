package score

import (
	"math"
	"math/bits"
)

// tenThousandth is the number of billionths in 1/10,000, the step to which Stake and Spread round
// probabilities.
const tenThousandth = nanoScale / pointScale

// MinDisagreement is the least |p − q| that counts as a disagreement with the market.
const MinDisagreement = 0.03

// Disagrees reports whether confidence p is at least MinDisagreement away from baseline q, both rounded to nine decimals.
func Disagrees(p, q float64) bool {
	return math.Abs(math.Round((p-q)*nanoScale)) >= MinDisagreement*nanoScale
}

// Stake returns the points that confidence p risks by disagreeing with baseline q:
//
//	a = 100 · (p − q)²
//
// It lies in 0..100 points. p and q, in 0..1, are rounded to four decimals first.
//
// The stake is the part of the edge without luck, because Edge = 200 · (p − q)(y − q) − a. If a
// share b of the disagreement is right, so that y is q + b · (p − q) on average, the expected edge
// is (2b − 1) · a.
func Stake(p, q float64) Points {
	d := distance(p, q)
	return Points(divideRounding(d*d, 100))
}

// Spread returns the standard deviation of the edge of confidence p against baseline q, if the true
// probability m lies half way between them:
//
//	u = 200 · |p − q| · √(m(1 − m)) with m = (p + q)/2
//
// It lies in 0..100 points. p and q, in 0..1, are rounded to four decimals first. The root is taken
// in integers, so that the result is the same on every machine.
func Spread(p, q float64) Points {
	d, m := distance(p, q), steps(p)+steps(q)
	// With d and m in ten-thousandths, u is d·√(m(20000 − m))/100 Points. Twice that, rounded down,
	// is enough to round u.
	twice := squareRoot(uint64(d * d * m * (2*pointScale - m) / 2500))
	return Points((twice + 1) / 2)
}

// steps returns a probability as an integer of ten-thousandths, halves rounded up.
func steps(p float64) int64 { return divideRounding(nano(p), tenThousandth) }

// distance returns |p − q| in ten-thousandths.
func distance(p, q float64) int64 {
	d := steps(p) - steps(q)
	return max(d, -d)
}

// squareRoot returns √x rounded down. It uses Newton's method from above.
func squareRoot(x uint64) int64 {
	if x == 0 {
		return 0
	}
	r := uint64(1) << ((bits.Len64(x) + 1) / 2)
	for {
		next := (r + x/r) / 2
		if next >= r {
			return int64(r)
		}
		r = next
	}
}
