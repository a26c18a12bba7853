package polymarket

import (
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/source/lenientjson"
)

// quote fills prices, volume and liquidity. Probability is of "Yes", else of the
// first outcome. Price is that outcome's settled price once closed, else the last
// trade, else the middle of the book, else the probability.
func (w *wireMarket) quote(m *market.Market) {
	m.Prices = prices(w.OutcomePrices, len(m.Outcomes))
	if p, ok := m.PriceOf(max(m.YesIndex(), 0)); ok {
		m.Probability = &p
	}
	m.Price = w.price(m)
	m.Volume = amount(w.VolumeNum, w.Volume)
	m.Liquidity = amount(w.LiquidityNum, w.Liquidity)
}

func (w *wireMarket) price(m *market.Market) *float64 {
	var p float64
	switch {
	case m.Closed && m.Probability != nil:
		p = *m.Probability
	case w.LastTradePrice.Known:
		p = w.LastTradePrice.Value
	case w.BestBid.Known && w.BestAsk.Known:
		p = (clamp(w.BestBid.Value) + clamp(w.BestAsk.Value)) / 2
	case m.Probability != nil:
		p = *m.Probability
	default:
		return nil
	}
	p = clamp(p)
	return &p
}

// prices are the outcomes' probabilities, each clamped to 0..1. They are nil when
// one cannot be read, when there is not one for each outcome, and when all are
// zero, which is Gamma's way of saying unknown.
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

// amount is the first number that is known and not negative.
func amount(candidates ...lenientjson.Number) *float64 {
	for _, c := range candidates {
		if c.Known && c.Value >= 0 {
			return &c.Value
		}
	}
	return nil
}

func clamp(p float64) float64 { return min(max(p, 0), 1) }
