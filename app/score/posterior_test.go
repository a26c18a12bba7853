package score

import (
	"fmt"
	"math"
	"testing"
)

// record returns an agent's sums with one event a day. s and a are in points, ss and v in points².
func record(n int64, s, ss, a, v float64) Sums {
	r := Sums{A: Points(a * pointScale), V: int64(v * pointScale * pointScale)}
	r.Tally = Tally{N: n, S: Points(s * pointScale), SS: int64(ss * pointScale * pointScale)}
	r.Days = Days{Q: n, W: r.S, T: Shifted(r.SS, 0)} // ΣD² is SS with one event a day
	return r
}

func blocked(s Sums, t, w float64, q int64) Sums {
	s.Days = Days{W: Points(w * pointScale), Q: q, T: Shifted(int64(t*pointScale*pointScale), 0)}
	return s
}

func TestWorkedPosterior(t *testing.T) {
	t.Parallel()
	first, second := record(60, 150, 9000, 90, 6600), record(400, 800, 48400, 560, 44000)
	days := blocked(first, 14000, 900, 400)
	for _, c := range []struct {
		name                                   string
		sums                                   Sums
		mu, tau                                float64
		v0, vRange, shrink                     float64
		bestGuess, low, high, odds, oddsWithin float64
	}{
		{"60 events", first, .4, .5, 123.4277, 123.4277, 54.8567, 1.1627, -.8691, 3.1945, 2.7389, 5e-5},
		{"day blocks", days, .4, .5, 123.4277, 171.7255, 76.3224, .9324, -1.2675, 3.1322, 1.8701, 5e-5},
		{"day blocks, τ .8", days, .4, .8, 123.4277, 171.7255, 29.8134, 1.5705, -1.1397, 4.2808, 1.8701, 5e-5},
		{"60 events, μ .5", first, .5, .5, 123.4277, 123.4277, 54.8567, 1.3060, -.7258, 3.3378, 2.7389, 5e-5},
		{"400 events", second, .4, .5, 115.8317, 115.8317, 59.0978, 1.7065, .7220, 2.6910, 294.53, 5e-3},
	} {
		p, ok := c.sums.Posterior(SharePrior{c.mu, c.tau})
		odds, hasOdds := c.sums.Odds()
		if !ok || !hasOdds {
			t.Fatalf("%s: got no posterior or no odds", c.name)
		}
		vRange := c.sums.rangeVariance()
		near(t, c.name+": v₀", c.sums.Variance(), c.v0, 5e-5)
		near(t, c.name+": v_range", vRange, c.vRange, 5e-5)
		near(t, c.name+": shrink", vRange/sq(2*c.tau*c.sums.stake()), c.shrink, 5e-5)
		near(t, c.name+": best guess", p.BestGuess, c.bestGuess, 5e-5)
		near(t, c.name+": low", p.Low, c.low, 5e-5)
		near(t, c.name+": high", p.High, c.high, 5e-5)
		near(t, c.name+": odds", odds, c.odds, c.oddsWithin)
		if Proven(odds) != (c.odds >= ProvenOdds) {
			t.Errorf("%s: Proven(%v) is wrong", c.name, odds)
		}
	}
	near(t, "skill of 60 events", first.Skill(DefaultPrior.Kappa), .9375, 1e-12)
	near(t, "skill of 400 events", second.Skill(DefaultPrior.Kappa), 1.6, 1e-12)
}

func sq(x float64) float64 { return x * x }

func TestWorkedStake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p, q float64
		i    int
		a, u float64
	}{
		{.7, .6, 0, 1, 9.5394}, {.9, .85, 1, .125, 1.6536}, {.6, .7, 0, 1, 9.5394},
		{.62, .62, 0, 0, 0}, {1, 0, 0, 100, 100}, {1, 1, 0, 0, 0}, {.7, .6, 30, 0, 0},
		{.7, .650049, 0, .25, 4.6837}, // the baseline is rounded to four decimals
	} {
		b := Bet(c.p, c.q, 1, c.i)
		if b.A.Float() != c.a || b.U.Float() != c.u {
			t.Errorf("Bet(%v, %v) with index %d: got stake %v and spread %v, want %v and %v", c.p, c.q, c.i, b.A.Float(), b.U.Float(), c.a, c.u)
		}
	}
}

