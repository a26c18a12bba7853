package score

import (
	"slices"
	"time"
)

// View is a market's opinion about one outcome at one moment: the interval from the best bid to the
// best ask, both probabilities in 0..1. A wide interval means that the market has no firm opinion,
// whatever price it displays.
type View struct{ Bid, Ask float64 }

// BookView returns the view of the outcome that a book quotes, which is the first outcome of a
// market. A bid of nil means that there are no bids and counts as 0. An ask of nil means that there
// are no asks and counts as 1. Quotes outside 0..1 are clipped. If the bid is above the ask, the
// two are swapped.
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

// PriceView returns the view of an outcome for which the source reports a price and no book. Its
// bid and ask are both price.
func PriceView(price float64) View { return View{Bid: price, Ask: price} }

// Opposite returns the view of the other outcome of a market with two outcomes: from 1 − ask to 1 −
// bid, rounded to nine decimals.
func (v View) Opposite() View { return View{Bid: Complement(v.Ask), Ask: Complement(v.Bid)} }

// Complement converts a probability of one of two outcomes to one of the other: 1 − p, rounded to nine
// decimals.
func Complement(p float64) float64 { return float64(nanoScale-nano(p)) / nanoScale }

// Quote is a view and the time from which it stood.
type Quote struct {
	At   time.Time
	View View
}

// MedianWithin is the time before publication over which MedianView takes the medians.
const MedianWithin = 60 * time.Minute

// MedianView returns the time-weighted median bid and the time-weighted median ask of the hour
// before publication. It returns false if no quote stood within that hour.
//
// quotes must be in order of time. Each stands until the next, and the last until publication. A
// quote that began before the hour counts from the start of the hour. If several bids or asks split
// the time into halves, the lowest bid and the highest ask are taken. So a quote has to stand for
// more than half of the hour to narrow the view.
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

// step is a value and the time for which it stood.
type step struct {
	value float64
	stood time.Duration
}

// lowerMedian returns the lowest value at or below which the steps stood for at least half of the
// time. It sorts steps, which must not be empty.
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
