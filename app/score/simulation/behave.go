package simulation

import (
	"math"
	"math/rand/v2"
	"slices"
)

// forecast is one prediction. truth is the probability of "Yes" given everything that its author
// knew. A perfectly calibrated agent would have said truth.
type forecast struct {
	agent, market int
	at            float64
	p, truth      float64
	// push is the book that the author quotes around publication, or nil.
	push *push
}

// publisher collects the predictions that the agents publish until the board is built.
type publisher struct {
	w      *world
	r      *rand.Rand
	shared [][families]float64 // by market: the shared error of each model family
	all    []forecast
}

// publish simulates every agent and returns the predictions in order of time.
func publish(w *world, agents []*agent, r *rand.Rand) []forecast {
	b := &publisher{w: w, r: r, shared: make([][families]float64, len(w.markets))}
	for i := range b.shared {
		for f := range families {
			b.shared[i][f] = r.NormFloat64()
		}
	}
	for _, a := range agents {
		for _, e := range w.events {
			if r.Float64() < a.cover && e.closes > a.joins {
				b.answer(a, e)
			}
		}
	}
	b.follow(agents)
	slices.SortFunc(b.all, func(f, g forecast) int {
		switch {
		case f.at != g.at && f.at < g.at:
			return -1
		case f.at != g.at:
			return 1
		default:
			return f.agent - g.agent
		}
	})
	return b.all
}

func (b *publisher) answer(a *agent, e *event) {
	if a.kind == earlyHunter && !e.oneWay {
		return
	}
	for _, id := range e.markets {
		m := b.w.markets[id]
		if a.kind != spammer && len(e.markets) > 1 && b.r.Float64() < 0.4 {
			continue
		}
		switch a.kind {
		case copier:
			b.copyPrice(a, m)
		case selective:
			b.pickEasy(a, m)
		case lastMinute:
			b.knowResult(a, m)
		case latency:
			b.outrunFeed(a, m)
		case sweeper:
			b.sweepEmpty(a, m)
		case push5, push45, push180:
			b.push(a, m)
		case picker:
			b.pickStale(a, m)
		case fader:
			b.fadeSpikes(a, m)
		case oneSide:
			b.takeSide(a, m)
		case lateCopier, sybilKnown, sybilUnknown: // follow publishes their predictions
		default:
			b.think(a, m)
		}
	}
}

// add publishes a prediction if the market is open and the board isn't built yet.
func (b *publisher) add(a *agent, m *market, at, p, truth float64) {
	if at < m.event.opens || at >= m.closes || at >= boardDay*day {
		return
	}
	p = min(max(math.Round(p*10_000)/10_000, 0.001), 0.999)
	b.all = append(b.all, forecast{agent: a.id, market: m.id, at: at, p: p, truth: truth})
}

// moment returns a random time at which an agent first looks at a market.
func (b *publisher) moment(a *agent, e *event) float64 {
	from := max(e.opens, a.joins)
	return from + b.r.Float64()*(e.closes-from)
}

// think simulates an agent with a belief. The agent observes the market once, publishes its belief,
// and publishes again later with the news since then. The news is up to five minutes old when a
// model has finished thinking.
func (b *publisher) think(a *agent, m *market) {
	o := a.observe(m.path[len(m.path)-1], b.shared[m.id][a.family], b.r)
	at := b.moment(a, m.event)
	first := 0.0
	for i := range 1 + poisson(b.r, a.updates) {
		if at >= m.result {
			return
		}
		known := m.stateAt(max(at-5*minute*b.r.Float64(), m.event.opens))
		p := a.belief(o, known)
		if i == 0 {
			first = p
		}
		if a.kind == repeater {
			p = repeated(a, i, first, m.price(at))
		}
		b.add(a, m, at, spoken(a, p), o.posterior(known))
		at += b.r.Float64() * (m.event.closes - at)
	}
}

// repeated returns the i-th confidence of a repeater. Half of the repeaters always repeat the first
// one. The other half publish the market's price in between, in the hope of being paid again.
func repeated(a *agent, i int, first, price float64) float64 {
	if a.id%2 == 1 && i%2 == 1 {
		return price
	}
	return first
}

// spoken rounds a confidence as language models do: most to whole per cents, some to tenths of one.
func spoken(a *agent, p float64) float64 {
	steps := 100.0
	if a.id%3 == 0 {
		steps = 1000
	}
	return min(max(math.Round(p*steps)/steps, 0.01), 0.99)
}

func (b *publisher) copyPrice(a *agent, m *market) {
	at := b.moment(a, m.event)
	if at >= m.result {
		return
	}
	if shown, _ := b.w.around(m, forecast{at: at}, 0); shown != nil {
		b.add(a, m, at, middle(*shown), m.price(at))
	}
}

// pickEasy answers only markets that are almost decided, with a confidence slightly beyond the
// price.
func (b *publisher) pickEasy(a *agent, m *market) {
	at := b.moment(a, m.event)
	q := m.price(at)
	if at >= m.result || (q > 0.1 && q < 0.9) {
		return
	}
	odds := 1.15 * math.Log(q/(1-q))
	b.add(a, m, at, 1/(1+math.Exp(-odds)), q)
}

// knowResult publishes the result seconds after it is known, before the price shows it.
func (b *publisher) knowResult(a *agent, m *market) {
	b.add(a, m, m.result+10*second*b.r.Float64(), 0.002+0.996*m.y, m.y)
}

// outrunFeed watches the exchange and publishes each jump of the price before the platform's feed
// shows it.
func (b *publisher) outrunFeed(a *agent, m *market) {
	for _, i := range m.event.jumps {
		jump := m.event.times[i]
		if jump < a.joins || jump+15*second >= m.result {
			continue
		}
		p := m.price(jump)
		if math.Abs(p-m.price(jump-second)) >= 0.02 {
			b.add(a, m, jump+15*second*b.r.Float64(), p, p)
		}
	}
}

func poisson(r *rand.Rand, mean float64) int {
	n := 0
	for limit, product := math.Exp(-mean), r.Float64(); product > limit; n++ {
		product *= r.Float64()
	}
	return n
}
