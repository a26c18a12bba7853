package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sharer is an agent whose share b of disagreement is right, after n events of stake 1.
func sharer(r *rand.Rand, b float64, n int) (s Sums) {
	for range n {
		c := Cluster{C: Points(math.Round(pointScale * (2*b - 1 + 10*r.NormFloat64()))), A: pointScale, U: 10 * pointScale}
		s.Add(c)
		s.Days.Add(1, c.C)
	}
	return s
}

func TestEstimateSharePrior(t *testing.T) {
	t.Parallel()
	r := source(41)
	population := func(mu, tau float64, agents int) (all []Sums) {
		for range agents {
			all = append(all, sharer(r, mu+tau*r.NormFloat64(), 600))
		}
		return all
	}
	typical := population(.3, .7, 400)
	for _, c := range []struct {
		name            string
		agents          []Sums
		mu, tau         float64
		muNear, tauNear float64
	}{
		{"a typical population", typical, .3, .7, .1, .1},
		{"sock puppets that are right raise no centre", population(1.5, .1, 100), .5, .5, 0, 0},
		{"hopeless agents", population(-3, .5, 100), 0, .5, 0, .1},
		{"agents far apart", population(.2, 3, 200), .2, 1, .3, 0},
		{"nineteen", typical[:19], .5, .5, 0, 0},
		{"twenty of which one copies", append([]Sums{{Tally: Tally{N: 50}}}, typical[:19]...), .5, .5, 0, 0},
		{"none", nil, .5, .5, 0, 0},
	} {
		got := EstimateSharePrior(c.agents)
		near(t, c.name+": μ", got.Mu, c.mu, c.muNear)
		near(t, c.name+": τ", got.Tau, c.tau, c.tauNear)
	}
	want := EstimateSharePrior(typical)
	for range 5 {
		r.Shuffle(len(typical), func(i, j int) { typical[i], typical[j] = typical[j], typical[i] })
		if got := EstimateSharePrior(typical); got != want {
			t.Errorf("another order gave %+v, not %+v", got, want)
		}
	}
}

// The range holds the truth of 95 % of a population that is as the prior says.
func TestPosteriorRangeCovers(t *testing.T) {
	t.Parallel()
	r := source(42)
	prior := SharePrior{Mu: .4, Tau: .6}
	var held, trials float64
	for range 3_000 {
		b := prior.Mu + prior.Tau*r.NormFloat64()
		p, _ := sharer(r, b, 30+r.IntN(200)).Posterior(prior)
		if truth := 2*b - 1; p.Low <= truth && truth <= p.High {
			held++
		}
		trials++
	}
	near(t, "coverage", held/trials, .95, .015)
}

// Agents without an edge, looked at after every event, reach the odds of a proof no more
// often than one in twenty.
func TestOddsHoldAtEveryLook(t *testing.T) {
	t.Parallel()
	r := source(43)
	const agents = 1_000
	var proven float64
	for range agents {
		var s Sums
		for range 300 {
			y := 0.
			if r.Float64() < .65 { // half way between p and q, so the edge is 0
				y = 1
			}
			b := Bet(.7, .6, y, 0)
			s.Add(b)
			s.Days.Add(1, b.C)
			if odds, _ := s.Odds(); s.N >= 30 && Proven(odds) {
				proven++
				break
			}
		}
	}
	if share := proven / agents; share > .05 {
		t.Errorf("%.1f %% proven without an edge", 100*share)
	}
}
