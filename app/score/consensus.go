package score

import (
	"cmp"
	"math"
	"slices"
)

// Opinion is one agent's open prediction on a market's outcome.
type Opinion struct {
	// P is the confidence, 0..1.
	P float64
	// Skill is the agent's skill, in points per event.
	Skill float64
}

// Median returns the median of the confidences ps. If their number is even, it is the mean of the
// two middle ones. Median returns false if ps is empty. It doesn't modify ps.
func Median(ps []float64) (float64, bool) {
	if len(ps) == 0 {
		return 0, false
	}
	sorted := slices.Sorted(slices.Values(ps))
	return quantile(sorted, 0.5), true
}

// WeightedConsensus returns the mean of the log odds ln(p/(1 − p)), weighted by skill, as a
// probability (logarithmic pooling, Genest and Zidek 1986). Confidences are clipped to 0.001..0.999
// first. A skill at or below zero has no weight, so new accounts can't flood the consensus. If no
// skill is above zero, all opinions have the same weight. The order of the opinions doesn't matter.
// WeightedConsensus returns false without opinions.
func WeightedConsensus(opinions []Opinion) (float64, bool) {
	if len(opinions) == 0 {
		return 0, false
	}
	sorted := slices.SortedFunc(slices.Values(opinions), func(a, b Opinion) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Skill, b.Skill))
	})
	var sum, weights, plain float64
	for _, o := range sorted {
		p, weight := clipLog(o.P), max(o.Skill, 0)
		odds := math.Log(p / (1 - p))
		sum += weight * odds
		weights += weight
		plain += odds
	}
	if weights > 0 {
		return logistic(sum / weights), true
	}
	return logistic(plain / float64(len(sorted))), true
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