// TestSpreadIsRounded checks that the root in integers rounds as a real root does.
func TestSpreadIsRounded(t *testing.T) {
	t.Parallel()
	r := source(21)
	for range 100_000 {
		p, q := confidence(r), confidence(r)
		m := (p + q) / 2
		want := 200 * math.Abs(p-q) * math.Sqrt(max(m*(1-m), 0))
		near(t, "spread", Spread(p, q).Float(), want, .00005+1e-9)
		if again := Spread(q, p); again != Spread(p, q) {
			t.Fatalf("the spread of %v and %v depends on their order", p, q)
		}
	}
}

func finite(values ...float64) bool {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

func TestPosteriorAtTheEdges(t *testing.T) {
	t.Parallel()
	repeat := func(n int, b Cluster) (s Sums) {
		for range n {
			s.Add(b)
			s.Days.Add(1, b.C)
		}
		return s
	}
	copier := repeat(200, Bet(.6, .6, 1, 0))
	oneDay := repeat(1_000, Bet(1, 0, 0, 0))
	oneDay.Days = Days{}
	oneDay.Days.Add(oneDay.N, oneDay.S)
	many := Sums{}
	up, down := Bet(.7, .6, 1, 0), Bet(.7, .6, 0, 0)
	for i := range 100_000 {
		b := up
		if i%10 < 3 {
			b = down
		}
		many.Add(b)
		many.Days.Add(1, b.C)
	}
	huge := Sums{Tally: Tally{N: 2_000_000, S: 2_000_000 * 2_000_000, SS: 2_000_000 * 4e12}, A: 2_000_000 * 2_000_000,
		V: 2_000_000 * 4e12}
	huge.Days.Add(huge.N, huge.S)
	for _, c := range []struct {
		name string
		sums Sums
		ok   bool
	}{
		{"nothing settled", Sums{}, false},
		{"all predictions void", Sums{Days: Days{}}, false},
		{"only copies", copier, false},
		{"fewer events than none", Sums{Tally: Tally{N: -1}, A: -5}, false},
		{"one event", repeat(1, up), true},
		{"all edges equal", repeat(50, up), true},
		{"all edges lost on one day", oneDay, true},
		{"a fractional result", repeat(40, Bet(.7, .6, .5, 0)), true},
		{"a stake of one ten-thousandth", repeat(30, Cluster{C: 1, A: 1, U: 1}), true},
		{"a stake without luck", repeat(30, Cluster{C: 0, A: 1, U: 0}), true},
		{"100,000 events", many, true},
		{"the largest sums", huge, true},
		{"days missing", Sums{Tally: many.Tally, A: many.A, V: many.V}, true},
	} {
		for _, prior := range []SharePrior{DefaultSharePrior, {0, 1}, {.3, .7}} {
			p, ok := c.sums.Posterior(prior)
			odds, hasOdds := c.sums.Odds()
			events, reachable := c.sums.EventsUntilProven()
			if ok != c.ok || hasOdds != c.ok || reachable && !c.ok {
				t.Errorf("%s: got posterior %v, odds %v, reachable %v", c.name, ok, hasOdds, reachable)
			}
			if !finite(p.BestGuess, p.Low, p.High, p.Deviation, odds) || odds < 0 || odds > OddsMax {
				t.Errorf("%s: posterior %+v, odds %v", c.name, p, odds)
			}
			if ok && !(p.Low < p.BestGuess && p.BestGuess < p.High) {
				t.Errorf("%s: range %+v", c.name, p)
			}
			if reachable && (events == 0) != Proven(odds) {
				t.Errorf("%s: %d events until proven at odds of %v", c.name, events, odds)
			}
		}
	}
	if odds, _ := many.Odds(); odds != OddsMax {
		t.Errorf("odds of a certain edge = %v, want %v", odds, OddsMax)
	}
	if odds, _ := huge.Odds(); odds < 0 || !finite(odds) {
		t.Errorf("odds of the largest sums = %v", odds)
	}
}

func TestInt128(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		x    int64
		want string
	}{
		{0, "0"}, {3, "9"}, {-3, "9"}, {math.MaxInt64, "85070591730234615847396907784232501249"},
		{math.MinInt64, "85070591730234615865843651857942052864"}, {3_037_000_500, "9223372037000250000"},
	} {
		sq := Square(c.x)
		if sq.String() != c.want {
			t.Errorf("%d² = %v, want %s", c.x, sq, c.want)
		}
	}
	for _, x := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64} {
		if got := Shifted(x, 0).String(); got != fmt.Sprint(x) {
			t.Errorf("Shifted(%d, 0) = %s", x, got)
		}
		if got := Shifted(x, 63).Plus(Shifted(-1-x, 63)).Plus(Shifted(1, 63)); got != (Int128{}) {
			t.Errorf("2⁶³ times %d, %d and 1 add up to %v, want 0", x, -1-x, got)
		}
	}
}

