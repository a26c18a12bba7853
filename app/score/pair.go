package score

import "math"

// Pair compares two agents, A and B, on the settled events that both forecast. On these, a
// difference can't come from the choice of questions.
type Pair struct {
	// Difference sums up A's cluster minus B's for each shared event.
	Difference Tally
	// StakeA and StakeB are the sums of the agents' stakes over the shared events.
	StakeA, StakeB Points
	// V is the sum of both agents' squared spreads in units of 1e-8 point².
	V int64
	// Days holds the differences added up by day.
	Days Days
}

// AddDay adds the shared events of one day: A's clusters minus B's, and what the day adds to
// StakeA, StakeB and V.
func (p *Pair) AddDay(difference Tally, stakeA, stakeB Points, v int64) {
	p.Difference = p.Difference.Plus(difference)
	p.StakeA += stakeA
	p.StakeB += stakeB
	p.V += v
	p.Days.Add(difference.N, difference.S)
}

// sums returns the differences as the sums of one agent, to compute their variances.
func (p Pair) sums() Sums { return Sums{Tally: p.Difference, V: p.V, Days: p.Days} }

// Swapped returns the comparison of B with A.
func (p Pair) Swapped() Pair {
	p.Difference.S, p.Days.W = -p.Difference.S, -p.Days.W
	p.StakeA, p.StakeB = p.StakeB, p.StakeA
	return p
}

// stakes returns the agents' mean stakes per shared event, in points. It returns false if neither
// agent has a stake.
func (p Pair) stakes() (a, b float64, ok bool) {
	if p.Difference.N <= 0 || p.StakeA+p.StakeB <= 0 {
		return 0, 0, false
	}
	n := float64(p.Difference.N)
	return p.StakeA.Float() / n, p.StakeB.Float() / n, true
}

// Posterior returns the best guess and the 95 % range of A's true edge per shared event minus B's,
// in points. It returns false without a shared event or without any stake.
//
// It is computed like Sums.Posterior, from the differences. In the prior, the shares of
// disagreement that are right are independent for the two agents. So the prior difference of their
// edges has the mean (2μ − 1)(Ā − B̄) and the variance (2τ)²(Ā² + B̄²), where Ā and B̄ are the mean
// stakes of A and B.
func (p Pair) Posterior(prior SharePrior) (Posterior, bool) {
	a, b, ok := p.stakes()
	if !ok {
		return Posterior{}, false
	}
	deviation := 2 * prior.Tau * max(math.Hypot(a, b), 1/float64(pointScale))
	return newPosterior(p.Difference, p.sums().rangeVariance(), (2*prior.Mu-1)*(a-b), deviation), true
}

// Odds returns the odds that A has a higher edge than B on such events, against equal edges, in
// 0..1,000,000. It is computed like Sums.Odds, from the differences, with √(Ā² + B̄²) in place of
// the mean stake. It returns false without a shared event or without any stake.
func (p Pair) Odds() (float64, bool) {
	a, b, ok := p.stakes()
	if !ok {
		return 0, false
	}
	deviation := max(math.Hypot(a, b), 1/float64(pointScale))
	return mixtureOdds(p.Difference, p.sums().oddsVariance(1), deviation), true
}
