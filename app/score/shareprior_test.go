package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

// sharer returns the sums of an agent whose disagreement is right by a share b, after n events with
// a stake of 1 point.
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
		{"typical population", typical, .3, .7, .1, .1},
		{"fake accounts that are always right", population(1.5, .1, 100), .5, .5, 0, 0},
		{"hopeless agents", population(-3, .5, 100), 0, .5, 0, .1},
		{"agents far apart", population(.2, 3, 200), .2, 1, .3, 0},
		{"nineteen", typical[:19], .5, .5, 0, 0},
		{"twenty agents, one of them a copier", append([]Sums{{Tally: Tally{N: 50}}}, typical[:19]...), .5, .5, 0, 0},
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
			t.Errorf("in another order got %+v, want %+v", got, want)
		}
	}
}

// TestPosteriorRangeCovers checks that the range holds the true edge of 95 % of the agents of a population
// that follows the prior.
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

// TestOddsHoldAtEveryLook checks that at most one in twenty agents without an edge reaches ProvenOdds if
// the odds are read after every event.
func TestOddsHoldAtEveryLook(t *testing.T) {
	t.Parallel()
	r := source(43)
	const agents = 1_000
	var proven float64
	for range agents {
		var s Sums
		for range 300 {
			y := 0.
			if r.Float64() < .65 { // the truth is half way between p and q, so the edge is 0
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
