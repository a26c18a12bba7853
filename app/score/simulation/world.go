package simulation

import (
	"math"
	"math/rand/v2"
	"sort"
)

const (
	second = 1.0
	minute = 60 * second
	hour   = 60 * minute
	day    = 24 * hour

	// boardDay is the day on which the board is built, and lastDay the day of the latest scheduled
	// close.
	boardDay = 180
	lastDay  = 270

	stepLength = 2 * hour
	tickLength = 60 * second
	// feedLag is the greatest age of the book that a tick shows.
	feedLag = 60 * second
	// missedTicks is the share of ticks that bring no price.
	missedTicks = 0.02
	// categories is the number of categories. All are equally likely.
	categories = 5
	// siblingShare is the share of a market's variance that it has in common with its siblings.
	siblingShare = 0.6
)

// event is a group of sibling markets with a common clock.
type event struct {
	opens, closes float64 // seconds; closes is the scheduled close
	category      int
	oneWay        bool // may close early, but only because the outcome happened
	times         []float64
	clock         []float64 // variance used up to and including times[i]
	jumps         []int     // indices of times at which news breaks
	markets       []int
}

// market is one question. Its price is the price of "Yes".
type market struct {
	id       int
	event    *event
	eventID  int
	path     []float64 // X from times[i] on
	start    float64   // X before times[0]
	result   float64   // when the outcome is public
	reaction float64   // delay until the price shows it
	closes   float64   // when trading ends and the market settles
	y        float64
	book     book
}

type world struct {
	events  []*event
	markets []*market
	seed    uint64
	shocks  shocks
	// tight and requote are Config.TightBooks and Config.Requote.
	tight, requote bool
}

func newWorld(r *rand.Rand, c Config, seed uint64) *world {
	w := &world{seed: seed, tight: c.TightBooks, requote: c.Requote,
		shocks: shocks{rho: c.Rho, every: closingDays(c), seed: seed, walks: map[int][]float64{}}}
	for markets := c.Markets; len(w.markets) < markets; {
		siblings := 1
		if r.Float64() < 0.35 {
			siblings = 2 + r.IntN(6)
		}
		w.addEvent(r, min(siblings, markets-len(w.markets)))
	}
	return w
}

func (w *world) addEvent(r *rand.Rand, siblings int) {
	e := newEvent(r, w.shocks.every)
	common := walk(r, e)
	for range siblings {
		m := &market{id: len(w.markets), event: e, eventID: len(w.events), start: -0.4 + 1.1*r.NormFloat64(), book: newBook(r, w.tight)}
		own := walk(r, e)
		for i := range own {
			x := math.Sqrt(siblingShare)*common[i] + math.Sqrt(1-siblingShare)*own[i]
			m.path = append(m.path, m.start+w.shocks.mix(e, i, x))
		}
		m.settle(r)
		e.markets = append(e.markets, m.id)
		w.markets = append(w.markets, m)
	}
	w.events = append(w.events, e)
}

// newEvent draws an event. It closes on a multiple of every days, or at any moment if every is 0.
func newEvent(r *rand.Rand, every float64) *event {
	life := min(max(25*math.Exp(0.7*r.NormFloat64()), 3), 110) * day
	e := &event{opens: r.Float64() * 160 * day, oneWay: r.Float64() < 1./3, category: r.IntN(categories)}
	e.closes = min(e.opens+life, lastDay*day)
	if every > 0 {
		e.closes = math.Ceil(e.closes/every/day) * every * day
	}
	type step struct {
		at, variance float64
		news         bool
	}
	steps := []step{{e.closes, 0.15 * r.ExpFloat64(), false}}
	for at := e.opens + stepLength*r.Float64(); at < e.closes; at += stepLength {
		steps = append(steps, step{at, stepLength / (e.closes - e.opens), false})
	}
	for range 1 + r.IntN(10) {
		steps = append(steps, step{e.opens + r.Float64()*(e.closes-e.opens), 0.08 * r.ExpFloat64(), true})
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i].at < steps[j].at })
	var total, used float64
	for _, s := range steps {
		total += s.variance
	}
	for i, s := range steps {
		used += s.variance / total
		e.times, e.clock = append(e.times, s.at), append(e.clock, used)
		if s.news {
			e.jumps = append(e.jumps, i)
		}
	}
	return e
}

// walk returns a standard Brownian motion at the steps of the event's clock.
func walk(r *rand.Rand, e *event) []float64 {
	path := make([]float64, len(e.clock))
	var x, before float64
	for i, c := range e.clock {
		x += math.Sqrt(c-before) * r.NormFloat64()
		path[i], before = x, c
	}
	return path
}

func (m *market) settle(r *rand.Rand) {
	e := m.event
	m.result = e.closes
	if m.path[len(m.path)-1] > 0 {
		m.y = 1
		if e.oneWay {
			m.result = e.opens + r.Float64()*(e.closes-e.opens)
		}
	}
	m.reaction = 20 * second * r.Float64()
	m.closes = m.result + 2*hour // the market trades on at almost 0 or 1
	if r.Float64() < 0.5 {
		m.closes = m.result + 5*minute*r.Float64()
	}
}

// state is the public knowledge about a market: X, the variance still to come, and the chance that
// an outcome that will happen hasn't happened yet.
type state struct{ x, remaining, survival float64 }

func (m *market) stateAt(t float64) state {
	e := m.event
	s := state{m.start, 1, 1}
	if i := sort.SearchFloat64s(e.times, t); i < len(e.times) && e.times[i] == t {
		s.x, s.remaining = m.path[i], 1-e.clock[i]
	} else if i > 0 {
		s.x, s.remaining = m.path[i-1], 1-e.clock[i-1]
	}
	if e.oneWay {
		s.survival = 1 - min(max((t-e.opens)/(e.closes-e.opens), 0), 1)
	}
	return s
}

// probability returns the probability of "Yes" if the final latent score is normal with the given
// mean and variance.
func (s state) probability(mean, variance float64) float64 {
	happens := 0.5 * math.Erfc(-mean/math.Sqrt(2*max(variance, 1e-9)))
	return happens * s.survival / (happens*s.survival + 1 - happens)
}

func (s state) price() float64 { return quote(s.probability(s.x, s.remaining)) }

// price returns the fair price at t, in steps of 0.001.
func (m *market) price(t float64) float64 {
	if t >= m.result+m.reaction {
		return quote(m.y)
	}
	return m.stateAt(min(t, m.event.closes-1)).price()
}

func quote(p float64) float64 { return min(max(math.Round(p*1000)/1000, 0.002), 0.998) }

// noise returns a uniform number in 0..1 that depends only on the seed and the arguments.
func (w *world) noise(market, k, purpose int) float64 {
	h := w.seed ^ uint64(market)<<40 ^ uint64(k)<<4 ^ uint64(purpose)
	for range 2 { // the finalizer of splitmix64
		h += 0x9e3779b97f4a7c15
		h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
		h = (h ^ h>>27) * 0x94d049bb133111eb
		h ^= h >> 31
	}
	return float64(h>>11) / (1 << 53)
}
