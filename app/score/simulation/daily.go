package simulation

import (
	"math"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/pulsecast/pulsecast/app/score"
)

// dailyEvents is the number of settled events of each agent in a daily study.
const dailyEvents = 600

// Daily says how odds and ranges turn out for agents that are examined after every day, if the luck
// of events that close on one day is correlated. Within a day, an agent always disagrees with the
// market in the same direction, so that a shock hits all its events alike. If the truth is half way
// between agent and market, the edge is 0.
type Daily struct {
	// Rho is the correlation of the outcomes of one day, 0..1. PerDay is the number of the agent's
	// events a day.
	Rho    float64
	PerDay int
	// Ever counts the agents without an edge that are proven at any look. Plain is the same without
	// the day blocks. Tails is the same as Ever for agents that only bet against outcomes with a
	// probability of 2 to 8 %.
	Ever, Tails, Plain Share
	// Held counts the ranges that hold the truth after all events. HeldPlain is the same without
	// the day blocks. Half of the agents have no edge, and half have an edge of 2 points.
	Held, HeldPlain Share
	// Proven counts the agents with an edge of 2 points that are proven after all events.
	Proven Share
}

// Power says how many honest agents with an edge are proven after given numbers of events.
type Power struct {
	// Edge is the true edge in points per event.
	Edge float64
	// Proven has an entry for each number of events in PowerEvents.
	Proven []Share
}

// PowerEvents are the numbers of events of Power.
var PowerEvents = []int{30, 60, 100, 200, 400, 800}

// bettor draws an agent's confidence, the market's probability and the truth.
type bettor func(r *rand.Rand, side float64) (p, q, truth float64)

// without is a bettor without an edge: the truth is half way between agent and market.
func without(r *rand.Rand, side float64) (p, q, truth float64) {
	odds := -0.4 + 1.2*r.NormFloat64()
	p, q = fourPlaces(odds+side*0.6*math.Abs(r.NormFloat64())), fourPlaces(odds)
	return p, q, (p + q) / 2
}

// seller is a bettor without an edge that bets against unlikely outcomes.
func seller(r *rand.Rand, _ float64) (p, q, truth float64) {
	q = math.Round(1e4*(0.02+0.06*r.Float64())) / 1e4
	p = math.Round(1e4*q*r.Float64()) / 1e4
	return p, q, (p + q) / 2
}

// honest returns a bettor that knows the truth and differs from the market by as much as the given
// edge requires.
func honest(edge float64) bettor {
	return func(r *rand.Rand, side float64) (p, q, truth float64) {
		q = 0.25 + 0.5*r.Float64()
		distance := math.Sqrt(edge/100) * min(math.Abs(r.NormFloat64()), 3)
		p = math.Round(1e4*min(max(q+side*distance, 0.001), 0.999)) / 1e4
		q = math.Round(1e4*q) / 1e4
		return p, q, p
	}
}

func fourPlaces(odds float64) float64 { return math.Round(1e4/(1+math.Exp(-odds))) / 1e4 }

// life is an agent's record, which grows by a day at a time, and the sum of its expected edges.
type life struct {
	sums     score.Sums
	expected float64
}

// live adds a day with the given number of events.
func (l *life) live(r *rand.Rand, bet bettor, rho float64, events int) {
	shock, side := r.NormFloat64(), 1.
	if r.Float64() < 0.5 {
		side = -1
	}
	var day score.Points
	for range events {
		p, q, truth := bet(r, side)
		y, latent := 0., math.Sqrt(rho)*shock+math.Sqrt(1-rho)*r.NormFloat64()
		if 0.5*math.Erfc(-latent/math.Sqrt2) < truth {
			y = 1
		}
		c := score.Bet(p, q, y, 0)
		l.sums.Add(c)
		day += c.C
		l.expected += 100 * (sq(q-truth) - sq(p-truth))
	}
	l.sums.Days.Add(int64(events), day)
}

// plain returns the record without day blocks.
func (l *life) plain() score.Sums {
	s := l.sums
	s.Days = score.Days{}
	return s
}

func proven(s score.Sums) bool {
	odds, ok := s.Odds()
	return ok && score.Proven(odds)
}

func (l *life) held(s score.Sums) bool {
	p, ok := s.Posterior(score.DefaultSharePrior)
	truth := l.expected / float64(s.N)
	return ok && p.Low <= truth && truth <= p.High
}

// watch simulates one agent and reports whether it was proven at any look from 30 events on, with
// and without the day blocks.
func watch(r *rand.Rand, bet bettor, d *Daily) (l life, ever, plain bool) {
	for l.sums.N < dailyEvents {
		l.live(r, bet, d.Rho, d.PerDay)
		if int(l.sums.N) >= leaderboardRules.events {
			ever = ever || proven(l.sums)
			plain = plain || proven(l.plain())
		}
	}
	return l, ever, plain
}

// run simulates the given number of agents of each kind.
func (d *Daily) run(agents int) {
	r := rand.New(rand.NewPCG(uint64(1000*d.Rho), uint64(d.PerDay)))
	for range agents {
		l, ever, plain := watch(r, without, d)
		d.Ever.count(ever)
		d.Plain.count(plain)
		d.hold(&l)
		_, ever, _ = watch(r, seller, d)
		d.Tails.count(ever)
		var better life
		for better.sums.N < dailyEvents {
			better.live(r, honest(2), d.Rho, d.PerDay)
		}
		d.Proven.count(proven(better.sums))
		d.hold(&better)
	}
}

func (d *Daily) hold(l *life) {
	d.Held.count(l.held(l.sums))
	d.HeldPlain.count(l.held(l.plain()))
}

// RunDaily simulates the given number of agents of each kind, for each correlation and number of
// events a day.
func RunDaily(agents int) []Daily {
	var all []Daily
	for _, perDay := range []int{1, 10, 20} {
		for _, rho := range []float64{0, .1, .3} {
			all = append(all, Daily{Rho: rho, PerDay: perDay})
		}
	}
	inParallel(len(all), func(i int) { all[i].run(agents) })
	return all
}

// RunPower simulates the given number of honest agents for each edge, with one event a day.
func RunPower(agents int) []Power {
	all := []Power{{Edge: 1}, {Edge: 2}, {Edge: 4}}
	inParallel(len(all), func(i int) {
		p := &all[i]
		p.Proven = make([]Share, len(PowerEvents))
		r := rand.New(rand.NewPCG(uint64(p.Edge), 77))
		for range agents {
			var l life
			for k, events := range PowerEvents {
				for int(l.sums.N) < events {
					l.live(r, honest(p.Edge), 0, 1)
				}
				p.Proven[k].count(proven(l.sums))
			}
		}
	})
	return all
}

// inParallel calls work for 0..n−1, with one call at a time for each processor.
func inParallel(n int, work func(i int)) {
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			work(i)
			<-slots
		})
	}
	all.Wait()
}
