package score

import "math/bits"

// tenThousandth is how many billionths make one of the steps that Stake and Spread
// count probabilities in.
const tenThousandth = nanoScale / pointScale

// MinDisagreement is the least distance |p − q| that counts as a disagreement with the
// market.
const MinDisagreement = 0.03

// Stake is what a prediction of p held against q risks: a = 100 · (p − q)² in 0..100
// points. It is the part of the edge that luck doesn't touch: Edge is
// 200 · (p − q)(y − q) less the stake, so a disagreement that is right by a share b has
// an expected edge of (2b − 1) · a. p and q are rounded to four decimals first.
func Stake(p, q float64) Points {
	d := distance(p, q)
	return Points(divideRounding(d*d, 100))
}

// Spread is the standard deviation of the edge of a prediction of p held against q, if
// the truth lies half way between: u = 200 · |p − q| · √(m(1 − m)) with m = (p + q)/2, in
// 0..100 points. p and q are rounded to four decimals first. The root is taken in
// integers, so halves round away from zero on every machine.
func Spread(p, q float64) Points {
	d, m := distance(p, q), steps(p)+steps(q)
	// u in 1e-4 point is d·√(m(20000 − m))/100; twice that, rounded down, is enough to
	// round u.
	twice := squareRoot(uint64(d * d * m * (2*pointScale - m) / 2500))
	return Points((twice + 1) / 2)
}

// steps is a probability in ten-thousandths, halves rounded up.
func steps(p float64) int64 { return divideRounding(nano(p), tenThousandth) }

// distance is |p − q| in ten-thousandths.
func distance(p, q float64) int64 {
	d := steps(p) - steps(q)
	return max(d, -d)
}

// squareRoot is √x rounded down, by Newton's method from above.
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
