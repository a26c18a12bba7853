package simulation

import (
	"math"
	"math/rand/v2"

	"github.com/pulsecast/pulsecast/app/score"
)

// bookKind is one kind of order book. The shares follow recorded open markets: of 300, 42 had a
// spread above 0.10 and 65 a liquidity below 1,000. On one page of 100, two thirds of the spreads
// were at most 0.005 and a quarter in 0.005..0.02. The relation of spread and liquidity is assumed,
// and so is the delay with which a book follows the news.
type bookKind struct {
	share float64
	// narrow and wide are the least and the greatest spread.
	narrow, wide float64
	// illiquid is the share of books with a liquidity below 1,000.
	illiquid float64
	// lag is the greatest delay with which the book follows the news, in seconds.
	lag float64
	// spikes is the share of hours in which a single order displaces the book for a while.
	spikes float64
}

var bookKinds = []bookKind{
	{share: .50, narrow: .001, wide: .005, illiquid: .06, lag: 20 * second},
	{share: .24, narrow: .005, wide: .02, illiquid: .12, lag: 20 * second},
	{share: .12, narrow: .02, wide: .10, illiquid: .50, lag: minute, spikes: .01},
	{share: .12, narrow: .10, wide: .50, illiquid: .70, lag: 5 * minute, spikes: .02},
	{share: .02, narrow: 1, wide: 1, illiquid: .70, lag: 5 * minute},
}

// thinSpread is the least spread of a book that agents treat as thin.
const thinSpread = 0.05

// book says how a market quotes its fair price.
type book struct {
	spread, lag, spikes float64
	illiquid            bool
}

// tightBooks are the books of worlds that have almost no spreads.
var tightBooks = []bookKind{{share: 1, narrow: .001, wide: .005, lag: 20 * second}}

func newBook(r *rand.Rand, tight bool) book {
	kinds := bookKinds
	if tight {
		kinds = tightBooks
	}
	at := r.Float64()
	for _, k := range kinds {
		if at -= k.share; at < 0 {
			return book{
				spread: k.narrow * math.Pow(k.wide/k.narrow, r.Float64()), spikes: k.spikes,
				lag: k.lag * r.Float64(), illiquid: r.Float64() < k.illiquid,
			}
		}
	}
	return newBook(r, tight) // reached only because of rounding; the shares add up to 1
}

// bookAt returns the quotes of the exchange at t. The fair price lies anywhere in the spread. Its
// place there changes each day.
func (w *world) bookAt(m *market, t float64) score.View {
	if m.book.spread >= 1 {
		return score.View{Bid: 0, Ask: 1}
	}
	fair := m.price(t)
	if t < m.result+m.reaction {
		fair = m.price(max(t-m.book.lag, m.event.opens)) + w.displaced(m, t)
	}
	below := m.book.spread * w.noise(m.id, int(t/day), 3)
	bid, ask := thousandths(fair-below), thousandths(fair-below+m.book.spread)
	return score.BookView(&bid, &ask)
}

func thousandths(p float64) float64 { return math.Round(p*1000) / 1000 }

// spike is a time during which one order displaces a book from the fair price.
type spike struct{ from, to, size float64 }

// spikeIn returns the spike that begins in an hour, and false if there is none.
func (w *world) spikeIn(m *market, at int) (spike, bool) {
	if m.book.spikes == 0 || w.noise(m.id, at, 4) >= m.book.spikes {
		return spike{}, false
	}
	from := float64(at)*hour + 35*minute*w.noise(m.id, at, 5)
	s := spike{from: from, to: from + 2*minute + 23*minute*w.noise(m.id, at, 6)}
	s.size = 0.05 + 0.15*w.noise(m.id, at, 7)
	if w.noise(m.id, at, 8) < 0.5 {
		s.size = -s.size
	}
	return s, true
}

func (w *world) displaced(m *market, t float64) float64 {
	if s, ok := w.spikeIn(m, int(t/hour)); ok && t >= s.from && t < s.to {
		return s.size
	}
	return 0
}

// push is a book that the author of a prediction quotes, from length seconds before publication
// until 15 minutes after it, which is the last moment for the view after.
type push struct {
	length float64
	view   score.View
}

// seen returns the book at t, including the quotes of the prediction's author.
func (w *world) seen(m *market, f forecast, t float64) score.View {
	if f.push != nil && t >= f.at-f.push.length && t <= f.at+15*minute {
		return f.push.view
	}
	return w.bookAt(m, t)
}

// tick returns the view that the feed showed at tick k, and false if there was none.
func (w *world) tick(m *market, f forecast, k int) (score.View, bool) {
	at := float64(k) * tickLength
	if at < m.event.opens || at > m.closes || w.noise(m.id, k, 1) < missedTicks {
		return score.View{}, false
	}
	return w.seen(m, f, max(at-feedLag*w.noise(m.id, k, 2), m.event.opens)), true
}

// around returns the views before and after publication. before is the last view that the feed
// showed by then, at most three ticks old. after is the first view from the delay on, within 15
// minutes, as in score.CountsAfter. Each is nil if there is no such view.
func (w *world) around(m *market, f forecast, delay float64) (before, after *score.View) {
	now := int(math.Floor(f.at / tickLength))
	for k := now; k >= 0 && f.at-float64(k)*tickLength <= 3*tickLength; k-- {
		if v, ok := w.tick(m, f, k); ok {
			before = &v
			break
		}
	}
	first := max(now+1, int(math.Ceil((f.at+delay)/tickLength)))
	for k := first; float64(k)*tickLength-f.at <= 15*minute; k++ {
		if v, ok := w.tick(m, f, k); ok {
			return before, &v
		}
	}
	return before, nil
}

// hourStep is the interval at which hourBefore reads the book.
const hourStep = 10 * minute

// hourBefore returns the median view of the hour before publication, or nil if there is none.
func (w *world) hourBefore(m *market, f forecast) *score.View {
	var quotes []score.Quote
	for t := max(f.at-hour, m.event.opens); t < f.at; t += hourStep {
		quotes = append(quotes, score.Quote{At: moment(t), View: w.seen(m, f, t)})
	}
	if v, ok := score.MedianView(quotes, moment(f.at)); ok {
		return &v
	}
	return nil
}
