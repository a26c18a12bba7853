package score

import "time"

// Bounds are the values that decide the baseline of a prediction. All are probabilities of the
// prediction's outcome, in 0..1. An unknown one is nil.
type Bounds struct {
	// Before is the last view at or before publication; see CountsBefore.
	Before *View
	// After is the first view after publication that counts; see CountsAfter.
	After *View
	// Previous is the agent's own last confidence on this market. In a market with two outcomes, a
	// confidence p in the other one counts as 1 − p. With more outcomes, only the same one counts.
	Previous *float64
	// Hour is the median view of the hour before publication; see MedianView.
	Hour *View
}

// Interval returns the smallest interval that holds all known bounds. It returns false if After is
// nil. The prediction then has no baseline and doesn't count for the ranking, so an agent can't bet
// on a known result in the last minute.
//
// Only the past widens the interval. If prices long after publication did, too, they would cancel
// the edge of correct predictions and keep that of wrong ones.
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

// Clamp returns the baseline q of confidence p, in 0..1: p clamped to Interval. It returns false if
// there is no baseline.
//
// A confidence inside the interval is its own baseline and earns exactly 0. That includes any value
// inside the market's spread, any value between two prices that the market showed, and the agent's
// previous confidence.
func (b Bounds) Clamp(p float64) (q float64, ok bool) {
	v, ok := b.Interval()
	if !ok {
		return 0, false
	}
	return min(max(p, v.Bid), v.Ask), true
}

// These constants say which observed views count. A feed shows the past: a view observed just after
// publication may be from just before it. So the view after publication is taken only after a
// delay. Without the delay, an agent that publishes news faster than the feed would be compared
// twice with the price before the news. In the simulation such agents lead the board. The delay is
// two intervals of the feed, and at most two minutes.
const (
	// BeforeMaxIntervals is the greatest age of the view before publication, in intervals of the
	// feed.
	BeforeMaxIntervals = 3
	// afterDelayIntervals is the least time from publication to the view after, in intervals of the
	// feed.
	afterDelayIntervals = 2
	// AfterDelayMost is the longest delay. It is reached at the default interval of 60 s.
	AfterDelayMost = 2 * time.Minute
	// AfterWithin is the greatest time from publication to the view after it.
	AfterWithin = 15 * time.Minute
)

// CountsBefore reports whether a view observed at the time observed may be the view before
// publication. interval is the time between two ticks of the feed. The latest such view is
// Bounds.Before.
func CountsBefore(published, observed time.Time, interval time.Duration) bool {
	age := published.Sub(observed)
	return age >= 0 && age <= BeforeMaxIntervals*interval
}

// CountsAfter reports whether a view observed at the time observed may be the view after
// publication. interval is the time between two ticks of the feed. The first such view is
// Bounds.After.
func CountsAfter(published, observed time.Time, interval time.Duration) bool {
	wait := observed.Sub(published)
	return wait > 0 && wait >= AfterDelay(interval) && wait <= AfterWithin
}

// AfterDelay returns the least time from publication to the view after. interval is the time between two ticks of the
// feed.
func AfterDelay(interval time.Duration) time.Duration {
	return min(afterDelayIntervals*interval, AfterDelayMost)
}
