package market

import (
	"slices"

	"github.com/pulsecast/pulsecast/app/score"
)

// View is how a market stood on one outcome at one moment. All values are
// probabilities, 0..1.
type View struct {
	// Price is the displayed price. In a wide book it is only the middle.
	Price float64
	// The bid and ask are those of the outcome, and both Price without a known book.
	score.View
	// Book is whether a book is known.
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
	if bid == nil || ask == nil || len(prices) != 2 {
		return View{Price: prices[i], View: score.PriceView(prices[i])}, true
	}
	book := score.BookView(bid, ask)
	if i == 1 {
		book = book.Opposite()
	}
	return View{Price: prices[i], View: book, Book: true}, true
}
