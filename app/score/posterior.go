package score

import "math"

// SharePrior is the prior distribution of b, the share of an agent's disagreement with the market
// that is right. The distribution is normal with mean Mu and standard deviation Tau. With b = 0,
// the agent has no skill and loses its stake. With b = ½, its expected edge is 0. With b = 1, its
// confidence is right on average.
type SharePrior struct {
	// Mu is μ, the mean. EstimateSharePrior keeps it in 0..½.
	Mu float64
	// Tau is τ, the standard deviation, above 0. EstimateSharePrior keeps it in ½..1.
	Tau float64
}

// InBounds reports whether μ is within 0..½ and τ within ½..1, as those of every estimate are.
func (p SharePrior) InBounds() bool {
	return shareMuMin <= p.Mu && p.Mu <= shareMuMax && shareTauMin <= p.Tau && p.Tau <= shareTauMax
}

// DefaultSharePrior is used until 20 ranked agents have a stake.
var DefaultSharePrior = SharePrior{Mu: 0.5, Tau: 0.5}

// Posterior is the distribution of an agent's true edge per event, given its settled events. It is
// normal. All fields are in points. Boards are ordered by Skill, not by the posterior.
type Posterior struct {
	// BestGuess is the mean.
	BestGuess float64
	// Deviation is the standard deviation, above 0.
	Deviation float64
	// Low and High are the ends of the 95 % range, BestGuess ± 1.96 · Deviation.
	Low, High float64
}

// Posterior returns the best guess and the 95 % range of the true edge per event, in points:
//
//	BestGuess = (S + shrink · (2μ − 1) · Ā)/(n + shrink)
//	Deviation = √(v/(n + shrink))
//
// Here v = v₀ · max(1, (T − 2gW + g²Q)/D) with g = S/n is the variance of one cluster, raised if
// days vary more than independent events; see Variance and Days. shrink = v/(2τĀ)² is the weight of
// the prior, in clusters.
//
// If a share b of an agent's disagreement is right, its true edge is (2b − 1) · Ā. So the mean of
// the prior is (2μ − 1) · Ā, its standard deviation is 2τĀ, and the true edge of an agent without
// skill is −Ā.
//
// This is the posterior of a normal mean under a normal prior (Morris 1983). The pooled variance
// follows Armstrong, Kolesár and Plagborg-Møller 2022. Posterior returns false without settled
// events or without any stake, as for an agent that only copies the market.
func (s Sums) Posterior(prior SharePrior) (Posterior, bool) {
	if !s.disagrees() {
		return Posterior{}, false
	}
	stake := s.stake()
	return newPosterior(s.Tally, s.rangeVariance(), (2*prior.Mu-1)*stake, 2*prior.Tau*stake), true
}

// PosteriorOf returns the posterior with the given best guess and range, in points, as a board
// stores them.
func PosteriorOf(bestGuess, low, high float64) Posterior {
	return Posterior{BestGuess: bestGuess, Deviation: (high - low) / (2 * z95), Low: low, High: high}
}

// newPosterior returns the posterior of a normal prior with the given mean and deviation, after t.N
// observations with the given variance and the sum t.S.
func newPosterior(t Tally, variance, mean, deviation float64) Posterior {
	shrink := variance / (deviation * deviation)
	weight := float64(t.N) + shrink
	p := Posterior{
		BestGuess: (t.S.Float() + shrink*mean) / weight,
		Deviation: math.Sqrt(variance / weight),
	}
	p.Low, p.High = p.BestGuess-z95*p.Deviation, p.BestGuess+z95*p.Deviation
	return p
}
