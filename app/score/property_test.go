package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The properties are tested with confidences of four decimals and prices of six. They must hold
// exactly for such numbers.

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

func confidence(r *rand.Rand) float64 { return float64(r.IntN(10_001)) / 10_000 }

func price(r *rand.Rand) float64 { return float64(r.IntN(1_000_001)) / 1_000_000 }

func maybe(r *rand.Rand, p float64) *float64 {
	if r.IntN(3) == 0 {
		return nil
	}
	return &p
}

func result(r *rand.Rand) float64 {
	switch r.IntN(5) {
	case 0:
		return price(r)
	case 1:
		return 0.5
	default:
		return float64(r.IntN(2))
	}
}

// clamp calls Bounds.Clamp for an outcome with prices and no book.
func clamp(p float64, before, after, previous *float64) (q float64, ok bool) {
	view := func(price *float64) *View {
		if price == nil {
			return nil
		}
		v := PriceView(*price)
		return &v
	}
	return Bounds{Before: view(before), After: view(after), Previous: previous}.Clamp(p)
}

func TestCopyingEarnsNothing(t *testing.T) {
	t.Parallel()
	r := source(1)
	for range 20_000 {
		before, after, previous := price(r), price(r), confidence(r)
		for _, p := range []float64{before, after, previous} {
			q, ok := clamp(p, &before, &after, &previous)
			y := result(r)
			if !ok || Edge(p, q, y) != 0 || LogEdge(p, q, y) != 0 || LiveEdge(p, q, y) != 0 {
				t.Fatalf("copying %v from %v, %v and %v earned %v, want 0", p, before, after, previous, Edge(p, q, y))
			}
		}
	}
}

// expected returns the expected edge of a reported confidence for an agent's belief, in points and
// not rounded.
func expected(belief, report float64, before, after, previous *float64) float64 {
	q, _ := clamp(report, before, after, previous)
	return 100 * (belief*float64(edgeNano(report, q, 1)) + (1-belief)*float64(edgeNano(report, q, 0))) / 1e18
}

func TestHonestyIsOptimal(t *testing.T) {
	t.Parallel()
	r := source(2)
	for range 60 {
		before, after, previous := maybe(r, price(r)), price(r), maybe(r, confidence(r))
		belief := confidence(r)
		honest := expected(belief, belief, before, &after, previous)
		for report := 0; report <= 10_000; report++ {
			p := float64(report) / 10_000
			if other := expected(belief, p, before, &after, previous); other > honest+1e-12 {
				t.Fatalf("belief %v earns %v, reporting %v earns %v", belief, honest, p, other)
			}
		}
	}
}

// TestHonestyIsOptimalInPoints checks that rounding the edge lets no confidence beat the honest one
// by more than the rounding.
func TestHonestyIsOptimalInPoints(t *testing.T) {
	t.Parallel()
	r := source(3)
	for range 20_000 {
		before, after, previous := maybe(r, price(r)), price(r), maybe(r, confidence(r))
		belief, report := confidence(r), confidence(r)
		value := func(p float64) float64 {
			q, _ := clamp(p, before, &after, previous)
			return belief*float64(Edge(p, q, 1)) + (1-belief)*float64(Edge(p, q, 0))
		}
		if value(report) > value(belief)+1 {
			t.Fatalf("belief %v earns %v, reporting %v earns %v", belief, value(belief), report, value(report))
		}
	}
}

func TestRepeatingAddsNothing(t *testing.T) {
	t.Parallel()
	r := source(4)
	for range 5_000 {
		var cluster, first Points
		var previous *float64
		p, y := confidence(r), result(r)
		for i := range 6 {
			before, after := price(r), price(r)
			q, _ := clamp(p, &before, &after, previous)
			cluster += Contribution(Edge(p, q, y), i)
			if i == 0 {
				first = cluster
			}
			previous = &p
		}
		if cluster != first {
			t.Fatalf("repeating %v moved its cluster from %v to %v", p, first, cluster)
		}
	}
}

func TestWeightsStayBelowTwo(t *testing.T) {
	t.Parallel()
	var total float64
	var most Points
	for i := range 10_000 {
		total += Weight(i)
		most += Contribution(100*pointScale, i)
		if i < 40 && total >= 2 {
			t.Fatalf("total weight %v after %d predictions, want below 2", total, i+1)
		}
	}
	// A float rounds the infinite sum up to 2. The rounding of a cluster adds at most half a unit
	// for each of the twenty terms that aren't 0.
	if total > 2 || most > 200*pointScale+10 {
		t.Errorf("total weight %v, largest cluster %v", total, most)
	}
}

