package score

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// A review splits an agent's settled predictions by category, by horizon and by distance from
// the market, and computes what moving them towards the market would have earned. Among so
// many questions, some answers stand out by chance. So a verdict needs:
//
//   - ReviewMinEvents events that close on ReviewMinDays different days, so that the normal
//     approximation holds and no single day decides;
//   - an interval that excludes zero at the level 1 − ReviewError/m, where m is the number of
//     comparisons (Bonferroni's inequality; Dunn 1961, "Multiple comparisons among means").
//
// So among agents without any effect, at most a share of ReviewError gets a false verdict in
// one review. This doesn't hold for repeated reviews: an edge is proven by Odds, not by a
// review.
const (
	ReviewMinEvents = 20
	ReviewMinDays   = 10
	ReviewError     = 0.05
)

// ReviewMoves are the shares of the way to the market that a review tries.
var ReviewMoves = []float64{0.1, 0.3, 0.5}

// Settled is a settled prediction with a baseline, for NewReview.
type Settled struct {
	P, Q, Y float64 // confidence, baseline and result, 0..1
	// Bounds are the bounds that P was clamped to, which gave Q.
	Bounds Bounds
	Index  int // index of the prediction on its event, from 0; see Weight
	// Previous is the index in the list of the prediction that gave Bounds.Previous. It is −1 if that
	// isn't in the list. Opposite says that it is on the other one of two outcomes.
	Previous int
	Opposite bool
	Event    string
	Category string
	Day      string // the day on which the event counts, "2026-11-21"
	// Horizon is the time from publication to the scheduled close. It is negative without a
	// scheduled close.
	Horizon time.Duration
}

// Slice is a part of an agent's settled predictions.
type Slice struct {
	// Category is the category of a slice by category, else "". Low and High are the bounds of a
	// slice by horizon, in hours, or by distance |p − q|. High is excluded. It is +Inf in the last
	// slice. Both are +Inf in the slice of predictions without a scheduled close.
	Category    string
	Low, High   float64
	Predictions int
	Days        int // number of different days on which their events count
	// Sums adds up the clusters of the slice's predictions. An event with predictions in several
	// slices counts in each of them, with the points of the predictions there.
	Sums Sums
	// Verdict is 1 if the slice is better than the market, −1 if it is worse, and 0 if the counts
	// support neither.
	Verdict int
}

// Move says what an agent would have earned if every confidence had been moved towards the market
// by a share of the distance.
type Move struct {
	Share float64 // 0..1
	// Slice holds the moved predictions. Its verdict is about Gain.
	Slice
	// Gain adds up, over the events, the points that the moved predictions would have earned beyond
	// the original ones.
	Gain Sums
}

// Review says where an agent wins and loses against the market; see NewReview.
type Review struct {
	All         Slice
	Categories  []Slice // the one with most events first
	Horizons    []Slice // the shortest first
	Distances   []Slice // the smallest first
	Moves       []Move
	Comparisons int // number of slices and moves with enough events and days for a verdict
}

// These are the lower bounds of the slices, by horizon in hours and by distance.
var (
	reviewHorizons  = []float64{0, 24, 7 * 24, 30 * 24, 90 * 24}
	reviewDistances = []float64{0, MinDisagreement, 0.10, 0.20}
)

// NewReview reviews an agent's settled predictions, which must be in order of publication. It
// leaves out slices without predictions.
func NewReview(list []Settled) Review {
	sheet := newSheet(list)
	own := make([]eventBet, len(list))
	for i := range list {
		s := &list[i]
		own[i] = sheet.bet(i, Bet(s.P, s.Q, s.Y, s.Index))
	}
	r := Review{All: sheet.slice(own)}
	r.Categories = sheet.slicesBy(own, func(s *Settled) Slice { return Slice{Category: s.Category} })
	slices.SortStableFunc(r.Categories, func(a, b Slice) int { return cmp.Compare(b.Sums.N, a.Sums.N) })
	r.Horizons = sheet.slicesBy(own, func(s *Settled) Slice { return horizonSlice(s.Horizon) })
	r.Distances = sheet.slicesBy(own, func(s *Settled) Slice { return between(reviewDistances, float64(distance(s.P, s.Q))/pointScale) })
	for _, share := range ReviewMoves {
		r.Moves = append(r.Moves, sheet.move(own, share))
	}
	r.judge()
	return r
}

