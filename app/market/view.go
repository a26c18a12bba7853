package market

import (
	"slices"

	"github.com/pulsecast/pulsecast/app/score"
)

// View is the market's view of one outcome at one time. All values are probabilities, 0..1.
type View struct {
	// Price is the displayed price. If the book is wide, it is only the middle of the book.
	Price float64
	// View has the bid and the ask of the outcome. Without a known book, both equal Price.
	score.View
	// Book says whether a book is known.
	Book bool
}

// View returns the last observed view of outcome i. ok is false if its price is unknown.
func (m *Market) View(i int) (v View, ok bool) {
	if len(m.Prices) != len(m.Outcomes) {
		return View{}, false
	}
	return view(m.Prices, m.BestBid, m.BestAsk, i)
}

// View returns the observed view of outcome i. ok is false if its price is unknown.
func (p *Price) View(i int) (v View, ok bool) { return view(p.Prices, p.BestBid, p.BestAsk, i) }

// view makes the view of outcome i. Sources give only the first outcome's book. With two outcomes, the second
// one's book is the mirror image. With more, no book is known.
func view(prices []float64, bid, ask *float64, i int) (View, bool) {
	known := slices.ContainsFunc(prices, func(p float64) bool { return p > 0 }) // all prices 0 means that the source doesn't know them
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
