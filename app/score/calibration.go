package score

import "math"

// BinCount is the number of calibration bins: 0..0.1, 0.1..0.2, … 0.9..1.
const BinCount = 10

// z90 is the half-width of a 90 % interval in standard deviations.
const z90 = 1.6448536269514722

// BinSum adds up an agent's settled predictions in one calibration bin. Sums are in
// billionths, each term rounded separately, so settlements and reversals leave no trace
// in any order. Nine billion predictions fit.
type BinSum struct {
	Count int64
	// P and Y sum the confidences and the results.
	P, Y int64
	// YY sums the squared results; it differs from Y only where a market settled at
	// a fraction.
	YY int64
	// Brier sums the Brier scores.
	Brier int64
}

// BinOf is the index 0..9 of the bin that holds the confidence p: a boundary belongs
// to the bin above it, 1 to the last.
func BinOf(p float64) int {
	return int(min(max(nano(p)/(nanoScale/BinCount), 0), BinCount-1))
}

// Add counts a settled prediction of p with result y.
func (b *BinSum) Add(p, y float64) { *b = b.Plus(binTerm(p, y)) }

// Remove takes back a prediction that was added before.
func (b *BinSum) Remove(p, y float64) { *b = b.Minus(binTerm(p, y)) }

// Plus is the sum over two disjoint sets of predictions.
func (b BinSum) Plus(c BinSum) BinSum {
	return BinSum{b.Count + c.Count, b.P + c.P, b.Y + c.Y, b.YY + c.YY, b.Brier + c.Brier}
}

// Minus is the difference that leads from c to b.
func (b BinSum) Minus(c BinSum) BinSum {
	return BinSum{b.Count - c.Count, b.P - c.P, b.Y - c.Y, b.YY - c.YY, b.Brier - c.Brier}
}

func binTerm(p, y float64) BinSum {
	return BinSum{
		Count: 1, P: nano(p), Y: nano(y),
		YY:    divideRounding(brierNano(y, 0), nanoScale),
		Brier: divideRounding(brierNano(p, y), nanoScale),
	}
}

// Bin is one published calibration bin.
type Bin struct {
	// Low and High bound the confidences, as probabilities; the last bin includes 1.
	Low, High float64
	Count     int
	// MeanConfidence and ObservedRate are averages over the bin, 0 when it is empty.
	MeanConfidence, ObservedRate float64
	// BandLow and BandHigh are the 90 % Wilson band of the observed rate, 0..1 when
	// the bin is empty. A well calibrated agent's MeanConfidence lies inside nine
	// times out of ten.
	BandLow, BandHigh float64
}

// Bins turns sums into the published bins.
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

// Wilson is the 90 % score interval of a rate in 0..1 seen over count trials (Wilson
// 1927). A result may be a fraction: its variance is at most that of a coin with the
// same mean, so the band errs on the wide side. Without trials it is 0..1.
func Wilson(rate float64, count int) (low, high float64) {
	if count <= 0 {
		return 0, 1
	}
	n := float64(count)
	shrink := 1 + z90*z90/n
	centre := (rate + z90*z90/(2*n)) / shrink
	half := z90 / shrink * math.Sqrt(rate*(1-rate)/n+z90*z90/(4*n*n))
	// The band of 0 of n starts at 0 and that of n of n ends at 1, but for rounding.
	return max(min(centre-half, rate), 0), min(max(centre+half, rate), 1)
}

// CalibrationError is the count-weighted mean distance between confidence and
// observed rate over the bins, from 0 (perfect) to 1, 0 without predictions (the
// "expected calibration error" of Naeini et al. 2015).
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
