package score

import "math"

// SharePrior is what is believed of an agent before its first event: the share b of its
// disagreement with the market that is right is normal with mean Mu and deviation Tau.
// Half is no edge before the stake is paid, 1 is an agent that is right throughout.
type SharePrior struct {
	// Mu is in 0..½ as estimated.
	Mu float64
	// Tau is in ½..1 as estimated.
	Tau float64
}

// DefaultSharePrior holds while fewer than 20 agents are ranked.
var DefaultSharePrior = SharePrior{Mu: 0.5, Tau: 0.5}

// Posterior is what is believed of an agent's true edge per event after its settled
// events, in points: a normal distribution. It doesn't order the board, Skill does.
type Posterior struct {
	// BestGuess is its mean.
	BestGuess float64
	// Deviation is its standard deviation, above zero.
	Deviation float64
	// Low and High bound the 95 % range, BestGuess ± 1.96 · Deviation.
	Low, High float64
}

// Posterior estimates the true edge per event. If a share b of an agent's disagreement
// is right, that edge is (2b − 1) · Ā with Ā its mean stake, so the prior's spread is
// proportional to Ā and an agent without skill sits at −Ā. With v the variance of one
// cluster, inflated by the day blocks, and shrink = v/(2τĀ)² clusters' worth of prior:
//
//	BestGuess = (S + shrink · (2μ − 1) · Ā)/(n + shrink)
//	Deviation = √(v/(n + shrink))
//
// This is the posterior of a normal mean under a normal prior (Morris 1983); the pooled
// variance follows Armstrong, Kolesár and Plagborg-Møller 2022. It reports false without
// settled events or without any stake: such an agent has only copied the market.
func (s Sums) Posterior(prior SharePrior) (Posterior, bool) {
	if !s.disagrees() {
		return Posterior{}, false
	}
	stake := s.stake()
	return newPosterior(s.Tally, s.rangeVariance(), (2*prior.Mu-1)*stake, 2*prior.Tau*stake), true
}

// newPosterior updates a normal prior with n observations of that variance and sum S.
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
