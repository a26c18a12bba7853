package score

import "math"

// Pair compares two agents, A and B, on the events that both forecast: the only place
// where a difference can't come from the choice of questions.
type Pair struct {
	// Difference holds A's clusters less B's.
	Difference Tally
	// StakeA and StakeB sum the agents' stakes over the shared events.
	StakeA, StakeB Points
	// V is the sum of the squares of both agents' spreads in 1e-8 point².
	V int64
	// Days holds the day blocks of the differences.
	Days Days
}

// Add counts one more event that both forecast; Days is counted apart.
func (p *Pair) Add(a, b Cluster) {
	p.Difference.Add(a.C - b.C)
	p.StakeA += a.A
	p.StakeB += b.A
	p.V += int64(a.U)*int64(a.U) + int64(b.U)*int64(b.U)
}

// sums holds the differences as if one agent had earned them, for their variances.
func (p Pair) sums() Sums { return Sums{Tally: p.Difference, V: p.V, Days: p.Days} }

// stakes are the agents' mean stakes per shared event in points. It reports false where
// neither staked anything.
func (p Pair) stakes() (a, b float64, ok bool) {
	if p.Difference.N <= 0 || p.StakeA+p.StakeB <= 0 {
		return 0, 0, false
	}
	n := float64(p.Difference.N)
	return p.StakeA.Float() / n, p.StakeB.Float() / n, true
}

// Posterior estimates A's true edge per shared event less B's, with its 95 % range. It
// is Sums.Posterior of the paired differences: the shares of both agents that are right
// are independent under the prior, so the difference of their edges has the mean
// (2μ − 1)(Ā − B̄) and the variance (2τ)²(Ā² + B̄²) beforehand. It reports false without a
// shared event or without any stake.
func (p Pair) Posterior(prior SharePrior) (Posterior, bool) {
	a, b, ok := p.stakes()
	if !ok {
		return Posterior{}, false
	}
	deviation := 2 * prior.Tau * max(math.Hypot(a, b), 1/float64(pointScale))
	return newPosterior(p.Difference, p.sums().rangeVariance(), (2*prior.Mu-1)*(a-b), deviation), true
}

// Odds are the odds that A has the higher edge on such events, against neither having
// it, in 0..1,000,000: Sums.Odds of the paired differences with √(Ā² + B̄²) for the stake.
// It reports false without a shared event or without any stake.
func (p Pair) Odds() (float64, bool) {
	a, b, ok := p.stakes()
	if !ok {
		return 0, false
	}
	deviation := max(math.Hypot(a, b), 1/float64(pointScale))
	return mixtureOdds(p.Difference, p.sums().oddsVariance(), deviation), true
}
