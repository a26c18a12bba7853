package simulation

import (
	"math"

	"github.com/pulsecast/pulsecast/app/score"
)

// The rivals are scoring rules used elsewhere. They see the same predictions on the markets that
// have settled by the day of the board. They rank agents whose number of settled predictions is at
// least the number of events that our board requires.

// settledOnly returns the predictions whose markets have settled, and their number by agent.
func settledOnly(w *world, agents int, all []forecast) ([]forecast, []int) {
	var settled []forecast
	counts := make([]int, agents)
	for _, f := range all {
		if w.markets[f.market].closes <= boardDay*day {
			settled = append(settled, f)
			counts[f.agent]++
		}
	}
	return settled, counts
}

// byForecast builds a board from a value of each prediction. An agent's value is the mean, with the
// interval ±1.96·s/√n, which treats predictions as independent. expected returns the expectation of
// the value given the truth.
func byForecast(name string, agents []*agent, settled []forecast, counts []int, least int,
	value, expected func(f forecast) float64) *board {
	b := newBoard(name, len(agents))
	sum, squares, target := make([]float64, len(agents)), make([]float64, len(agents)), make([]float64, len(agents))
	for _, f := range settled {
		v := value(f)
		sum[f.agent] += v
		squares[f.agent] += v * v
		target[f.agent] += expected(f)
	}
	for i, count := range counts {
		n := float64(count)
		if count < 2 {
			continue
		}
		b.value[i], b.estimate[i] = sum[i]/n, sum[i]/n
		b.half[i] = 1.96 * math.Sqrt(max(squares[i]/n-sq(sum[i]/n), 0)/(n-1))
		b.target[i] = target[i] / n
		b.eligible[i] = count >= least
	}
	b.rank(agents, 0)
	return b
}

// overTruth returns the expectation, given the truth, of a value that is linear in the result.
func overTruth(f forecast, value func(f forecast, y float64) float64) float64 {
	return f.truth*value(f, 1) + (1-f.truth)*value(f, 0)
}

// rawBrier ranks by the mean Brier score, negated so that higher is better.
func rawBrier(w *world, agents []*agent, settled []forecast, counts []int, least int) *board {
	value := func(f forecast, y float64) float64 { return -score.Brier(f.p, y) }
	return byForecast("raw Brier", agents, settled, counts, least,
		func(f forecast) float64 { return value(f, w.markets[f.market].y) },
		func(f forecast) float64 { return overTruth(f, value) })
}

// brierSkill ranks by 1 − Brier/0.25, the mean improvement over always saying 0.5.
func brierSkill(w *world, agents []*agent, settled []forecast, counts []int, least int) *board {
	value := func(f forecast, y float64) float64 { return 1 - score.Brier(f.p, y)/0.25 }
	return byForecast("1 − Brier/0.25", agents, settled, counts, least,
		func(f forecast) float64 { return value(f, w.markets[f.market].y) },
		func(f forecast) float64 { return overTruth(f, value) })
}

// winRate ranks by the share of predictions on the right side of 0.5. A prediction of 0.5 is half a
// win.
func winRate(w *world, agents []*agent, settled []forecast, counts []int, least int) *board {
	value := func(f forecast, y float64) float64 {
		switch {
		case f.p == 0.5:
			return 0.5
		case (f.p > 0.5) == (y > 0.5):
			return 1
		default:
			return 0
		}
	}
	return byForecast("win rate", agents, settled, counts, least,
		func(f forecast) float64 { return value(f, w.markets[f.market].y) },
		func(f forecast) float64 { return overTruth(f, value) })
}

// marketAdjusted ranks by ForecastBench's score for questions from markets: the Brier score minus
// the market's Brier score, which measures the difficulty of the question. The market's probability
// is the last price seen at publication. (forecastbench.org technical report, October 2025;
// src/leaderboard/main.py, where the question's fixed effect is the Brier score of the "Imputed
// Forecaster".)
func marketAdjusted(w *world, agents []*agent, settled []forecast, counts []int, least int) *board {
	value := func(f forecast, y float64) float64 {
		q := 0.5
		if before, after := w.around(w.markets[f.market], f, 0); before != nil {
			q = middle(*before)
		} else if after != nil {
			q = middle(*after)
		}
		return score.Brier(q, y) - score.Brier(f.p, y)
	}
	return byForecast("ForecastBench, market-adjusted", agents, settled, counts, least,
		func(f forecast) float64 { return value(f, w.markets[f.market].y) },
		func(f forecast) float64 { return overTruth(f, value) })
}

// twoWay ranks by ForecastBench's difficulty-adjusted Brier score. It fits brier(i, j) = a(i) +
// b(j) + u over agents i and questions j by least squares, and then averages an agent's brier −
// b(j). (forecastbench.org technical report, October 2025; two_way_fixed_effects in
// src/leaderboard/main.py.) The fit alternates between the two effects until it converges, which
// gives the least squares solution.
func twoWay(w *world, agents []*agent, settled []forecast, counts []int, least int) *board {
	ability, difficulty := make([]float64, len(agents)), make([]float64, len(w.markets))
	asked := make([]float64, len(w.markets))
	for _, f := range settled {
		asked[f.market]++
	}
	for range 200 {
		next := make([]float64, len(w.markets))
		for _, f := range settled {
			next[f.market] += (score.Brier(f.p, w.markets[f.market].y) - ability[f.agent]) / asked[f.market]
		}
		moved := 0.0
		fresh := make([]float64, len(agents))
		for _, f := range settled {
			fresh[f.agent] += (score.Brier(f.p, w.markets[f.market].y) - next[f.market]) / float64(counts[f.agent])
		}
		for i := range fresh {
			moved = max(moved, math.Abs(fresh[i]-ability[i]))
		}
		ability, difficulty = fresh, next
		if moved < 1e-7 {
			break
		}
	}
	// The difficulty that the question would have with the other result, for the same abilities.
	// Only the expectation needs it.
	otherwise := make([]float64, len(w.markets))
	for _, f := range settled {
		otherwise[f.market] += (score.Brier(f.p, 1-w.markets[f.market].y) - ability[f.agent]) / asked[f.market]
	}
	value := func(f forecast, y float64) float64 {
		if y == w.markets[f.market].y {
			return difficulty[f.market] - score.Brier(f.p, y)
		}
		return otherwise[f.market] - score.Brier(f.p, y)
	}
	return byForecast("ForecastBench, two-way effects", agents, settled, counts, least,
		func(f forecast) float64 { return value(f, w.markets[f.market].y) },
		func(f forecast) float64 { return overTruth(f, value) })
}
