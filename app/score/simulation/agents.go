package simulation

import (
	"math"
	"math/rand/v2"
)

// kind is a kind of behaviour.
type kind int

const (
	skilled kind = iota
	informedOverconfident
	noise
	alwaysHalf
	copier
	overconfident
	spammer
	repeater
	lastMinute
	selective
	lateCopier
	latency
	lottery
	earlyHunter
	sybilKnown
	sybilUnknown
	sweeper
	push5
	push45
	push180
	picker
	fader
	oneSide
	kinds
)

var kindNames = [kinds]string{
	"skilled in degrees", "informed overconfident", "noise", "always 50 %", "market copiers",
	"uninformed overconfident", "volume spammers", "repeaters", "last-minute, know the result",
	"selective answerers", "late copiers", "feed-latency exploiters", "sybil lottery",
	"early-resolution hunters", "sybils copying, owner known", "sybils copying, owner unknown",
	"sweepers of empty books", "pushers of a thin book, 5 min", "the same, 45 min", "the same, 3 h",
	"pickers of stale quotes", "faders of every spike", "one side on all of a day",
}

// cheats lists the kinds that must stay out of the top 20. Informed overconfidence isn't cheating.
// Copies of a good agent's predictions are good predictions, and the board limits the ranked agents
// per owner. push45 is missing because pushing a book for 45 minutes does pay; docs/simulation.md
// says how much.
var cheats = []kind{noise, alwaysHalf, copier, overconfident, spammer, repeater, lastMinute,
	selective, lateCopier, latency, lottery, earlyHunter,
	sweeper, push5, push180, picker, fader, oneSide}

func allKinds() []kind {
	all := make([]kind, kinds)
	for k := range kinds {
		all[k] = k
	}
	return all
}

// shares holds the number of agents of each kind in a population of 342.
var shares = [kinds]int{105, 15, 25, 8, 15, 15, 12, 12, 12, 15, 12, 12, 12, 10, 10, 10, 6, 6, 6, 6, 6, 6, 6}

const families = 5

// agent is a member of the population. Its traits are drawn once. behave.go decides what it
// publishes.
type agent struct {
	id, owner int // owner 0 means unknown
	kind      kind
	family    int
	// foresight is the correlation of the agent's private observation with the whole future
	// movement of a new market. 0 means no foresight.
	foresight float64
	// temper multiplies the log odds of the agent's calibrated probability. Above 1 means
	// overconfidence.
	temper float64
	// fancy is the standard deviation of pure noise in the agent's log odds. lean is a preference
	// for Yes without a reason, added to the log odds.
	fancy, lean float64
	half        bool // always says 0.5
	cover       float64
	updates     float64 // mean number of further predictions per market
	joins       float64
	skill       float64
}

func newPopulation(r *rand.Rand, n int, spread float64) []*agent {
	total := 0
	for _, share := range shares {
		total += share
	}
	var all []*agent
	for k, cumulated := kind(0), 0; k < kinds; k++ {
		cumulated += shares[k]
		for len(all) < n*cumulated/total {
			a := newAgent(r, k, spread)
			a.id = len(all)
			all = append(all, a)
		}
	}
	return all
}

