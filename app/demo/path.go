package demo

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// seed is the fixed start of everything drawn. Another one is another world: this one
// was picked because luck hides less of the agents' skill in it than in most.
const seed = 20261589

// dice are the random numbers of one subject. Each subject has its own, so that a
// further market or agent leaves the others as they are.
func dice(subject string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(subject))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// pathStep is the time between two points of a path, and of a price history.
const pathStep = 6 * time.Hour

// path is what the public knows over time about which of several outcomes happens:
// one weight per outcome and point, in logs, of which the probabilities are the
// normalised exponentials.
type path struct {
	start   time.Time
	weights [][]float64
}

// at is the probability of each outcome at a moment, interpolated between points and
// flat beyond the ends. ripple is the spread of the trading noise upon it.
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

// evidence is how much the public learns over a market's whole life, as the squared
// signal-to-noise ratio: enough that most markets end near their outcome, and some
// surprise.
const evidence = 2.6

// foresight is how far ahead of the public, as a part of a market's life, an agent
// with full insight sees.
const foresight = 0.42

// reveal is the path of a market whose outcome winner (-1: none) becomes known
// between start and end. The public begins at the prior and then watches one noisy
// signal per outcome, which drifts up for the winner; each point is the posterior by
// Bayes' rule. With winners drawn from the priors the path is therefore an honestly
// calibrated price: of all markets at 30 %, 30 % happen. It goes on past the end for
// as far as foresight reaches.
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

// restless is the daily spread of an open market's log weights, ahead how far past
// now its path goes, for agents with insight.
const (
	restless = 0.15
	ahead    = 5 * 24 * time.Hour
)

// wander is a path that stands at the given prices at one moment, and has wandered
// there since start.
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

// draw picks an outcome by its probability.
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