// judge counts the comparisons and sets the verdicts.
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

// supports reports whether sums has enough events and days for a verdict.
func (s *Slice) supports(sums Sums) bool {
	return sums.N >= ReviewMinEvents && s.Days >= ReviewMinDays && sums.disagrees()
}

// sign returns the sign of the mean if its interval excludes zero, corrected for the number of
// comparisons, and 0 otherwise.
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

// Interval returns the 95 % interval of the true mean per event, in points:
//
//	S/n ± 1.96 · √(v/n)
//
// v is the variance of one cluster as in Posterior. Unlike the range of a Posterior, the interval
// uses no prior. The variance of the model is exact for an agent without an effect: if the truth
// lies half way between p and q, as Spread assumes, the mean edge is zero. Interval returns false
// without an event or without any stake.
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

// between returns the slice that holds value. value must be at least the first of lows.
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

// sheet adds up the predictions of a review. A review adds up the same events many times, so their keys and days are
// replaced by numbers once.
type sheet struct {
	list   []Settled
	events []int // of each prediction, the number of its event
	days   []int // of each event, the number of its day

	clusters []Cluster // by event, empty between two sums
	touched  []bool    // by event, false between two sums
	blocks   []Tally   // by day, empty between two sums
}

func newSheet(list []Settled) *sheet {
	s := &sheet{list: list, events: make([]int, len(list))}
	events, days := map[string]int{}, map[string]int{}
	for i := range list {
		event, known := events[list[i].Event]
		if !known {
			event = len(events)
			events[list[i].Event] = event
			s.days = append(s.days, 0)
		}
		day, known := days[list[i].Day]
		if !known {
			day = len(days)
			days[list[i].Day] = day
		}
		s.events[i], s.days[event] = event, day
	}
	s.clusters, s.touched, s.blocks = make([]Cluster, len(events)), make([]bool, len(events)), make([]Tally, len(days))
	return s
}

// eventBet is the cluster that one prediction adds to its event.
type eventBet struct {
	event int
	Cluster
}

func (s *sheet) bet(i int, c Cluster) eventBet { return eventBet{s.events[i], c} }

// slicesBy sums up predictions by their slices, in order of Category and Low.
func (s *sheet) slicesBy(bets []eventBet, of func(*Settled) Slice) []Slice {
	type key struct {
		category  string
		low, high float64
	}
	parts := map[key][]eventBet{}
	for i := range s.list {
		part := of(&s.list[i])
		k := key{part.Category, part.Low, part.High}
		parts[k] = append(parts[k], bets[i])
	}
	out := make([]Slice, 0, len(parts))
	for k, part := range parts {
		made := s.slice(part)
		made.Category, made.Low, made.High = k.category, k.low, k.high
		out = append(out, made)
	}
	slices.SortFunc(out, func(a, b Slice) int {
		return cmp.Or(cmp.Compare(a.Category, b.Category), cmp.Compare(a.Low, b.Low))
	})
	return out
}

func (s *sheet) slice(bets []eventBet) Slice {
	sums, days := s.sum(bets)
	return Slice{Predictions: len(bets), Days: days, Sums: sums}
}

// sum adds up bets as the ranking does: to one cluster for each event, and to blocks by day. It
// also returns the number of days.
func (s *sheet) sum(bets []eventBet) (total Sums, days int) {
	for i := range bets {
		b := &bets[i]
		s.clusters[b.event], s.touched[b.event] = s.clusters[b.event].Plus(b.Cluster), true
	}
	for event, touched := range s.touched {
		if touched {
			total.Add(s.clusters[event])
			s.blocks[s.days[event]].Add(s.clusters[event].C)
		}
	}
	for _, block := range s.blocks {
		if block.N > 0 {
			total.Days.Add(block.N, block.S)
			days++
		}
	}
	clear(s.clusters)
	clear(s.touched)
	clear(s.blocks)
	return total, days
}
