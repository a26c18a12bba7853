package demo

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/market"
)

// walkStep is the time between two moves of a price. walkSpread is the standard deviation of a move in log
// weights, the same as in the sample's past.
const walkStep = time.Minute

var walkSpread = restless * math.Sqrt(walkStep.Hours()/24)

// livedOn returns the state of one event's open markets at the given time, from their last observed state.
// Prices have moved, or, after the scheduled end, the markets are closed with an outcome. Each move is drawn
// from the event and the minute. The outcome is drawn from the event, with the last prices as probabilities. So
// the result doesn't depend on how often it was computed before.
func livedOn(event []market.Market, now time.Time) []market.Market {
	first := event[0]
	closes := first.ClosesAt.Add(lateness(&first))
	ends, until := !closes.After(now), now
	if ends {
		until = closes
	}
	steps := ladderOf(&first)
	p := chances(event, steps)
	if !empty(&first) {
		p = walk(first.EventKey(), p, first.ObservedAt, until)
	}
	if ends {
		winner := draw(p, dice("outcome of "+first.EventKey()))
		clear(p)
		p[winner] = 1
	}
	out := make([]market.Market, 0, len(event))
	for k, m := range event {
		m.ObservedAt = now
		if ends {
			m.Closed, m.ClosedAt, m.Resolution = true, closes, "resolved"
		}
		if m.EventID == "" {
			out = append(out, priced(m, p))
		} else if steps != nil {
			yes := round(steps.yes(p, k), 4)
			out = append(out, priced(m, []float64{yes, round(1-yes, 4)}))
		} else {
			out = append(out, priced(m, []float64{p[k], round(1-p[k], 4)}))
		}
	}
	return out
}

// lateness returns how long after its scheduled close a market closes.
func lateness(m *market.Market) time.Duration {
	for _, q := range openLate {
		if asks(m, q.question) {
			return time.Duration((q.closes - q.days) * float64(day))
		}
	}
	return 0
}

// ladderOf returns the ladder that a market is a rung of, or nil if there is none.
func ladderOf(m *market.Market) *ladder {
	for i := range openLadders {
		if prefix, _, _ := strings.Cut(openLadders[i].title, "{"); m.EventTitle != "" && strings.HasPrefix(m.EventTitle, prefix) {
			return &openLadders[i]
		}
	}
	return nil
}

// empty reports whether a market's book has no quotes. Its displayed price then stays.
func empty(m *market.Market) bool {
	return m.BestBid != nil && m.BestAsk != nil && *m.BestBid == 0 && *m.BestAsk == 1
}

// chances returns the probabilities of everything that can happen in an event. These are the outcomes of a
// market that stands alone, the intervals between the rungs of a ladder, or else Yes for each sibling, and none
// of them.
func chances(event []market.Market, steps *ladder) []float64 {
	if event[0].EventID == "" {
		return event[0].Prices
	}
	if steps != nil {
		rungs := make([]float64, len(event))
		for k := range event {
			rungs[k] = event[k].Prices[0]
		}
		return steps.between(rungs)
	}
	p, rest := make([]float64, 0, len(event)+1), 1.0
	for _, m := range event {
		p, rest = append(p, m.Prices[0]), rest-m.Prices[0]
	}
	return append(p, rest)
}

// walk moves probabilities from one time to another, once per whole minute.
func walk(subject string, p []float64, from, to time.Time) []float64 {
	logs := make([]float64, len(p))
	for k := range p {
		logs[k] = math.Log(max(p[k], leastPrice))
	}
	for at := from.Truncate(walkStep).Add(walkStep); !at.After(to); at = at.Add(walkStep) {
		rolls := dice(subject + " at " + strconv.FormatInt(at.Unix(), 10))
		for k := range logs {
			logs[k] += walkSpread * rolls.NormFloat64()
		}
	}
	return rounded(softmax(logs), 4)
}
