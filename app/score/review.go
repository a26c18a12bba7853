package score

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A review looks for what an agent could do better. It splits the settled predictions by
// category, by horizon and by distance from the market, and asks what moving them towards
// the market would have earned. With so many questions some answers stand out by chance
// alone, so a verdict needs more than a 95 % interval:
//
//   - ReviewMinEvents events that close on ReviewMinDays different days, so that the normal
//     approximation holds and no single day decides;
//   - an interval that excludes zero at the level 1 − ReviewError/m for m comparisons
//     (Bonferroni's inequality; Dunn 1961, "Multiple comparisons among means").
//
// So at most ReviewError of the agents with no effect anywhere get a false verdict on one
// look. Looking each day is many looks: Odds, not a review, prove an edge.
const (
	ReviewMinEvents = 20
	ReviewMinDays   = 10
	ReviewError     = 0.05
)

// ReviewMoves are the shares of the way to the market that a review tries.
var ReviewMoves = []float64{0.1, 0.3, 0.5}

// Settled is a settled prediction with a baseline, as a review reads it.
type Settled struct {
	P, Q, Y float64
	// Bounds are what P was clamped to, which gave Q.
	Bounds Bounds
	Index  int // of the weight
	// Previous is the place in the list of the agent's own prediction before on the same
	// market and outcome, before this one's; −1 if it isn't in the list.
	Previous int
	Event    string
	Category string
	Day      string // on which its event counts
	// Horizon is the time from publication to the scheduled close; below zero without one.
	Horizon time.Duration
}

// Slice is a part of an agent's settled predictions.
type Slice struct {
	// Category is the name of a category. Low and High bound a horizon in hours or a distance
	// as a probability, High excluded. High is +Inf in the last, and both are for predictions
	// without a scheduled close.
	Category    string
	Low, High   float64
	Predictions int
	Days        int // different days on which their events count
	// Sums holds the clusters of these predictions only: an event that has some in several
	// slices counts in each, with a part of its points.
	Sums Sums
	// Verdict is the sign of the mean if the counts support one, else 0.
	Verdict int
}

// Move is what moving every confidence by a share of its distance towards the market would
// have earned.
type Move struct {
	Share float64
	// Slice is that of the moved predictions, but its verdict is on the gain.
	Slice
	// Gain holds what each event would have earned more.
	Gain Sums
}

// Review is what NewReview finds.
type Review struct {
	All         Slice
	Categories  []Slice // the one with most events first
	Horizons    []Slice // the shortest first
	Distances   []Slice // the nearest first
	Moves       []Move
	Comparisons int // how many slices and moves had the counts for a verdict
}

// The lower bounds of the horizons in hours and of the distances.
var (
	reviewHorizons  = []float64{0, 24, 7 * 24, 30 * 24, 90 * 24}
	reviewDistances = []float64{0, MinDisagreement, 0.10, 0.20}
)

// NewReview reviews an agent's settled predictions, in order of publication. Slices without a
// prediction are left out.
func NewReview(list []Settled) Review {
	own := make([]eventBet, len(list))
	for i, s := range list {
		own[i] = s.bet(Bet(s.P, s.Q, s.Y, s.Index))
	}
	r := Review{All: newSlice(own)}
	r.Categories = slicesBy(list, own, func(s *Settled) Slice { return Slice{Category: s.Category} })
	slices.SortStableFunc(r.Categories, func(a, b Slice) int { return cmp.Compare(b.Sums.N, a.Sums.N) })
	r.Horizons = slicesBy(list, own, func(s *Settled) Slice { return horizonSlice(s.Horizon) })
	r.Distances = slicesBy(list, own, func(s *Settled) Slice { return between(reviewDistances, float64(distance(s.P, s.Q))/pointScale) })
	for _, share := range ReviewMoves {
		r.Moves = append(r.Moves, newMove(list, own, share))
	}
	r.judge()
	return r
}

