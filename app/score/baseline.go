package score

import "time"

// Bounds are the values that decide what a prediction is held against. All are
// probabilities of the prediction's outcome in 0..1; one that isn't known is nil.
type Bounds struct {
	// Before is the last view at or before publication; see CountsBefore.
	Before *View
	// After is the first view after publication that counts; see CountsAfter.
	After *View
	// Previous is the agent's own last confidence on this market and outcome.
	Previous *float64
	// Hour is the median view of the hour before publication; see MedianView.
	Hour *View
}

// Interval is the smallest interval that holds every known bound. It reports false
// without a view after publication: then there is no baseline and the prediction isn't
// ranked, so a result that is already known can't be bet on in the last minute.
//
// Only the past widens the interval. A longer view after would take away correct calls
// and keep wrong ones.
func (b Bounds) Interval() (View, bool) {
	if b.After == nil {
		return View{}, false
	}
	v := *b.After
	for _, w := range []*View{b.Before, b.Hour} {
		if w != nil {
			v = View{Bid: min(v.Bid, w.Bid), Ask: max(v.Ask, w.Ask)}
		}
	}
	if b.Previous != nil {
		v = View{Bid: min(v.Bid, *b.Previous), Ask: max(v.Ask, *b.Previous)}
	}
	return v, true
}

// Clamp returns q, what a prediction of p is held against: p clamped to Interval. It
// reports false without a baseline.
//
// A value inside the spread, between two prices that the market showed, or equal to the
// agent's previous confidence is its own baseline and earns exactly 0.
func (b Bounds) Clamp(p float64) (q float64, ok bool) {
	v, ok := b.Interval()
	if !ok {
		return 0, false
	}
	return min(max(p, v.Bid), v.Ask), true
}

// Which observed prices count. A price feed shows the past: what it shows just after
// publication may be what the market was just before. The first price after therefore
// counts only after a delay. Without it, an agent that publishes news faster than the
// feed is measured twice against the price before the news, and the simulation puts
// such agents on top of the board. The delay is two intervals of the feed, at most
// two minutes: a feed read faster is trusted sooner.
const (
	// BeforeMaxIntervals is how many intervals of the feed old the view before may be.
	BeforeMaxIntervals = 3
	// afterDelayIntervals and AfterDelayMost give the least time from publication to
	// the view after.
	afterDelayIntervals = 2
	// AfterDelayMost is that delay with the default interval of 60 s, and above it.
	AfterDelayMost = 2 * time.Minute
	// AfterWithin is the most time from publication to the view after.
	AfterWithin = 15 * time.Minute
)

// CountsBefore reports whether a view observed at that time may be the view before
// publication, with a feed that ticks once per interval. The latest qualifying one is.
func CountsBefore(published, observed time.Time, interval time.Duration) bool {
	age := published.Sub(observed)
	return age >= 0 && age <= BeforeMaxIntervals*interval
}

// CountsAfter reports whether a view observed at that time may be the view after
// publication, with a feed that ticks once per interval. The first qualifying one is.
func CountsAfter(published, observed time.Time, interval time.Duration) bool {
	wait := observed.Sub(published)
	return wait > 0 && wait >= min(afterDelayIntervals*interval, AfterDelayMost) && wait <= AfterWithin
}
