package score

import "slices"

// Prior says how much of an agent's mean is luck. It is the same for all agents. It is estimated
// each night and published with the boards.
type Prior struct {
	// Kappa is κ = σ²/τ², in clusters. With n = κ clusters, an agent's skill is half of its mean.
	Kappa float64
	// Sigma2 is σ², the variance of an agent's clusters around its mean, in points².
	Sigma2 float64
}

// InBounds reports whether κ is within 30..500, as every estimate is.
func (p Prior) InBounds() bool { return kappaMin <= p.Kappa && p.Kappa <= kappaMax }

// DefaultPrior is used until 20 agents have 30 settled clusters.
var DefaultPrior = Prior{Kappa: 100, Sigma2: 100}

const (
	// An estimate needs priorAgents agents with priorRecord clusters each.
	priorAgents = 20
	priorRecord = 30
	// Outside of these bounds an estimate of κ is mostly noise.
	kappaMin = 30
	kappaMax = 500
	// sigma2Floor keeps κ defined if nearly all agents copy the market.
	sigma2Floor = 1
	// iqrOfNormal is the interquartile range of a standard normal distribution.
	iqrOfNormal = 1.3489795003921634
)

// EstimatePrior estimates the prior from the agents with at least 30 settled clusters. It returns
// DefaultPrior if there are fewer than 20 such agents.
//
// σ² is the pooled variance within agents, ΣΣ(C − mean)² / Σ(n − 1), at least 1 point². τ² is the
// variance of the true means between agents. It is estimated from the interquartile range of the
// agents' means: scaled to a standard deviation, squared, minus the median variance of these means.
// Quartiles and medians make sure that a few very bad agents don't make the luck of all others look
// like skill. κ = σ²/τ² is clamped to 30..500, and is 500 if τ² isn't above zero.
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

// quantile returns the quantile of sorted values at a share in 0..1. It interpolates linearly
// between values (type 7 of Hyndman and Fan 1996). sorted must not be empty.
func quantile(sorted []float64, at float64) float64 {
	position := at * float64(len(sorted)-1)
	below := int(position)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (position-float64(below))*(sorted[below+1]-sorted[below])
}
