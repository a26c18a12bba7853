package score

import (
	"math"
	"math/rand/v2"
	"testing"
)

func posterior(mean, deviation float64) Posterior {
	return Posterior{BestGuess: mean, Deviation: deviation, Low: mean - z95*deviation, High: mean + z95*deviation}
}

func someRanked(r *rand.Rand, n int) []Posterior {
	ranked := make([]Posterior, n)
	for i := range ranked {
		ranked[i] = posterior(2*r.NormFloat64(), .2+r.ExpFloat64())
	}
	return ranked
}

// exact returns F(x) without a grid.
func exact(ranked []Posterior, x float64) float64 {
	var sum float64
	for _, p := range ranked {
		sum += normal((p.BestGuess - x) / p.Deviation)
	}
	return sum
}

func TestRankGridFollowsTheExactSum(t *testing.T) {
	t.Parallel()
	ranked := someRanked(source(31), 500)
	g := NewRankGrid(ranked)
	for i, x := range g.points {
		near(t, "F at a point", float64(g.sums[i])/nanoScale, exact(ranked, x), 1e-6)
	}
	for i, p := range ranked {
		low, high := g.Range(p, i+1)
		wantLow := 1 + exact(ranked, p.High) - normal(-z95)
		wantHigh := 1 + exact(ranked, p.Low) - normal(z95)
		if math.Abs(float64(low)-min(wantLow, float64(i+1))) > 2 || math.Abs(float64(high)-max(wantHigh, float64(i+1))) > 2 {
			t.Errorf("got range %d..%d, want about %.2f..%.2f", low, high, wantLow, wantHigh)
		}
		if low < 1 || high > 500 || i+1 < low || i+1 > high {
			t.Fatalf("rank %d is outside of its range %d..%d", i+1, low, high)
		}
	}
}

func TestRankGridDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	r := source(32)
	ranked := someRanked(r, 300)
	want := NewRankGrid(ranked)
	r.Shuffle(len(ranked), func(i, j int) { ranked[i], ranked[j] = ranked[j], ranked[i] })
	if got := NewRankGrid(ranked); *got != *want {
		t.Error("the grid depends on the order of the agents")
	}
	moved := *want
	for range 1_000 {
		p := ranked[r.IntN(len(ranked))]
		moved.Remove(p)
		moved.Add(p)
	}
	fresh := posterior(9, .1)
	moved.Add(fresh)
	if moved.Agents() != 301 || moved == *want {
		t.Error("adding an agent didn't change the grid")
	}
	moved.Remove(fresh)
	if moved != *want {
		t.Error("removing the added agents didn't restore the grid")
	}
}

func TestRankGridAtTheEdges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		ranked    []Posterior
		rank      int
		low, high int
	}{
		{"one agent", []Posterior{posterior(1, 1)}, 1, 1, 1},
		{"two apart", []Posterior{posterior(90, .01), posterior(-90, .01)}, 1, 1, 1},
		{"two alike", []Posterior{posterior(1, 1), posterior(1, 1)}, 2, 1, 2},
		{"ranked first with the lowest best guess", []Posterior{posterior(-90, .01), posterior(90, .01), posterior(91, .01)}, 1, 1, 3},
		{"the widest range", []Posterior{posterior(0, 1e9), posterior(1, .01), posterior(2, .01)}, 2, 1, 3},
	} {
		g := NewRankGrid(c.ranked)
		if low, high := g.Range(c.ranked[0], c.rank); low != c.low || high != c.high {
			t.Errorf("%s: got %d..%d, want %d..%d", c.name, low, high, c.low, c.high)
		}
	}
	empty := NewRankGrid(nil)
	if low, high := empty.Range(posterior(0, 1), 1); low != 1 || high != 1 {
		t.Errorf("empty board: got %d..%d, want 1..1", low, high)
	}
}

func TestRankGridEncoding(t *testing.T) {
	t.Parallel()
	want := NewRankGrid(someRanked(source(33), 50))
	data, err := want.MarshalBinary()
	if err != nil || len(data) != 6_409 {
		t.Fatalf("%d bytes, %v", len(data), err)
	}
	var got RankGrid
	if err := got.UnmarshalBinary(data); err != nil || got != *want {
		t.Errorf("the decoded grid differs, %v", err)
	}
	other := append([]byte{}, data...)
	other[0] = 9
	unordered := append([]byte{}, data...)
	copy(unordered[9:17], data[9+16*399:])
	endless := append([]byte{}, data...)
	copy(endless[9:17], []byte{0, 0, 0, 0, 0, 0, 0xf8, 0x7f})
	negative := append([]byte{}, data...)
	copy(negative[1:9], []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	for _, bad := range [][]byte{nil, data[:100], other, unordered, endless, negative} {
		before := got
		if err := got.UnmarshalBinary(bad); err == nil || got != before {
			t.Error("a damaged grid was decoded or changed the grid")
		}
	}
}

// BenchmarkRankGridOneAgent measures the update of a grid and one range after the posterior of one
// agent changed.
func BenchmarkRankGridOneAgent(b *testing.B) {
	ranked := someRanked(source(34), 100_000)
	g := NewRankGrid(ranked)
	for b.Loop() {
		g.Remove(ranked[0])
		ranked[0].BestGuess += 1e-6
		g.Add(ranked[0])
		g.Range(ranked[0], 1)
	}
}

func BenchmarkRankGridNightly(b *testing.B) {
	ranked := someRanked(source(35), 100_000)
	for b.Loop() {
		g := NewRankGrid(ranked)
		for i, p := range ranked {
			g.Range(p, i+1)
		}
	}
}

// BenchmarkPosteriors measures the share prior of 100,000 ranked agents, and the posterior and the
// odds of each.
func BenchmarkPosteriors(b *testing.B) {
	r := source(36)
	all := make([]Sums, 100_000)
	for i := range all {
		all[i] = record(int64(30+r.IntN(300)), 100*r.NormFloat64(), 9000, 90, 6600)
	}
	for b.Loop() {
		prior := EstimateSharePrior(all)
		for _, s := range all {
			s.Posterior(prior)
			s.Odds()
		}
	}
}
