package simulation

import (
	"cmp"
	"math"
	"slices"
)

// board is the ranking of the agents by one method.
type board struct {
	method string
	// variant is true for our method with a changed rule.
	variant bool
	// value orders the agents. Higher is better, and NaN means no value.
	value []float64
	// eligible says which agents may be ranked.
	eligible []bool
	ranked   []int
	// estimate ± half is the method's interval for an agent. target is the quantity it should hold:
	// the expectation of the estimate given the truth. half is NaN if the method gives no interval.
	estimate, half, target []float64
	// study says how often our ranges, odds and rank ranges were right. It is nil for rivals.
	study *Study
}

func newBoard(method string, n int) *board {
	b := &board{method: method, eligible: make([]bool, n)}
	for _, column := range []*[]float64{&b.value, &b.estimate, &b.half, &b.target} {
		*column = slices.Repeat([]float64{math.NaN()}, n)
	}
	return b
}

// rank ranks the eligible agents, at most perOwner of each known owner. A perOwner of 0 means no
// limit.
func (b *board) rank(agents []*agent, perOwner int) {
	for i := range b.value {
		if b.eligible[i] && !math.IsNaN(b.value[i]) {
			b.ranked = append(b.ranked, i)
		}
	}
	slices.SortStableFunc(b.ranked, func(i, j int) int { return cmp.Compare(b.value[j], b.value[i]) })
	ofOwner := map[int]int{}
	b.ranked = slices.DeleteFunc(b.ranked, func(i int) bool {
		owner := agents[i].owner
		ofOwner[owner]++
		return perOwner > 0 && owner != 0 && ofOwner[owner] > perOwner
	})
}
