package score

import "slices"

// Prior says how much of a result may be luck. One pair holds for the whole population;
// it is estimated nightly and published with the board.
type Prior struct {
	// Kappa is σ²/τ², in clusters: that many of them make an agent's skill half of its
	// mean.
	Kappa float64
	// Sigma2 is σ², the variance of a cluster within an agent, in points².
	Sigma2 float64
}

// DefaultPrior holds until enough agents have a record.
var DefaultPrior = Prior{Kappa: 100, Sigma2: 100}

const (
	// priorAgents agents with priorRecord clusters each are needed to estimate.
	priorAgents = 20
	priorRecord = 30
	// Outside of these bounds the estimate says more about its own noise than about
	// the population.
	kappaMin = 30
	kappaMax = 500
	// sigma2Floor keeps κ defined when nearly all agents copy the market.
	sigma2Floor = 1
	// iqrOfNormal is the interquartile range of a standard normal distribution.
	iqrOfNormal = 1.3489795003921634
)

// EstimatePrior fits the prior to the agents that have at least 30 settled clusters,
// and returns DefaultPrior while they are fewer than 20.
//
// σ² is the pooled within-agent variance, ΣΣ(C − mean)² / Σ(n − 1). τ², the variance
// of true means between agents, is the squared interquartile range of the agents'
// means scaled to a normal, less the median of their sampling variances. Quartiles and
// medians keep a few hopeless agents from making the luck of all others look like skill.
// κ = σ²/τ² is clamped to 30..500; where τ² is not above zero it is 500.
func EstimatePrior(agents []Tally) Prior {
	var deviance, freedom float64
	means, noises := make([]float64, 0, len(agents)), make([]float64, 0, len(agents))
	for _, t := range agents {
		if t.N < priorRecord {
			continue
		}
		own := t.Deviance()
		deviance += own
		freedom += float64(t.N - 1)
		means = append(means, t.Mean())
		noises = append(noises, own/float64(t.N-1)/float64(t.N))
	}
	if len(means) < priorAgents {
		return DefaultPrior
	}
	slices.Sort(means)
	slices.Sort(noises)
	spread := (quantile(means, 0.75) - quantile(means, 0.25)) / iqrOfNormal
	sigma2 := max(deviance/freedom, sigma2Floor)
	tau2 := max(spread*spread-quantile(noises, 0.5), sigma2/kappaMax)
	return Prior{Kappa: min(max(sigma2/tau2, kappaMin), kappaMax), Sigma2: sigma2}
}

// quantile interpolates linearly between the sorted values (type 7 of Hyndman and
// Fan 1996). It needs at least one value.
func quantile(sorted []float64, at float64) float64 {
	position := at * float64(len(sorted)-1)
	below := int(position)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (position-float64(below))*(sorted[below+1]-sorted[below])
}
