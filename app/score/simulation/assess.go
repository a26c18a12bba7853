package simulation

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// topPlaces is the number of places at the top of a board that an assessment examines.
const topPlaces = 20

// Outcome is the result of one simulated world.
type Outcome struct {
	Seed               uint64
	Forecasts, Settled int
	Methods            []Assessment
}

// Assessment says how well one method ranked the agents of one world.
type Assessment struct {
	Method string
	// Variant is true for our own method with a changed rule.
	Variant bool
	// Ranked counts the agents with a rank.
	Ranked int
	// Spearman is the rank correlation of the method's value with true skill, −1..1. It covers all
	// agents with enough settled predictions, even if the method doesn't rank them.
	Spearman float64
	// Precision is the share of the twenty truly best eligible agents that are in the top 20, 0..1.
	Precision float64
	// Best is the best rank of each kind, 0 if no agent of it is ranked. InTop counts the agents of
	// each kind in the top 20.
	Best, InTop [kinds]int
	// Coverage is the share of the method's 95 % intervals that hold the expectation of the value
	// given the truth, 0..1.
	Coverage float64
	// TooModest is the share of the intervals that lie entirely below that expectation, 0..1.
	TooModest float64
	// Study says how often our ranges, odds and rank ranges were right. It is nil for rivals.
	Study *Study
}

func assess(b *board, agents []*agent, counts []int, least int) Assessment {
	a := Assessment{Method: b.method, Variant: b.variant, Ranked: len(b.ranked), Study: b.study}
	var pool []int
	for i := range agents {
		if counts[i] >= least {
			pool = append(pool, i)
		}
	}
	a.Spearman = spearman(pool, b.value, agents)
	for place, i := range b.ranked {
		k := agents[i].kind
		if a.Best[k] == 0 {
			a.Best[k] = place + 1
		}
		if place < topPlaces {
			a.InTop[k]++
		}
	}
	best := slices.SortedFunc(slices.Values(pool), func(i, j int) int {
		return cmp.Compare(agents[j].skill, agents[i].skill)
	})
	top := b.ranked[:min(topPlaces, len(b.ranked))]
	for _, i := range best[:min(topPlaces, len(best))] {
		if slices.Contains(top, i) {
			a.Precision += 1. / topPlaces
		}
	}
	var held, modest, intervals float64
	for _, i := range b.ranked {
		if !math.IsNaN(b.half[i]) {
			intervals++
			if math.Abs(b.target[i]-b.estimate[i]) <= b.half[i] {
				held++
			} else if b.target[i] > b.estimate[i] {
				modest++
			}
		}
	}
	a.Coverage, a.TooModest = held/max(intervals, 1), modest/max(intervals, 1)
	return a
}

// spearman returns the rank correlation over a pool in which every agent has a value.
func spearman(pool []int, value []float64, agents []*agent) float64 {
	x, y := make([]float64, len(pool)), make([]float64, len(pool))
	for k, i := range pool {
		x[k], y[k] = value[i], agents[i].skill
	}
	return stat.Correlation(ranks(x), ranks(y), nil)
}

// ranks returns the ranks of values. Equal values get the mean of their ranks.
func ranks(values []float64) []float64 {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	places := make([]float64, len(values))
	for from := 0; from < len(order); {
		to := from
		for to < len(order) && values[order[to]] == values[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			places[i] = float64(from+to-1) / 2
		}
		from = to
	}
	return places
}
