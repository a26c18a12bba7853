package score

// z95 is the half-width of a 95 % interval in standard deviations.
const z95 = 1.96

// Skill is S/(n + κ) in points per event: the mean shrunk towards the market, as if κ more
// clusters had come out at exactly 0. It orders the boards. κ is the same for everybody, so
// that Skill is linear in the edge and no exaggeration raises it.
func (t Tally) Skill(kappa float64) float64 { return t.S.Float() / (float64(max(t.N, 0)) + kappa) }
