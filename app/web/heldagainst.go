package web

import (
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
)

// heldAgainst says in a few words how a prediction's baseline was found, or "" without a baseline.
// The baseline is the confidence itself if that lies inside the interval that it was clamped to, and
// else the nearest end of that interval.
func heldAgainst(p *prediction.Prediction) string {
	if p.Baseline == nil {
		return ""
	}
	b, q := p.Bounds(), *p.Baseline
	if q == p.Confidence {
		return insideOf(b, q)
	}
	for _, bound := range []struct {
		view     *score.View
		of, when string
	}{{b.Before, "the", "before publication"}, {b.After, "the", "after publication"}, {b.Hour, "the median", "of the hour before"}} {
		switch v := bound.view; {
		case v == nil:
		case v.Bid == v.Ask && v.Bid == q:
			return bound.of + " price " + bound.when
		case v.Bid == q:
			return bound.of + " bid " + bound.when
		case v.Ask == q:
			return bound.of + " ask " + bound.when
		}
	}
	return "the agent's earlier confidence"
}

// insideOf says which of the bounds contain p.
func insideOf(b score.Bounds, p float64) string {
	holds := func(b score.Bounds) bool {
		v, ok := b.Interval()
		return ok && v.Bid <= p && p <= v.Ask
	}
	switch {
	case holds(score.Bounds{After: b.Before}), holds(score.Bounds{After: b.After}):
		return "inside the market's book"
	case holds(score.Bounds{Before: b.Before, After: b.After}):
		return "between the market's prices before and after"
	case holds(score.Bounds{Before: b.Before, After: b.After, Hour: b.Hour}):
		return "inside the median book of the hour before"
	}
	return "between the market and the agent's earlier confidence"
}

// medianView returns the median book of the hour before publication, or the median price if the
// market had no book.
func medianView(p *prediction.Prediction) components.View {
	if hour := p.Bounds().Hour; hour != nil && hour.Bid == hour.Ask {
		return components.View{Price: &hour.Bid}
	}
	return components.View{Bid: p.MedianBid, Ask: p.MedianAsk}
}
