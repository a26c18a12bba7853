package score

import (
	"math"
	"math/big"
	"sort"
)

const (
	// ProvenOdds are the least odds at which an agent counts as proven.
	ProvenOdds = 20
	// OddsMax is the most that is published; odds beyond it are cut to it.
	OddsMax = 1_000_000
	// ChanceProven is the share of agents without an edge that reach ProvenOdds on any
	// of 600 daily looks in the simulation.
	ChanceProven = 0.017
)

// Odds are the odds against having no edge: how many times likelier the record is for an
// agent that beats the market than for one that doesn't, in 0..1,000,000. With v the
// variance of one cluster, inflated by max(1, T/SS), and shrink = v/Ā²:
//
//	z = S/√(v · (n + shrink))
//	odds = 2 · √(shrink/(n + shrink)) · exp(z²/2) · Φ(z)
//
// They average over a half-normal range of edges, so they hold at every moment at once
// and looking daily doesn't inflate them (asymptotic confidence sequences, Waudby-Smith
// and others 2024). No nightly estimate goes into them. It reports false without
// settled events or without any stake.
func (s Sums) Odds() (float64, bool) {
	if !s.disagrees() {
		return 0, false
	}
	return mixtureOdds(s.Tally, s.oddsVariance(), s.stake()), true
}

// mixtureOdds compares a half-normal edge of that deviation with none, in logarithms.
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

// Proven reports whether odds are high enough to call an edge proven.
func Proven(odds float64) bool { return odds >= ProvenOdds }

// ProvenByChance is how many of that many ranked agents would be proven if none had an
// edge; see ChanceProven.
func ProvenByChance(ranked int) float64 { return ChanceProven * float64(ranked) }

// untilProvenMost is the most further events that EventsUntilProven answers with.
const untilProvenMost = 1_000_000

// EventsUntilProven is about how many more settled events make the agent proven, if they
// come out as those so far did on average: every sum grows in proportion. It is 0 for an
// agent that is proven, and reports false where no million events would do: without a
// stake, or with a mean that isn't above zero.
func (s Sums) EventsUntilProven() (events int, ok bool) {
	if !s.disagrees() {
		return 0, false
	}
	proven := func(more int) bool { return Proven(s.grown(int64(more))) }
	events = sort.Search(untilProvenMost+1, proven)
	return events, events <= untilProvenMost
}

// grown is Odds after so many more events at the same rate.
func (s Sums) grown(more int64) float64 {
	n := float64(s.N)
	growth := (n + float64(more)) / n
	model := float64(s.V) / (pointScale * pointScale) / n
	variance := max((modelClusters*model+s.Deviance()*growth)/(modelClusters-1+n*growth), varianceFloor)
	variance *= inflation(s.Days.T.Big(), big.NewInt(s.SS))
	t := Tally{N: s.N + more, S: Points(math.Round(float64(s.S) * growth))}
	return mixtureOdds(t, variance, s.stake())
}
