package market

import "slices"

// View is what a market says of one outcome at one moment. All values are
// probabilities, 0..1.
type View struct {
	// Price is the displayed price. In a wide book it is only the middle.
	Price float64
	// Bid and Ask bound the market's opinion. Without a known book both are Price.
	Bid, Ask float64
	// Book is whether Bid and Ask come from a book.
	Book bool
}

// View is the last observed view of outcome i; ok is false when its price is unknown.
func (m *Market) View(i int) (v View, ok bool) {
	if len(m.Prices) != len(m.Outcomes) {
		return View{}, false
	}
	return view(m.Prices, m.BestBid, m.BestAsk, i)
}

// View is the observed view of outcome i; ok is false when its price is unknown.
func (p *Price) View(i int) (v View, ok bool) { return view(p.Prices, p.BestBid, p.BestAsk, i) }

// view turns the book of the first outcome round for the second of two. The books of
// three or more outcomes are not observed.
func view(prices []float64, bid, ask *float64, i int) (View, bool) {
	known := slices.ContainsFunc(prices, func(p float64) bool { return p > 0 }) // all zero means unknown upstream
	if i < 0 || i >= len(prices) || !known {
		return View{}, false
	}
	v := View{Price: prices[i], Bid: prices[i], Ask: prices[i]}
	if bid == nil || ask == nil || len(prices) != 2 {
		return v, true
	}
	v.Bid, v.Ask, v.Book = *bid, *ask, true
	if i == 1 {
		v.Bid, v.Ask = nanoRound(1-*ask), nanoRound(1-*bid)
	}
	return v, true
}
