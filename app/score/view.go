package score

import (
	"slices"
	"time"
)

// View is what a market says about one outcome at one moment: an interval of
// probabilities in 0..1, from the best bid to the best ask. A market whose book is
// wide has no firmer opinion than that, whatever price it displays.
type View struct{ Bid, Ask float64 }

// BookView is the view of the outcome that a book is quoted for: the first of a
// market. A side without orders is nil and counts as 0 for the bid and 1 for the ask.
// Quotes outside 0..1 are clipped and a crossed book is put in order.
func BookView(bid, ask *float64) View {
	v := View{Bid: 0, Ask: 1}
	if bid != nil {
		v.Bid = min(max(*bid, 0), 1)
	}
	if ask != nil {
		v.Ask = min(max(*ask, 0), 1)
	}
	return View{Bid: min(v.Bid, v.Ask), Ask: max(v.Bid, v.Ask)}
}

// PriceView is the view of an outcome for which the source reports a price and no book.
func PriceView(price float64) View { return View{Bid: price, Ask: price} }

// Opposite is the same book seen from the other of two outcomes, from 1 − ask to
// 1 − bid, in decimals of nine places.
func (v View) Opposite() View { return View{Bid: complement(v.Ask), Ask: complement(v.Bid)} }

func complement(p float64) float64 { return float64(nanoScale-nano(p)) / nanoScale }

// Quote is a view with the time from which it stood.
type Quote struct {
	At   time.Time
	View View
}

// MedianWithin is the span before publication over which MedianView is taken.
const MedianWithin = 60 * time.Minute

// MedianView is the time-weighted median bid and the time-weighted median ask of the
// hour before publication. The quotes are a step series in order of time: each stands
// until the next, the last until publication, and one that began earlier counts from
// the start of the hour. The median of the bids is the lowest and that of the asks the
// highest that splits the time in halves, so a quote has to stand for more than half of
// the hour to narrow the view. It reports false if no quote stood within the hour.
func MedianView(quotes []Quote, published time.Time) (View, bool) {
	start := published.Add(-MedianWithin)
	bids, asks := make([]step, 0, len(quotes)), make([]step, 0, len(quotes))
	for i, q := range quotes {
		from, to := q.At, published
		if from.Before(start) {
			from = start
		}
		if i+1 < len(quotes) && quotes[i+1].At.Before(to) {
			to = quotes[i+1].At
		}
		if stood := to.Sub(from); stood > 0 {
			bids = append(bids, step{q.View.Bid, stood})
			asks = append(asks, step{-q.View.Ask, stood})
		}
	}
	if len(bids) == 0 {
		return View{}, false
	}
	return View{Bid: lowerMedian(bids), Ask: -lowerMedian(asks)}, true
}

// step is a value and how long it stood.
type step struct {
	value float64
	stood time.Duration
}

// lowerMedian is the lowest value at or below which at least half of the time was spent.
func lowerMedian(steps []step) float64 {
	slices.SortFunc(steps, func(a, b step) int {
		switch {
		case a.value < b.value:
			return -1
		case a.value > b.value:
			return 1
		}
		return 0
	})
	var total, sum time.Duration
	for _, s := range steps {
		total += s.stood
	}
	for _, s := range steps {
		if sum += s.stood; 2*sum >= total {
			return s.value
		}
	}
	return steps[len(steps)-1].value
}
