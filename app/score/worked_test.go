package score

import (
	"math"
	"testing"
	"time"
)

func at(p float64) *float64 { return &p }

func near(t *testing.T, name string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s = %v, want %v ± %v", name, got, want, within)
	}
}

// The tests of this file check the worked numbers of the specification.

func TestWorkedEdge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ p, q, y, want float64 }{
		{.7, .6, 1, 7}, {.7, .6, 0, -13}, {.7, .6, .5, -3}, {.9, .85, 1, 1.25},
		{1, 0, 1, 100}, {1, 0, 0, -100}, {.62, .62, 1, 0},
		// Halves of 1/10,000 of a point are rounded away from zero.
		{.5001, .5, .5, 0}, {.0005, 0, 0, 0}, {.0015, 0, .00075, 0},
		{.5007, .5, .5, -.0000}, {.00071, 0, 0, -.0001},
	} {
		if got := Edge(c.p, c.q, c.y).Float(); got != c.want {
			t.Errorf("Edge(%v, %v, %v) = %v, want %v", c.p, c.q, c.y, got, c.want)
		}
	}
}

func TestWorkedCluster(t *testing.T) {
	t.Parallel()
	cluster := Contribution(Edge(.7, .6, 1), 0) + Contribution(Edge(.9, .85, 1), 1)
	if cluster.Float() != 7.625 {
		t.Errorf("cluster = %v, want 7.625", cluster.Float())
	}
	for _, c := range []struct {
		edge Points
		i    int
		want Points
	}{{1, 1, 1}, {-1, 1, -1}, {1, 2, 0}, {3, 1, 2}, {-3, 1, -2}, {1_000_000, 21, 0}, {-1_000_000, 99, 0}, {7, 0, 7}} {
		if got := Contribution(c.edge, c.i); got != c.want {
			t.Errorf("Contribution(%d, %d) = %d, want %d", c.edge, c.i, got, c.want)
		}
	}
}

func TestWorkedSkill(t *testing.T) {
	t.Parallel()
	near(t, "skill", Tally{N: 60, S: 150 * pointScale}.Skill(100), .9375, 1e-12)
	near(t, "skill without events", Tally{}.Skill(100), 0, 0)
}

func TestWorkedScores(t *testing.T) {
	t.Parallel()
	near(t, "Brier", Brier(.9, 1), .01, 0)
	near(t, "log edge", LogEdge(.9, .5, 1), .848, .0005)

	market, results := []float64{.6, .4, .5}, []float64{1, 0, 1}
	for _, c := range []struct {
		ps   []float64
		want float64
	}{{[]float64{.9, .1, .3}, -.02}, {[]float64{.2, .8, .9}, .24}} {
		var sum float64
		for i, p := range c.ps {
			sum += Brier(p, results[i]) - Brier(market[i], results[i])
		}
		near(t, "mean Brier difference to the market", sum/3, c.want, 1e-12)
	}
}

func TestWorkedMurphy(t *testing.T) {
	t.Parallel()
	var sums [BinCount]BinSum
	for i := range 5 {
		high, low := 1., 0.
		if i == 4 {
			high, low = 0, 1
		}
		sums[BinOf(.8)].Add(.8, high)
		sums[BinOf(.3)].Add(.3, low)
	}
	m := Decompose(sums)
	near(t, "reliability", m.Reliability, .005, 1e-12)
	near(t, "resolution", m.Resolution, .09, 1e-12)
	near(t, "uncertainty", m.Uncertainty, .25, 1e-12)
	near(t, "Brier", m.Brier, .165, 1e-12)
	near(t, "calibration error", CalibrationError(sums), .05, 1e-12)

	bins := Bins(sums)
	if b := bins[8]; b.Count != 5 || b.MeanConfidence != .8 || b.ObservedRate != .8 {
		t.Errorf("bin of .8 = %+v", b)
	}
	near(t, "Wilson low", bins[8].BandLow, .4353, .0001)
	near(t, "Wilson high", bins[8].BandHigh, .9540, .0001)
	if b := bins[0]; b.BandLow != 0 || b.BandHigh != 1 {
		t.Errorf("empty bin = %+v", b)
	}
}

func TestWhichPricesCount(t *testing.T) {
	t.Parallel()
	published := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		offset        time.Duration
		before, after bool
	}{
		{-181 * time.Second, false, false}, {-180 * time.Second, true, false}, {0, true, false},
		{time.Second, false, false}, {119 * time.Second, false, false}, {2 * time.Minute, false, true},
		{15 * time.Minute, false, true}, {15*time.Minute + 1, false, false},
	} {
		observed := published.Add(c.offset)
		if got := CountsBefore(published, observed, time.Minute); got != c.before {
			t.Errorf("CountsBefore with offset %v = %v", c.offset, got)
		}
		if got := CountsAfter(published, observed, time.Minute); got != c.after {
			t.Errorf("CountsAfter with offset %v = %v", c.offset, got)
		}
	}
}
