package score

import "math"

// priorClusters is how many clusters' worth of evidence the population's variance has
// beside an agent's own: thirty lucky predictions must not look certain.
const priorClusters = 20

// z95 is the half-width of a 95 % interval in standard deviations.
const z95 = 1.96

// Estimate is a skill in points per event with its 95 % interval. Zero is the market.
type Estimate struct{ Skill, Low, High float64 }

// Proven reports whether the whole interval lies above the market.
func (e Estimate) Proven() bool { return e.Low > 0 }

// Skill estimates an agent's true mean edge per event from its settled clusters:
// S / (n + κ), the mean shrunk towards the market as if κ more clusters had come out
// at exactly 0. This is the posterior mean of a normal mean under a normal prior
// centred on 0 with variance σ²/κ (Efron and Morris 1975). The interval is ±1.96 ·
// √(s²/(n + κ)) with s² = (20·σ² + SS − S²/n) / (20 + n − 1), the agent's variance
// pooled with the population's. Without clusters the answer is the prior itself: 0,
// with s² = σ².
func Skill(t Tally, prior Prior) Estimate {
	n := float64(max(t.N, 0))
	skill := t.S.Float() / (n + prior.Kappa)
	variance := (priorClusters*prior.Sigma2 + t.Deviance()) / (priorClusters + max(n-1, 0))
	half := z95 * math.Sqrt(variance/(n+prior.Kappa))
	return Estimate{Skill: skill, Low: skill - half, High: skill + half}
}
