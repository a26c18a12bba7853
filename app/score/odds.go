package score

import (
	"math"
	"sort"
)

const (
	// ProvenOdds are the least odds with which an agent counts as proven.
	ProvenOdds = 20
	// OddsMax is the upper limit of published odds. Higher odds are cut to it.
	OddsMax = 1_000_000
	// ChanceProven is the share of simulated agents without an edge that reach ProvenOdds on at
	// least one of 600 daily looks, with one event a day. With more events a day the share is
	// smaller; see docs/simulation.md.
	ChanceProven = 0.021
)

// Odds returns the odds against having no edge, in 0..1,000,000. They say how many times likelier
// the record is for an agent that beats the market than for one that doesn't:
//
//	z = S/√(v · (n + shrink))
//	odds = 2 · √(shrink/(n + shrink)) · exp(z²/2) · Φ(z)
//
// Here v = v₀ · max(1, T/SS) is the variance of one cluster, raised if days vary more than
// independent events; see Variance and Days. shrink is v/Ā².
//
// The odds average over a half-normal distribution of edges. So while events are only added, they hold
// at all moments together, and daily looks don't inflate them (asymptotic confidence sequences,
// Waudby-Smith and others 2024). On the board of a shorter window, which forgets events, they do. They don't depend on the priors, which are estimated each night. Odds returns false
// without settled events or without any stake.
func (s Sums) Odds() (float64, bool) {
	if !s.disagrees() {
		return 0, false
	}
	return mixtureOdds(s.Tally, s.oddsVariance(1), s.stake()), true
}

// mixtureOdds returns the odds of a half-normal edge with the given deviation against no edge. It
// computes in logarithms, so that nothing overflows.
func mixtureOdds(t Tally, variance, deviation float64) float64 {
	shrink := variance / (deviation * deviation)
	weight := float64(t.N) + shrink
	z := t.S.Float() / math.Sqrt(variance*weight)
	log := math.Ln2 + math.Log(shrink/weight)/2 + logNormalScaled(z)
	if log >= math.Log(OddsMax) {
		return OddsMax
	}
	return math.Exp(log)
}

// Proven reports whether odds are at least ProvenOdds.
func Proven(odds float64) bool { return odds >= ProvenOdds }

// ProvenByChance returns the expected number of proven agents among ranked agents if none of them
// had an edge; see ChanceProven.
func ProvenByChance(ranked int) float64 { return ChanceProven * float64(ranked) }

// untilProvenMost is the highest number that EventsUntilProven returns.
const untilProvenMost = 1_000_000

// EventsUntilProven estimates how many more settled events make the agent proven if they come out
// as the past ones did on average. It lets every sum grow in proportion. It returns 0 for an agent
// that is proven. It returns false if a million events wouldn't suffice, as for an agent without a
// stake or with a mean that isn't above zero.
func (s Sums) EventsUntilProven() (events int, ok bool) {
	if !s.disagrees() {
		return 0, false
	}
	proven := func(more int) bool { return Proven(s.grown(int64(more))) }
	events = sort.Search(untilProvenMost+1, proven)
	return events, events <= untilProvenMost
}

// grown returns the Odds after more events at the same rate.
func (s Sums) grown(more int64) float64 {
	n := float64(s.N)
	growth := (n + float64(more)) / n
	t := Tally{N: s.N + more, S: Points(math.Round(float64(s.S) * growth))}
	return mixtureOdds(t, s.oddsVariance(growth), s.stake())
}
