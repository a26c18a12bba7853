package simulation

import (
	"math"
	"math/rand/v2"
	"time"
)

// shocks correlates the outcomes of events that close on one day. Their latent scores share a
// Brownian motion, which makes up a share rho of the variance.
type shocks struct {
	rho float64
	// every is the number of days between closing days. 0 means that events close at any time.
	every float64
	seed  uint64
	walks map[int][]float64 // by closing day
}

// eventsPerMarket is the approximate number of events for each market, and closingSpan the
// approximate number of days over which they close.
const (
	eventsPerMarket = 0.49
	closingSpan     = 190
)

// closingDays returns the number of days between closing days with which about c.PerDay events
// close together.
func closingDays(c Config) float64 {
	return math.Round(float64(c.PerDay) * closingSpan / (eventsPerMarket * float64(c.Markets)))
}

const shockSteps = 2048

// mix returns the movement own up to step i, with a share rho of it replaced by the movement of the
// closing day.
func (s shocks) mix(e *event, i int, own float64) float64 {
	if s.rho == 0 {
		return own
	}
	shared := s.walk(int(e.closes / day))[int(min(e.clock[i], 1)*shockSteps)]
	return math.Sqrt(s.rho)*shared + math.Sqrt(1-s.rho)*own
}

// walk returns the standard Brownian motion of a closing day, in shockSteps steps.
func (s shocks) walk(closing int) []float64 {
	if path, ok := s.walks[closing]; ok {
		return path
	}
	r := rand.New(rand.NewPCG(s.seed, uint64(closing)))
	path := make([]float64, shockSteps+1)
	for i := 1; i < len(path); i++ {
		path[i] = path[i-1] + r.NormFloat64()/math.Sqrt(shockSteps)
	}
	s.walks[closing] = path
	return path
}

// moment converts a time of the simulation for package score.
func moment(seconds float64) time.Time {
	return time.Unix(0, int64(seconds*float64(time.Second)))
}
