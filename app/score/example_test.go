package score_test

import (
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/score"
)

// This example goes from predictions to a rank. The agent forecasts one event a day, always .7
// against a market at .6. Of every four events, three happen.
func Example() {
	var agent score.Sums
	for i := range 120 {
		y := 1.
		if i%4 == 3 {
			y = 0
		}
		market := score.PriceView(.6)
		q, _ := score.Bounds{Before: &market, After: &market}.Clamp(.7)
		event := score.Bet(.7, q, y, 0)
		agent.Add(event)
		agent.Days.Add(1, event.C) // the only event of its day
	}
	posterior, _ := agent.Posterior(score.DefaultSharePrior)
	odds, _ := agent.Odds()
	others := []score.Posterior{score.PosteriorOf(.8, -1.2, 2.8), score.PosteriorOf(-1.5, -2.5, -.5)}
	low, high := score.NewRankGrid(append(others, posterior)).Range(posterior, 1)
	fmt.Printf("mean edge %.2f points, skill %.2f\n", agent.Mean(), agent.Skill(score.DefaultPrior.Kappa))
	fmt.Printf("best guess %.2f, 95 %% range %.2f to %.2f\n", posterior.BestGuess, posterior.Low, posterior.High)
	fmt.Printf("odds %.1f : 1, proven %v\n", odds, score.Proven(odds))
	fmt.Printf("rank 1, rank range %d to %d\n", low, high)
	// Output:
	// mean edge 2.00 points, skill 1.09
	// best guess 1.18, 95 % range -0.07 to 2.44
	// odds 6.9 : 1, proven false
	// rank 1, rank range 1 to 2
}

func ExampleBookView() {
	bid, ask := .58, .62
	first := score.BookView(&bid, &ask)
	one := 1.
	empty := score.BookView(nil, &one)
	fmt.Println(first, first.Opposite(), empty)
	// Output: {0.58 0.62} {0.38 0.42} {0 1}
}

func ExampleMedianView() {
	published := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	view, _ := score.MedianView([]score.Quote{
		{At: published.Add(-3 * time.Hour), View: score.View{Bid: .2, Ask: .8}},
		{At: published.Add(-20 * time.Minute), View: score.View{Bid: .49, Ask: .5}},
	}, published)
	fmt.Println(view) // the later quote stood for less than half of the hour
	// Output: {0.2 0.8}
}

