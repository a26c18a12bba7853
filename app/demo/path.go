package demo

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// seed determines everything that is drawn; another seed gives another world. This one was chosen because luck
// hides less of the agents' skill than with most.
const seed = 20261589

// dice returns the random numbers of one subject. Each subject has separate ones, so that a new market or agent
// doesn't change the others.
func dice(subject string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(subject))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// pathStep is the time between two points of a path, and between two prices of a history.
const pathStep = 6 * time.Hour

// path is the public's belief over time about which of several outcomes happens. It has a log weight for each
// outcome and point. The probabilities are their softmax.
type path struct {
	start   time.Time
	weights [][]float64
}

// at returns the probability of each outcome at time t. It interpolates between points and is constant beyond
// the ends. ripple is the standard deviation of the trading noise that is added.
func (p *path) at(t time.Time, ripple float64, dice *rand.Rand) []float64 {
	position := min(max(float64(t.Sub(p.start))/float64(pathStep), 0), float64(len(p.weights)-1))
	i := min(int(position), len(p.weights)-2)
	part := position - float64(i)
	logs := make([]float64, len(p.weights[i]))
	for k := range logs {
		logs[k] = p.weights[i][k]*(1-part) + p.weights[i+1][k]*part
		if ripple > 0 {
			logs[k] += ripple * dice.NormFloat64()
		}
	}
	return softmax(logs)
}

func softmax(logs []float64) []float64 {
	out, sum := make([]float64, len(logs)), 0.0
	for k, x := range logs {
		out[k] = math.Exp(x)
		sum += out[k]
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}

// evidence is how much the public learns over a market's whole life, as a squared signal-to-noise ratio. With
// this value, most markets end near their outcome and some surprise.
const evidence = 2.6

// foresight is how far ahead of the public an agent with full insight sees, as a part of a market's life.
const foresight = 0.42

// reveal returns the path of a market whose outcome becomes known between start and end. winner is the index of
// that outcome, or -1 if none wins.
//
// The public begins at the prior and observes one noisy signal per outcome, which drifts up for the winner.
// Each point is the posterior by Bayes' rule. If winners are drawn from the priors, the prices are calibrated:
// of all markets at 30 %, 30 % happen. The path continues past the end for as long as foresight reaches.
func reveal(start, end time.Time, prior []float64, winner int, dice *rand.Rand) path {
	steps := float64(end.Sub(start)) / float64(pathStep)
	rate := math.Sqrt(evidence / steps)
	logs := make([]float64, len(prior))
	for k, p := range prior {
		logs[k] = math.Log(p)
	}
	out := path{start: start}
	for range int(steps*(1+foresight)) + 2 {
		out.weights = append(out.weights, append([]float64(nil), logs...))
		for k := range logs {
			signal := dice.NormFloat64()
			if k == winner {
				signal += rate
			}
			logs[k] += rate * signal
		}
	}
	return out
}

// restless is the daily standard deviation of an open market's log weights. ahead is how far past now its path
// continues, for agents with insight.
const (
	restless = 0.15
	ahead    = 5 * 24 * time.Hour
)

// wander returns a random path from start that has the given prices at the given moment.
func wander(start, moment time.Time, prices []float64, dice *rand.Rand) path {
	out := path{start: start}
	logs := make([]float64, len(prices))
	for range int(moment.Add(ahead).Sub(start)/pathStep) + 2 {
		out.weights = append(out.weights, append([]float64(nil), logs...))
		for k := range logs {
			logs[k] += restless * math.Sqrt(pathStep.Hours()/24) * dice.NormFloat64()
		}
	}
	drifted := out.at(moment, 0, nil)
	for _, point := range out.weights {
		for k := range point {
			point[k] += math.Log(prices[k] / drifted[k])
		}
	}
	return out
}

// draw returns a random outcome, by probability.
func draw(prior []float64, dice *rand.Rand) int {
	x := dice.Float64()
	for k, p := range prior {
		if x -= p; x < 0 {
			return k
		}
	}
	return len(prior) - 1
}

func logit(p float64) float64 { return math.Log(p / (1 - p)) }

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func round(x float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(x*scale) / scale
}
