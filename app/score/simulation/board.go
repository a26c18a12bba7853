package simulation

import (
	"cmp"
	"math"
	"slices"
)

// board is one way to rank the agents.
type board struct {
	method string
	// variant boards are ours under another rule, not a rival's.
	variant bool
	// value orders the agents, higher is better; not a number where there is none.
	value []float64
	// eligible agents may be ranked.
	eligible []bool
	ranked   []int
	// estimate, half and target describe the interval estimate ± half and what it is
	// meant to hold: the expectation of the same quantity over the truth. half is not
	// a number where the method gives no interval.
	estimate, half, target []float64
	// study is how ranges, odds and ranks of our method turned out, nil for rivals.
	study *Study
}

func newBoard(method string, n int) *board {
	b := &board{method: method, eligible: make([]bool, n)}
	for _, column := range []*[]float64{&b.value, &b.estimate, &b.half, &b.target} {
		*column = slices.Repeat([]float64{math.NaN()}, n)
	}
	return b
}

// rank sorts the eligible, at most perOwner of each known owner (0: no limit).
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
