package score

// Murphy splits a mean Brier score into its causes (Murphy 1973):
// Reliability − Resolution + Uncertainty = Brier, exactly, up to the rounding of the
// floats. All are in 0..1 except Resolution, which is negative for an agent whose
// predictions sort outcomes worse than a constant would.
type Murphy struct {
	// Reliability is the mean squared gap between confidence and observed rate over
	// the ten bins; 0 is perfect calibration.
	Reliability float64
	// Resolution is how far the predictions tell the cases apart; more is better.
	Resolution float64
	// Uncertainty is the variance of the results: how hard the questions were.
	Uncertainty float64
	// Brier is the mean Brier score.
	Brier float64
}

// Decompose computes Murphy's decomposition from the ten calibration bins.
//
// Murphy's identity holds for groups of equal confidence. In bins of unequal ones a
// remainder is left: the variance of the confidences within bins less twice their
// covariance with the results. It is counted as resolution, because it is information
// beyond the bin: the generalized resolution of Stephenson, Coelho
// and Jolliffe 2008 ("Two extra components in the Brier score decomposition"). With
// one confidence per bin it is Murphy's resolution.
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
