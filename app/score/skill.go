package score

// z95 is the half-width of a 95 % interval in standard deviations.
const z95 = 1.96

// Skill returns S/(n + κ) in points per event. This is the mean of the clusters, shrunk towards the
// market as if κ more clusters had a value of exactly 0. The market has a skill of 0. Skill orders
// the boards.
//
// κ is Prior.Kappa, above 0. It is the same for every agent, so Skill is linear in the edge and an
// agent can't raise its expected skill by exaggerating.
func (t Tally) Skill(kappa float64) float64 { return t.S.Float() / (float64(max(t.N, 0)) + kappa) }