func ExampleCountsAfter() {
	published := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for _, wait := range []time.Duration{time.Minute, 2 * time.Minute, 15 * time.Minute, 16 * time.Minute} {
		fmt.Println(wait, score.CountsAfter(published, published.Add(wait), time.Minute))
	}
	// Output:
	// 1m0s false
	// 2m0s true
	// 15m0s true
	// 16m0s false
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

func ExampleBounds_Moved() {
	bounds := score.Bounds{Before: &score.View{Bid: .58, Ask: .62}, After: &score.View{Bid: .63, Ask: .67}}
	fmt.Println(bounds.Moved(.87, .5), bounds.Moved(.64, .5))
	// Output: 0.77 0.64
}

func ExampleEdge() {
	// The outcome happens, doesn't happen, and half happens.
	fmt.Println(score.Edge(.7, .6, 1).Float(), score.Edge(.7, .6, 0).Float(), score.Edge(.7, .6, .5).Float())
	// Output: 7 -13 -3
}

func ExampleLiveEdge() {
	// The price has moved from .6 to .8 since the agent said .7.
	fmt.Println(score.LiveEdge(.7, .6, .8).Float(), "points")
	// Output: 3 points
}

func ExampleBrier() {
	fmt.Println(score.Brier(.9, 1), score.Brier(.9, 0), score.Brier(.5, 1))
	// Output: 0.01 0.81 0.25
}

func ExampleLogEdge() {
	fmt.Printf("%.3f %.3f bits\n", score.LogEdge(.9, .5, 1), score.LogEdge(.9, .5, 0))
	// Output: 0.848 -2.322 bits
}

func ExampleStake() {
	fmt.Println(score.Stake(.7, .6).Float(), score.Stake(.9, .6).Float(), "points")
	// Output: 1 9 points
}

func ExampleSpread() {
	fmt.Println(score.Spread(.7, .6).Float(), score.Spread(.9, .6).Float(), "points")
	// Output: 9.5394 25.9808 points
}

func ExampleWeight() {
	fmt.Println(score.Weight(0), score.Weight(1), score.Weight(2))
	// Output: 1 0.5 0.25
}

func ExampleBet() {
	first, second := score.Bet(.7, .6, 1, 0), score.Bet(.9, .85, 1, 1)
	both := first.Plus(second)
	fmt.Println("edge", both.C.Float(), "stake", both.A.Float(), "spread", both.U.Float())
	// Output: edge 7.625 stake 1.125 spread 11.193
}

func ExampleTally_Skill() {
	var t score.Tally
	for i := range 60 {
		t.Add(score.Points(25_000 + 10_000*(i%2*2-1))) // alternately 1.5 and 3.5 points
	}
	fmt.Println(t.Mean(), t.Skill(100))
	// Output: 2.5 0.9375
}

// worked returns the worked agent of the method page: 60 events on 60 days, 150 points.
func worked() score.Sums {
	s := score.Sums{Tally: score.Tally{N: 60, S: 150_0000, SS: 9000_0000_0000}, A: 90_0000, V: 6600_0000_0000}
	s.Days = score.Days{T: score.Shifted(s.SS, 0), W: s.S, Q: 60} // ΣD² is SS with one event a day
	return s
}

func ExampleSums_Variance() {
	fmt.Printf("%.4f points²\n", worked().Variance())
	// Output: 123.4277 points²
}

func ExampleSums_Posterior() {
	p, _ := worked().Posterior(score.SharePrior{Mu: .4, Tau: .5})
	fmt.Printf("best guess %.4f, range %.4f to %.4f\n", p.BestGuess, p.Low, p.High)
	// Output: best guess 1.1627, range -0.8691 to 3.1945
}

func ExampleSums_Interval() {
	low, high, _ := worked().Interval()
	fmt.Printf("%.4f to %.4f points per event\n", low, high)
	// Output: -0.3112 to 5.3112 points per event
}

func ExampleSums_Odds() {
	odds, _ := worked().Odds()
	fmt.Printf("%.4f : 1, proven %v\n", odds, score.Proven(odds))
	// Output: 2.7389 : 1, proven false
}

func ExampleSums_EventsUntilProven() {
	events, _ := worked().EventsUntilProven()
	fmt.Printf("about %d more events\n", events)
	// Output: about 110 more events
}

func ExampleProven() {
	fmt.Println(score.Proven(19.9), score.Proven(20))
	// Output: false true
}

func ExampleProvenByChance() {
	fmt.Printf("%.1f of 300 ranked agents\n", score.ProvenByChance(300))
	// Output: 6.3 of 300 ranked agents
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

func ExampleRankGrid_Add() {
	second := score.PosteriorOf(1, -.96, 2.96)
	grid := score.NewRankGrid([]score.Posterior{score.PosteriorOf(5, 3.04, 6.96), second})
	fmt.Println(grid.Range(second, 2))
	third := score.PosteriorOf(1, -.96, 2.96)
	grid.Add(third)
	fmt.Println(grid.Range(second, 2))
	grid.Remove(third)
	fmt.Println(grid.Range(second, 2))
	// Output:
	// 1 2
	// 2 3
	// 1 2
}

func ExamplePair() {
	var pair score.Pair
	for i := range 100 {
		y := float64(i % 10 / 7) // 1 for three events of ten
		a, b := score.Bet(.3, .4, y, 0), score.Bet(.6, .4, y, 0)
		var difference score.Tally
		difference.Add(a.C - b.C) // the only event of its day
		pair.AddDay(difference, a.A, b.A, int64(a.U)*int64(a.U)+int64(b.U)*int64(b.U))
	}
	p, _ := pair.Posterior(score.DefaultSharePrior)
	odds, _ := pair.Odds()
	fmt.Printf("A earns %.1f points more per event, 95 %% range %.1f to %.1f\n", p.BestGuess, p.Low, p.High)
	fmt.Println("proven", score.Proven(odds))
	// Output:
	// A earns 6.6 points more per event, 95 % range 2.4 to 10.8
	// proven true
}

func ExampleMedian() {
	median, _ := score.Median([]float64{.9, .1, .4})
	fmt.Println(median)
	// Output: 0.4
}

func ExampleWeightedConsensus() {
	p, _ := score.WeightedConsensus([]score.Opinion{{P: .8, Skill: 2}, {P: .5, Skill: 1}, {P: .1, Skill: -3}})
	fmt.Printf("%.3f\n", p) // the agent with a skill below zero has no weight
	// Output: 0.716
}
