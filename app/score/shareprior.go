package score

import (
	"cmp"
	"math"
	"slices"
)

// The grid and the bounds of EstimateSharePrior. It tries τ = k/20 for k in 2..30, which is .10 to
// 1.50.
const (
	tauSteps      = 20
	tauFirst      = 2
	tauLast       = 30
	shareMuMin    = 0
	shareMuMax    = 0.5
	shareTauMin   = 0.5
	shareTauMax   = 1
	shareAgentMin = 20
)

// share is the observed share x of one agent's disagreement that was right, and the variance e² of
// that observation.
type share struct{ x, variance float64 }

// EstimateSharePrior estimates the prior by maximum likelihood from the ranked agents of the main
// board. It leaves out agents without a stake, and returns DefaultSharePrior if fewer than 20 are
// left. The order of the agents doesn't matter.
//
// For each agent, x = (S + A)/(2A) is the observed share of its disagreement that was right, and e²
// = v · n/(2A)² is the variance of x, with v as in Posterior. For each τ of .10, .15 … 1.50, let w
// = 1/(τ² + e²) and μ the mean of x weighted by w. The estimate is the τ with the highest
// log-likelihood
//
//	½Σ ln w − ½Σ w(x − μ)²
//
// and its μ. On a tie it is the lowest τ. Then μ is clipped to 0..½ and τ to ½..1. With these
// limits, fake accounts can only lower best guesses or widen ranges.
func EstimateSharePrior(ranked []Sums) SharePrior {
	shares := make([]share, 0, len(ranked))
	for _, s := range ranked {
		if s.disagrees() {
			twice := 2 * s.A.Float()
			x := (s.S.Float() + s.A.Float()) / twice
			shares = append(shares, share{x, s.rangeVariance() * float64(s.N) / (twice * twice)})
		}
	}
	if len(shares) < shareAgentMin {
		return DefaultSharePrior
	}
	slices.SortFunc(shares, func(a, b share) int {
		return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.variance, b.variance))
	})
	var best SharePrior
	likeliest := math.Inf(-1)
	for k := tauFirst; k <= tauLast; k++ {
		tau := float64(k) / tauSteps
		if mu, likelihood := fitShare(shares, tau); likelihood > likeliest {
			best, likeliest = SharePrior{Mu: mu, Tau: tau}, likelihood
		}
	}
	return SharePrior{
		Mu:  min(max(best.Mu, shareMuMin), shareMuMax),
		Tau: min(max(best.Tau, shareTauMin), shareTauMax),
	}
}

// fitShare returns the likeliest μ for a τ, and the log-likelihood of the two.
func fitShare(shares []share, tau float64) (mu, likelihood float64) {
	var weights, sum float64
	for _, s := range shares {
		w := 1 / (tau*tau + s.variance)
		weights += w
		sum += w * s.x
	}
	mu = sum / weights
	for _, s := range shares {
		w, d := 1/(tau*tau+s.variance), s.x-mu
		likelihood += (math.Log(w) - w*d*d) / 2
	}
	return mu, likelihood
}
