package score

import "math"

// BinCount is the number of calibration bins: 0..0.1, 0.1..0.2, … 0.9..1.
const BinCount = 10

// z90 is the half-width of a 90 % interval in standard deviations.
const z90 = 1.6448536269514722

// BinSum adds up an agent's settled predictions in one calibration bin. Sums are in billionths.
// Each term is rounded before it is added, so the sums don't depend on the order of settlements and
// reversals. Nine billion predictions fit.
type BinSum struct {
	Count int64
	// P and Y are the sums of the confidences and of the results.
	P, Y int64
	// YY is the sum of the squared results. It differs from Y only if a market settled at a
	// fraction.
	YY int64
	// Brier is the sum of the Brier scores.
	Brier int64
}

// BinOf returns the index 0..9 of the bin that holds confidence p. A boundary belongs to the bin
// above it, and 1 to the last bin.
func BinOf(p float64) int {
	return int(min(max(nano(p)/(nanoScale/BinCount), 0), BinCount-1))
}

// Add adds a settled prediction with confidence p and result y.
func (b *BinSum) Add(p, y float64) {
	*b = b.Plus(BinSum{
		Count: 1, P: nano(p), Y: nano(y),
		YY:    divideRounding(brierNano(y, 0), nanoScale),
		Brier: divideRounding(brierNano(p, y), nanoScale),
	})
}

// Plus returns the sum over two disjoint sets of predictions.
func (b BinSum) Plus(c BinSum) BinSum {
	return BinSum{b.Count + c.Count, b.P + c.P, b.Y + c.Y, b.YY + c.YY, b.Brier + c.Brier}
}

// Bin is one published calibration bin.
type Bin struct {
	// Low and High are the bounds of the confidences, 0..1. High is excluded, except in the last
	// bin.
	Low, High float64
	Count     int
	// MeanConfidence and ObservedRate are the means of the confidences and of the results, 0..1.
	// Both are 0 if the bin is empty.
	MeanConfidence, ObservedRate float64
	// BandLow and BandHigh are the ends of the 90 % Wilson band of ObservedRate, and 0 and 1 if the
	// bin is empty. The MeanConfidence of a well calibrated agent lies inside the band nine times
	// out of ten.
	BandLow, BandHigh float64
}

// Bins returns the published bins for sums.
func Bins(sums [BinCount]BinSum) [BinCount]Bin {
	var bins [BinCount]Bin
	for i, s := range sums {
		b := Bin{Low: float64(i) / BinCount, High: float64(i+1) / BinCount, BandHigh: 1}
		if s.Count > 0 {
			b.Count = int(s.Count)
			b.MeanConfidence = perPrediction(s.P, s.Count)
			b.ObservedRate = perPrediction(s.Y, s.Count)
			b.BandLow, b.BandHigh = Wilson(b.ObservedRate, b.Count)
		}
		bins[i] = b
	}
	return bins
}

func perPrediction(sum, count int64) float64 { return float64(sum) / nanoScale / float64(count) }

// Wilson returns the 90 % score interval of a rate in 0..1 that was observed over count trials
// (Wilson 1927). Without trials it returns 0 and 1. If results are fractions, their variance is at
// most that of 0-or-1 results with the same mean, so the interval is never too narrow for this
// reason.
func Wilson(rate float64, count int) (low, high float64) {
	if count <= 0 {
		return 0, 1
	}
	n := float64(count)
	shrink := 1 + z90*z90/n
	centre := (rate + z90*z90/(2*n)) / shrink
	half := z90 / shrink * math.Sqrt(rate*(1-rate)/n+z90*z90/(4*n*n))
	// Rounding must not move the end at 0 for a rate of 0, or the end at 1 for a rate of 1.
	return max(min(centre-half, rate), 0), min(max(centre+half, rate), 1)
}

// CalibrationError returns the mean distance between mean confidence and observed rate over the
// bins, weighted by count, from 0 (perfect) to 1. It is the "expected calibration error" of Naeini
// et al. 2015. Without predictions it is 0.
func CalibrationError(sums [BinCount]BinSum) float64 {
	var gap, count int64
	for _, s := range sums {
		d := s.P - s.Y
		gap += max(d, -d)
		count += s.Count
	}
	if count <= 0 {
		return 0
	}
	return perPrediction(gap, count)
}