// judge counts the comparisons and gives the verdicts.
func (r *Review) judge() {
	parts := []*Slice{&r.All}
	for _, group := range [][]Slice{r.Categories, r.Horizons, r.Distances} {
		for i := range group {
			parts = append(parts, &group[i])
		}
	}
	parts = slices.DeleteFunc(parts, func(s *Slice) bool { return !s.supports(s.Sums) })
	var moves []*Move
	for i := range r.Moves {
		if m := &r.Moves[i]; m.supports(m.Gain) {
			moves = append(moves, m)
		}
	}
	r.Comparisons = len(parts) + len(moves)
	for _, s := range parts {
		s.Verdict = s.Sums.sign(r.Comparisons)
	}
	for _, m := range moves {
		m.Verdict = m.Gain.sign(r.Comparisons)
	}
}

// supports reports whether the counts are enough for a verdict on sums.
func (s *Slice) supports(sums Sums) bool {
	return sums.N >= ReviewMinEvents && s.Days >= ReviewMinDays && sums.disagrees()
}

// sign is the sign of the mean if its interval excludes zero after so many comparisons.
func (s Sums) sign(comparisons int) int {
	low, high, ok := s.interval(math.Sqrt2 * math.Erfinv(1-ReviewError/float64(comparisons)))
	switch {
	case ok && low > 0:
		return 1
	case ok && high < 0:
		return -1
	}
	return 0
}

// Interval is the 95 % interval of the true mean per event: S/n ± 1.96·√(v/n), with v the
// variance of one cluster as for the range of the ranking, pooled with the model's and
// inflated by the day blocks. Unlike that range it has no prior. The model's variance is
// exact for an agent without an effect: its mean is zero if the truth lies half way between
// p and q, which is what Spread assumes. It reports false without an event or any stake.
func (s Sums) Interval() (low, high float64, ok bool) { return s.interval(z95) }

func (s Sums) interval(z float64) (low, high float64, ok bool) {
	if !s.disagrees() {
		return 0, 0, false
	}
	half := z * math.Sqrt(s.rangeVariance()/float64(s.N))
	return s.Mean() - half, s.Mean() + half, true
}

func horizonSlice(horizon time.Duration) Slice {
	if horizon < 0 {
		return Slice{Low: math.Inf(1), High: math.Inf(1)}
	}
	return between(reviewHorizons, horizon.Hours())
}

// between finds the slice of a value, which is at least the first lower bound.
func between(lows []float64, value float64) Slice {
	for i := len(lows) - 1; i > 0; i-- {
		if value < lows[i] {
			continue
		}
		if i == len(lows)-1 {
			return Slice{Low: lows[i], High: math.Inf(1)}
		}
		return Slice{Low: lows[i], High: lows[i+1]}
	}
	return Slice{Low: lows[0], High: lows[1]}
}

// eventBet is what a prediction adds to its event.
type eventBet struct {
	event, day string
	Cluster
}

func (s *Settled) bet(c Cluster) eventBet { return eventBet{s.Event, s.Day, c} }

// slicesBy sums predictions up by the slice that they belong to, in order of Category and Low.
func slicesBy(list []Settled, bets []eventBet, of func(*Settled) Slice) []Slice {
	type key struct {
		category  string
		low, high float64
	}
	parts := map[key][]eventBet{}
	for i := range list {
		s := of(&list[i])
		k := key{s.Category, s.Low, s.High}
		parts[k] = append(parts[k], bets[i])
	}
	out := make([]Slice, 0, len(parts))
	for k, part := range parts {
		s := newSlice(part)
		s.Category, s.Low, s.High = k.category, k.low, k.high
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Low, b.Low))
	})
	return out
}

func newSlice(bets []eventBet) Slice {
	sums, days := sumsOf(bets)
	return Slice{Predictions: len(bets), Days: days, Sums: sums}
}

// sumsOf adds bets up as the ranking does: to one cluster for each event, and those to blocks
// by day.
func sumsOf(bets []eventBet) (s Sums, days int) {
	clusters, dayOf := map[string]Cluster{}, map[string]string{}
	for _, b := range bets {
		clusters[b.event], dayOf[b.event] = clusters[b.event].Plus(b.Cluster), b.day
	}
	blocks := map[string]Tally{}
	for event, c := range clusters {
		s.Add(c)
		block := blocks[dayOf[event]]
		block.Add(c.C)
		blocks[dayOf[event]] = block
	}
	for _, block := range blocks {
		s.Days.Add(block.N, block.S)
	}
	return s, len(blocks)
}
