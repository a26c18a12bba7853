package score

// Murphy splits a mean Brier score into parts (Murphy 1973):
//
//	Brier = Reliability − Resolution + Uncertainty
//
// This holds exactly, except for the rounding of floats. All parts are in 0..1, except that
// Resolution is negative for an agent whose predictions separate the outcomes worse than a constant
// would.
type Murphy struct {
	// Reliability is the mean squared distance between mean confidence and observed rate over the
	// ten bins, weighted by count. 0 is perfect calibration.
	Reliability float64
	// Resolution says how well the predictions separate the cases that happen from the others.
	// Higher is better.
	Resolution float64
	// Uncertainty is the variance of the results. It says how hard the questions were.
	Uncertainty float64
	// Brier is the mean Brier score.
	Brier float64
}

// Decompose returns Murphy's decomposition for the ten calibration bins. Without predictions it
// returns zeros.
//
// Murphy's identity holds for groups of equal confidences. If the confidences in a bin differ, a
// remainder is left: their variance within the bin, minus twice their covariance with the results.
// Decompose counts it as resolution, because it is information beyond the bin. This is the
// generalized resolution of Stephenson, Coelho and Jolliffe 2008, "Two extra components in the
// Brier score decomposition". With one confidence per bin it equals Murphy's resolution.
func Decompose(sums [BinCount]BinSum) Murphy {
	var all BinSum
	var gap2 float64
	for _, s := range sums {
		all = all.Plus(s)
		if s.Count > 0 {
			gap := perPrediction(s.P-s.Y, s.Count)
			gap2 += float64(s.Count) * gap * gap
		}
	}
	if all.Count <= 0 {
		return Murphy{}
	}
	rate := perPrediction(all.Y, all.Count)
	m := Murphy{
		Reliability: gap2 / float64(all.Count),
		Uncertainty: max(perPrediction(all.YY, all.Count)-rate*rate, 0),
		Brier:       perPrediction(all.Brier, all.Count),
	}
	m.Resolution = m.Reliability + m.Uncertainty - m.Brier
	return m
}
