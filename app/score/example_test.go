package score_test

import (
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/score"
)

func ExampleBookView() {
	bid, ask := .58, .62
	first := score.BookView(&bid, &ask)
	one := 1.
	fmt.Println(first, first.Opposite(), score.BookView(nil, &one))
	// Output: {0.58 0.62} {0.38 0.42} {0 1}
}

func ExampleMedianView() {
	published := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	view, _ := score.MedianView([]score.Quote{
		{At: published.Add(-3 * time.Hour), View: score.View{Bid: .2, Ask: .8}},
		{At: published.Add(-20 * time.Minute), View: score.View{Bid: .49, Ask: .5}},
	}, published)
	fmt.Println(view)
	// Output: {0.2 0.8}
}

func ExampleBounds_Clamp() {
	bounds := score.Bounds{Before: &score.View{Bid: .58, Ask: .62}, After: &score.View{Bid: .63, Ask: .67}}
	for _, p := range []float64{.7, .64, .5} {
		q, _ := bounds.Clamp(p)
		fmt.Printf("p %v is held against q %v\n", p, q)
	}
	// Output:
	// p 0.7 is held against q 0.67
	// p 0.64 is held against q 0.64
	// p 0.5 is held against q 0.58
}

func ExampleEdge() {
	fmt.Println(score.Edge(.7, .6, 1).Float(), score.Edge(.7, .6, 0).Float(), score.Edge(.7, .6, .5).Float())
	// Output: 7 -13 -3
}

func ExampleBet() {
	first, second := score.Bet(.7, .6, 1, 0), score.Bet(.9, .85, 1, 1)
	both := first.Plus(second)
	fmt.Println(both.C.Float(), both.A.Float(), both.U.Float())
	// Output: 7.625 1.125 11.193
}

func ExampleTally_Skill() {
	var t score.Tally
	for i := range 60 {
		t.Add(score.Points(25_000 + 10_000*(i%2*2-1))) // 1.5 and 3.5 points in turn
	}
	fmt.Println(t.Skill(100))
	// Output: 0.9375
}

// The worked agent: 60 events on 60 days, 150 points.
func worked() score.Sums {
	s := score.Sums{Tally: score.Tally{N: 60, S: 150_0000, SS: 9000_0000_0000}, A: 90_0000, V: 6600_0000_0000}
	t, _ := score.ParseInt128("900000000000")
	s.Days = score.Days{T: t, W: s.S, Q: 60}
	return s
}

func ExampleSums_Posterior() {
	p, _ := worked().Posterior(score.SharePrior{Mu: .4, Tau: .5})
	fmt.Printf("best guess %.4f, range %.4f to %.4f\n", p.BestGuess, p.Low, p.High)
	// Output: best guess 1.1627, range -0.8691 to 3.1945
}

func ExampleSums_Odds() {
	odds, _ := worked().Odds()
	events, _ := worked().EventsUntilProven()
	fmt.Printf("%.4f : 1, proven %v, about %d more events\n", odds, score.Proven(odds), events)
	// Output: 2.7389 : 1, proven false, about 110 more events
}

func ExampleRankGrid() {
	board := []score.Posterior{
		{BestGuess: 3, Deviation: .5, Low: 2.02, High: 3.98},
		{BestGuess: 2.5, Deviation: .5, Low: 1.52, High: 3.48},
		{BestGuess: -1, Deviation: .5, Low: -1.98, High: -.02},
	}
	grid := score.NewRankGrid(board)
	for i, p := range board {
		low, high := grid.Range(p, i+1)
		fmt.Printf("rank %d: %d to %d\n", i+1, low, high)
	}
	// Output:
	// rank 1: 1 to 2
	// rank 2: 1 to 2
	// rank 3: 3 to 3
}
