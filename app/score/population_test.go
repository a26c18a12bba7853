package score

import (
	"math"
	"slices"
	"testing"
)

func TestEstimatePriorFindsThePopulation(t *testing.T) {
	t.Parallel()
	const sigma, tau = 8., 0.8 // κ = 100
	r := source(11)
	agents := make([]Tally, 0, 2_050)
	draw := func(mean float64) {
		var tally Tally
		for range 400 {
			tally.Add(Points((mean + sigma*r.NormFloat64()) * pointScale))
		}
		agents = append(agents, tally)
	}
	for range 2_000 {
		draw(tau * r.NormFloat64())
	}
	clean := EstimatePrior(agents)
	near(t, "σ²", clean.Sigma2, 64, 1)
	near(t, "κ", clean.Kappa, 100, 15)
	for range 50 {
		draw(-30) // far below all others
	}
	near(t, "κ with 50 very bad agents", EstimatePrior(agents).Kappa, clean.Kappa, 15)
}

func TestEstimatePriorAtTheEdges(t *testing.T) {
	t.Parallel()
	record := func(n int, c Points) (tally Tally) {
		for range n {
			tally.Add(c)
		}
		return tally
	}
	var copiers, apart []Tally
	for i := range 20 {
		copiers = append(copiers, record(30, 0))
		apart = append(apart, record(30, Points(i)*pointScale))
	}
	for _, c := range []struct {
		name   string
		agents []Tally
		want   Prior
	}{
		{"no agents", nil, DefaultPrior},
		{"nineteen agents", apart[:19], DefaultPrior},
		{"short records", slices.Repeat([]Tally{record(29, 1)}, 40), DefaultPrior},
		{"copiers only", copiers, Prior{Kappa: 500, Sigma2: 1}},
		{"skill without luck", apart, Prior{Kappa: 30, Sigma2: 1}},
	} {
		if got := EstimatePrior(c.agents); got != c.want {
			t.Errorf("%s: prior %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestConsensus(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		ps   []float64
		want float64
		ok   bool
	}{{nil, 0, false}, {[]float64{.3}, .3, true}, {[]float64{.9, .1, .4}, .4, true}, {[]float64{.2, .4}, .3, true}} {
		if got, ok := Median(c.ps); math.Abs(got-c.want) > 1e-12 || ok != c.ok {
			t.Errorf("Median(%v) = %v, %v", c.ps, got, ok)
		}
	}
	if _, ok := WeightedConsensus(nil); ok {
		t.Error("got a consensus without opinions")
	}
	skilled, _ := WeightedConsensus([]Opinion{{.8, 2}, {.1, 0}, {.1, -3}})
	near(t, "weights by skill", skilled, .8, 1e-12)
	equal, _ := WeightedConsensus([]Opinion{{.8, 0}, {.2, -1}})
	near(t, "no skill above zero", equal, .5, 1e-12)
	sure, _ := WeightedConsensus([]Opinion{{1, 1}, {0, 1}})
	near(t, "clipped confidences", sure, .5, 1e-12)
	a, _ := WeightedConsensus([]Opinion{{.31, 1.1}, {.77, .3}, {.12, .9}})
	b, _ := WeightedConsensus([]Opinion{{.12, .9}, {.31, 1.1}, {.77, .3}})
	near(t, "order", a, b, 0)
}