func TestOrderOfSettlementsDoesNotMatter(t *testing.T) {
	t.Parallel()
	r := source(5)
	for range 200 {
		bets := make([]Cluster, 1+r.IntN(200))
		for i := range bets {
			bets[i] = Bet(confidence(r), price(r), result(r), r.IntN(3)).Plus(Bet(confidence(r), price(r), result(r), 3))
		}
		var want Sums
		for _, c := range bets {
			want.Add(c)
			want.Days.Add(1, c.C)
		}
		var parts [2]Sums
		for _, i := range r.Perm(len(bets)) {
			part := &parts[r.IntN(2)]
			part.Add(bets[i])
			part.Days.Add(1, bets[i].C)
		}
		if got := parts[0].Plus(parts[1]); got != want || got.Deviance() != want.Deviance() || want.Plus(Sums{}) != want {
			t.Fatalf("sums %+v, want %+v", got, want)
		}
	}
}

func TestDevianceOfLargeTallies(t *testing.T) {
	t.Parallel()
	const n = 2_000_000
	steady := Tally{N: n, S: n * 1_999_999, SS: n * 1_999_999 * 1_999_999}
	if d := steady.Deviance(); d != 0 {
		t.Errorf("deviance of equal clusters = %v", d)
	}
	swinging := Tally{N: n, S: 0, SS: n * 2_000_000 * 2_000_000}
	near(t, "deviance of ±200", swinging.Deviance(), n*200*200, 1)
	broken := Tally{N: 2, S: 10, SS: 1}
	near(t, "deviance of impossible sums", broken.Deviance(), 0, 0)
}

func TestMurphyAddsUp(t *testing.T) {
	t.Parallel()
	r := source(8)
	for range 300 {
		var sums [BinCount]BinSum
		var brier float64
		n := 1 + r.IntN(300)
		for range n {
			p, y := confidence(r), result(r)
			sums[BinOf(p)].Add(p, y)
			brier += (p - y) * (p - y)
		}
		m := Decompose(sums)
		near(t, "reliability − resolution + uncertainty", m.Reliability-m.Resolution+m.Uncertainty, m.Brier, 1e-12)
		near(t, "Brier", m.Brier, brier/float64(n), 1e-8)
		if e := CalibrationError(sums); e < 0 || e > 1 || e*e > m.Reliability+1e-9 {
			t.Fatalf("calibration error %v, reliability %v", e, m.Reliability)
		}
		for _, b := range Bins(sums) {
			if b.BandLow > b.ObservedRate || b.BandHigh < b.ObservedRate {
				t.Fatalf("the band excludes the observed rate: %+v", b)
			}
		}
	}
}

func FuzzFinite(f *testing.F) {
	f.Add(uint16(7000), uint32(600_000), uint32(650_000), uint16(0), uint32(1_000_000), uint8(0))
	f.Add(uint16(0), uint32(1_000_000), uint32(0), uint16(10_000), uint32(500_000), uint8(60))
	f.Fuzz(func(t *testing.T, p4 uint16, b6, a6 uint32, v4 uint16, y6 uint32, i uint8) {
		p, previous := float64(p4%10_001)/1e4, float64(v4%10_001)/1e4
		before, after, y := float64(b6%1_000_001)/1e6, float64(a6%1_000_001)/1e6, float64(y6%1_000_001)/1e6
		q, ok := clamp(p, &before, &after, &previous)
		edge := Edge(p, q, y)
		if !ok || q < 0 || q > 1 || edge < -100*pointScale || edge > 100*pointScale {
			t.Fatalf("q %v, edge %v", q, edge)
		}
		var tally Tally
		for k := range int(i) {
			tally.Add(Contribution(edge, k))
		}
		skill := tally.Skill(EstimatePrior([]Tally{tally}).Kappa)
		var sums [BinCount]BinSum
		sums[BinOf(p)].Add(p, y)
		m := Decompose(sums)
		pooled, _ := WeightedConsensus([]Opinion{{P: p, Skill: skill}, {P: previous, Skill: -skill}})
		for _, v := range []float64{skill, LogEdge(p, q, y), Brier(p, y), m.Resolution,
			m.Reliability, m.Uncertainty, CalibrationError(sums), pooled, Weight(int(i))} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("p %v q %v y %v i %d: not finite", p, q, y, i)
			}
		}
		if pooled <= 0 || pooled >= 1 {
			t.Fatalf("consensus %v", pooled)
		}
	})
}
