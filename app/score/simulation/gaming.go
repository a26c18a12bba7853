package simulation

import (
	"math"

	"github.com/pulsecast/pulsecast/app/score"
)

// The behaviours in this file exploit thin books or the calendar. These agents know only the fair
// price of the exchange, so their true skill is at most 0.

// sweepEmpty publishes the fair price on markets with a wide or empty book, whose displayed middle
// may be far from it.
func (b *publisher) sweepEmpty(a *agent, m *market) {
	at := b.moment(a, m.event)
	if at >= m.result || m.book.illiquid || m.book.spread < thinSpread {
		return
	}
	b.add(a, m, at, m.price(at), m.price(at))
}

// pushLengths is the time for which each kind quotes a thin book before publication.
var pushLengths = map[kind]float64{push5: 5 * minute, push45: 45 * minute, push180: 180 * minute}

const (
	// takenAfter is the mean time until a trader takes a quote that is away from the fair price of
	// a thin book.
	takenAfter = 30 * minute
	// pushAttempts is the number of attempts of a pusher on one market.
	pushAttempts = 4
)

// push tries to quote a thin book before it publishes. If a trader takes the quote, the pusher
// gives up the attempt, unless the world's setting requote lets it replace the quote at any cost.
func (b *publisher) push(a *agent, m *market) {
	if m.book.spread < thinSpread || m.book.illiquid {
		return
	}
	length := pushLengths[a.kind]
	for range pushAttempts {
		at := b.moment(a, m.event)
		taken := takenAfter*b.r.ExpFloat64() < length+3*minute && !b.w.requote
		if !taken && at-length >= m.event.opens && at+5*minute < m.result {
			b.pushBook(a, m, at, length)
			return
		}
	}
}

// pushBook publishes the fair price after quoting the book at the side that is further from it.
func (b *publisher) pushBook(a *agent, m *market, at, length float64) {
	fair, v := m.price(at), b.w.bookAt(m, at)
	quoted := score.View{Bid: v.Bid, Ask: thousandths(v.Bid + .002)}
	if v.Ask-fair > fair-v.Bid {
		quoted = score.View{Bid: thousandths(v.Ask - .002), Ask: v.Ask}
	}
	b.add(a, m, at, fair, fair)
	if last := len(b.all) - 1; last >= 0 && b.all[last].agent == a.id && b.all[last].at == at {
		b.all[last].push = &push{length, quoted}
	}
}

// pickStale watches the exchange for news and publishes the fair price while a thin book still
// quotes an older one.
func (b *publisher) pickStale(a *agent, m *market) {
	if m.book.illiquid || m.book.lag < minute {
		return
	}
	for _, i := range m.event.jumps {
		at := m.event.times[i] + 5*second
		if at < a.joins || at+minute >= m.result {
			continue
		}
		fair, v := m.price(at), b.w.bookAt(m, at)
		if fair < v.Bid || fair > v.Ask {
			b.add(a, m, at, fair, fair)
		}
	}
}

// fadeSpikes publishes the earlier price soon after every jump of the book, whether news or a
// single order caused the jump.
func (b *publisher) fadeSpikes(a *agent, m *market) {
	if m.book.illiquid {
		return
	}
	fade := func(jump float64) {
		at := jump + 30*second + minute*b.r.Float64()
		was := b.w.bookAt(m, jump-minute)
		now := b.w.bookAt(m, at)
		if at >= a.joins && at < m.result && math.Abs(middle(now)-middle(was)) >= 0.05 {
			b.add(a, m, at, middle(was), m.price(at))
		}
	}
	for _, i := range m.event.jumps {
		fade(m.event.times[i] + m.book.lag)
	}
	if m.book.spikes > 0 {
		for at := int(max(m.event.opens, a.joins)/hour) + 1; float64(at)*hour < m.result; at++ {
			if s, ok := b.w.spikeIn(m, at); ok {
				fade(s.from)
			}
		}
	}
}

func middle(v score.View) float64 { return (v.Bid + v.Ask) / 2 }

// takeSide says more than the price on all events that close on one day, and less on all events of
// another day.
func (b *publisher) takeSide(a *agent, m *market) {
	at := b.moment(a, m.event)
	if at >= m.result {
		return
	}
	lean := a.lean
	if b.w.noise(a.id, int(m.event.closes/day), 9) < 0.5 {
		lean = -lean
	}
	q := m.price(at)
	b.add(a, m, at, 1/(1+math.Exp(-lean)*(1-q)/q), q)
}
