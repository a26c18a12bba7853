package polymarket

import (
	"math"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

// quote sets prices, book, volume and liquidity. Probability is that of "Yes", else of the first outcome. Price
// is that outcome's settled price if the market is closed. Otherwise it is the last trade, else the middle of a
// book with both sides, else the probability. The book of a closed market is ignored, because it says nothing.
func (w *wireMarket) quote(m *market.Market) {
	m.Prices = prices(w.OutcomePrices, len(m.Outcomes))
	if p, ok := m.PriceOf(max(m.YesIndex(), 0)); ok {
		m.Probability = &p
	}
	if bid, ask, ok := w.book(); ok && !m.Closed {
		m.BestBid, m.BestAsk = &bid, &ask
	}
	m.Price = w.price(m)
	m.Volume = amount(w.VolumeNum, w.Volume)
	m.Volume24h = amount(w.Volume24h)
	m.Liquidity = amount(w.LiquidityNum, w.Liquidity)
	if change := w.DayChange; change.Known && math.Abs(change.Value) <= 1 && !m.Closed {
		m.PriceChange24h = &change.Value
	}
}

// book returns the best bid and ask of the first outcome. If only one is missing, that side is empty: the bid
// is 0, or the ask is 1. If a value isn't a price, or the bid is above the ask, the whole book is unknown.
func (w *wireMarket) book() (bid, ask float64, ok bool) {
	bid, bidOK := sideOr(w.BestBid, 0)
	ask, askOK := sideOr(w.BestAsk, 1)
	known := w.BestBid != nil || w.BestAsk != nil
	return bid, ask, known && bidOK && askOK && bid >= 0 && bid <= ask && ask <= 1
}

func sideOr(side *lenientjson.Number, empty float64) (price float64, ok bool) {
	if side == nil {
		return empty, true
	}
	return side.Value, side.Known
}

func (w *wireMarket) price(m *market.Market) *float64 {
	var p float64
	middle, known := w.middle(m)
	switch {
	case m.Closed && m.Probability != nil:
		p = *m.Probability
	case w.LastTradePrice.Known:
		p = w.LastTradePrice.Value
	case known:
		p = middle
	case m.Probability != nil:
		p = *m.Probability
	default:
		return nil
	}
	p = clamp(p)
	return &p
}

// middle returns the middle of a book with both sides, for the outcome that Probability belongs to.
func (w *wireMarket) middle(m *market.Market) (p float64, known bool) {
	if m.BestBid == nil || w.BestBid == nil || w.BestAsk == nil {
		return 0, false
	}
	return m.OfReference(0, (*m.BestBid+*m.BestAsk)/2)
}

// prices returns the outcomes' probabilities, limited to 0..1. It returns nil if one is invalid, if their
// number differs from that of the outcomes, or if all are zero, which Gamma sends for unknown prices.
func prices(list lenientjson.List, n int) []float64 {
	if len(list) != n {
		return nil
	}
	out := make([]float64, n)
	sum := 0.0
	for i, s := range list {
		p, ok := lenientjson.ParseNumber(s)
		if !ok {
			return nil
		}
		out[i] = clamp(p)
		sum += out[i]
	}
	if sum == 0 {
		return nil
	}
	return out
}

// amount returns the first number that is known and not negative.
func amount(candidates ...lenientjson.Number) *float64 {
	for _, c := range candidates {
		if c.Known && c.Value >= 0 {
			return &c.Value
		}
	}
	return nil
}

func clamp(p float64) float64 { return min(max(p, 0), 1) }