func TestLogNormal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ z, want float64 }{
		{-1000, -7.826694812184310}, {-60, -5.013560680567139}, {-40, -4.608442013753788},
		{-38, -4.557216018820130}, {-15, -3.631384845711695}, {-14, -3.563034407449958}, {-5, -2.564998393988726},
		{-1, -1.341021645009264}, {0, -math.Ln2}, {1, 0.327246220976550}, {5, 12.499999713348387}, {40, 800},
	} {
		near(t, fmt.Sprintf("ln Φ(%v) + z²/2", c.z), logNormalScaled(c.z), c.want, 1e-12)
	}
	// The two forms of erfcx agree at x = 10.
	near(t, "erfcx at 10", scaledErfc(math.Nextafter(10, 0))/scaledErfc(10), 1, 1e-13)
}

func TestEventsUntilProven(t *testing.T) {
	t.Parallel()
	s := record(60, 150, 9000, 90, 6600)
	events, ok := s.EventsUntilProven()
	if !ok || events < 20 || events > 400 {
		t.Fatalf("%d events, %v", events, ok)
	}
	if Proven(s.grown(int64(events)-1)) || !Proven(s.grown(int64(events))) {
		t.Errorf("%d more events aren't the least that prove", events)
	}
	if got, ok := record(400, 800, 48400, 560, 44000).EventsUntilProven(); got != 0 || !ok {
		t.Errorf("a proven agent: got %d more events, %v, want 0", got, ok)
	}
	if got, ok := record(60, -150, 9000, 90, 6600).EventsUntilProven(); ok {
		t.Errorf("an agent below the market: got %d more events, want none", got)
	}
	near(t, "proven by chance", ProvenByChance(1000), 21, 1e-9)
}

func TestOddsAfterNoMoreEvents(t *testing.T) {
	t.Parallel()
	r := source(22)
	var s Sums
	for range 1_000 {
		c := Bet(confidence(r), price(r), result(r), 0)
		s.Add(c)
		s.Days.Add(1, c.C)
		if odds, ok := s.Odds(); ok && s.grown(0) != odds {
			t.Fatalf("the odds of %+v are %v, but %v after no more events", s, odds, s.grown(0))
		}
	}
}

// addEvent adds the only event of a day with the clusters a of A and b of B.
func addEvent(p *Pair, a, b Cluster) {
	var difference Tally
	difference.Add(a.C - b.C)
	p.AddDay(difference, a.A, b.A, int64(a.U)*int64(a.U)+int64(b.U)*int64(b.U))
}

func TestPair(t *testing.T) {
	t.Parallel()
	var same, apart, swapped Pair
	for i := range 200 {
		y := float64(i % 10 / 7) // 1 for three events of ten
		a, b := Bet(.3, .4, y, 0), Bet(.6, .4, y, 0)
		addEvent(&same, a, a)
		addEvent(&apart, a, b)
		addEvent(&swapped, b, a)
	}
	p, ok := same.Posterior(SharePrior{.3, .5})
	if !ok || math.Abs(p.BestGuess) > 1e-12 || p.Low >= 0 || p.High <= 0 {
		t.Errorf("an agent against itself: %+v", p)
	}
	if odds, _ := same.Odds(); odds > 1 {
		t.Errorf("odds of an agent against itself: %v", odds)
	}
	better, _ := apart.Posterior(DefaultSharePrior)
	worse, _ := swapped.Posterior(DefaultSharePrior)
	near(t, "best guess with the agents swapped", better.BestGuess, -worse.BestGuess, 1e-12)
	near(t, "range with the agents swapped", better.Low, -worse.High, 1e-12)
	if apart.Swapped() != swapped || swapped.Swapped() != apart {
		t.Errorf("swapped: %+v, want %+v", apart.Swapped(), swapped)
	}
	odds, _ := apart.Odds()
	against, _ := swapped.Odds()
	if better.Low <= 0 || !Proven(odds) || against >= 1 {
		t.Errorf("better by %+v at odds of %v, against %v", better, odds, against)
	}
	copiers := Pair{}
	addEvent(&copiers, Bet(.6, .6, 1, 0), Bet(.5, .5, 1, 0))
	for _, none := range []Pair{{}, copiers} {
		_, ok := none.Posterior(DefaultSharePrior)
		if _, odds := none.Odds(); ok || odds {
			t.Errorf("got a posterior or odds without a stake: %+v", none)
		}
	}
}