func newAgent(r *rand.Rand, k kind, spread float64) *agent {
	a := &agent{
		kind: k, family: r.IntN(families), temper: math.Exp(0.1 * r.NormFloat64()),
		cover:   min(0.25*math.Exp(0.8*r.NormFloat64()), 0.9),
		updates: 0.5 * r.ExpFloat64(), joins: 60 * day * r.Float64(),
	}
	switch k {
	case skilled:
		a.foresight = min(math.Abs(spread*r.NormFloat64()), 0.6)
	case informedOverconfident:
		a.foresight, a.temper = 0.2+0.2*r.Float64(), 1.2+0.5*r.Float64()
	case noise:
		a.fancy = 0.2 + 0.8*r.Float64()
	case alwaysHalf:
		a.half = true
	case copier, lastMinute, selective, lateCopier, latency:
		a.temper, a.cover = 1, 0.8
	case sweeper, push5, push45, push180, picker, fader: // thin books are rare, so these agents take all of them
		a.temper, a.cover, a.joins = 1, 1, 0
	case overconfident:
		a.temper, a.fancy = 1.3+1.2*r.Float64(), 0.1
	case spammer:
		a.fancy, a.cover, a.updates = 0.1+0.3*r.Float64(), 1, 3
	case repeater: // little foresight, published again and again
		a.foresight, a.updates = 0.1*r.Float64(), 12
	case lottery: // many accounts make just enough bold bets, so that a few are lucky
		a.fancy, a.cover, a.updates = 0.8, 0.09, 0
	case oneSide:
		a.temper, a.lean = 1, 0.4+0.4*r.Float64()
	case earlyHunter:
		a.lean, a.cover = 0.5+r.Float64(), 0.8
	case sybilKnown, sybilUnknown:
		a.owner = 0
		if k == sybilKnown {
			a.owner = 1
		}
	}
	return a
}

// observation is what an agent privately observes of one market: the final X plus noise, and the
// noise in its belief. It stays the same at every update.
type observation struct{ signal, variance, fancy float64 }

func (a *agent) observe(final, shared float64, r *rand.Rand) observation {
	o := observation{variance: math.Inf(1), fancy: a.fancy * r.NormFloat64()}
	own := r.NormFloat64()
	if a.foresight > 0 {
		o.variance = 1/(a.foresight*a.foresight) - 1
		o.signal = final + math.Sqrt(o.variance)*(math.Sqrt(0.5)*shared+math.Sqrt(0.5)*own)
	}
	return o
}

// posterior returns the calibrated probability given everything that the agent could know.
func (o observation) posterior(s state) float64 {
	if math.IsInf(o.variance, 1) || s.remaining <= 0 {
		return s.probability(s.x, s.remaining)
	}
	mean := (s.x*o.variance + o.signal*s.remaining) / (s.remaining + o.variance)
	return s.probability(mean, s.remaining*o.variance/(s.remaining+o.variance))
}

// belief returns the agent's probability after an observation.
func (a *agent) belief(o observation, s state) float64 {
	if a.half {
		return 0.5
	}
	p := min(max(o.posterior(s), 1e-6), 1-1e-6)
	odds := a.temper*math.Log(p/(1-p)) + o.fancy + a.lean
	return 1 / (1 + math.Exp(-odds))
}

// reference is an open market at one moment, and one way in which it may end.
type reference struct {
	state         state
	final, shared float64
}

// measure computes the true skill of every agent; see the package comment.
func measure(all []*agent, w *world, r *rand.Rand) {
	var set []reference
	for len(set) < 4000 {
		m := w.markets[r.IntN(len(w.markets))]
		s := m.stateAt(m.event.opens + r.Float64()*(m.event.closes-m.event.opens))
		// Draw a new end, under the condition that the market is still open.
		final := s.x + math.Sqrt(s.remaining)*r.NormFloat64()
		if final <= 0 || r.Float64() < s.survival {
			set = append(set, reference{s, final, r.NormFloat64()})
		}
	}
	for _, a := range all {
		if a.followsMarket() {
			continue
		}
		common := rand.New(rand.NewPCG(9, 9)) // the same random numbers for every agent
		var sum float64
		for _, c := range set {
			o := a.observe(c.final, c.shared, common)
			q, truth, b := c.state.price(), o.posterior(c.state), a.belief(o, c.state)
			sum += 100 * ((q-truth)*(q-truth) - (b-truth)*(b-truth))
		}
		a.skill = sum / float64(len(set))
	}
}

// followsMarket reports whether the agent's belief is the market's, so that its true skill is 0.
// That includes accounts that copy another agent's predictions.
func (a *agent) followsMarket() bool {
	switch a.kind {
	case copier, lastMinute, selective, lateCopier, latency, sybilKnown, sybilUnknown,
		sweeper, push5, push45, push180, picker, fader:
		return true
	}
	return false
}
