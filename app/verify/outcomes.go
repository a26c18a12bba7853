package verify

import (
	"context"
	"maps"
	"math"
	"slices"
	"time"
)

// settlesWithin is how long after its publication a prediction may be open although others on its market are settled: it
// may wait for its baseline, which takes a quarter of an hour, and then for a tick.
const settlesWithin = time.Hour

// roundedWithin is how far from 1 the two values of a market of two outcomes may add up. A scalar market settles at the
// prices of its source, which may be rounded to two decimals.
const roundedWithin = 0.0101

// happening is how far an outcome happened, as the first resolved prediction on it says.
type happening struct {
	y          float64
	prediction string
}

// noteOutcome compares the y of a prediction on a market with that of the others on the same outcome, and remembers the
// predictions that are open.
func (l *ledger) noteOutcome(r *record) {
	if r.Status == "open" && time.Since(r.CreatedAt) > settlesWithin {
		l.open = append(l.open, r)
	}
	if r.Status != "resolved" || r.Resolution == nil || r.Resolution.Value == nil {
		return
	}
	y, named := *r.Resolution.Value, l.happened[r.Market.ID]
	if named == nil {
		named = map[string]happening{}
		l.happened[r.Market.ID] = named
	}
	first, known := named[r.Market.Outcome]
	if !known {
		named[r.Market.Outcome] = happening{y, r.ID}
	} else if !near(first.y, y) {
		l.report.differ("prediction %s: y is %v, but it is %v for prediction %s on the same outcome", r.ID, y, first.y, first.prediction)
	}
}

// compareOutcomes checks that the y of two outcomes add up to 1 if a market has only these, and that no prediction was
// left open on a settled market. A name that the market no longer has is left out: the outcome may be the same as one of
// another name, or wait for an admin.
func (l *ledger) compareOutcomes(ctx context.Context, api *client) error {
	for _, market := range slices.Sorted(maps.Keys(l.happened)) {
		named := l.happened[market]
		var sum float64
		for _, h := range named {
			sum += h.y
		}
		if len(named) < 2 || len(named) == 2 && isOne(sum) {
			continue
		}
		names, err := l.outcomesOf(ctx, api, market)
		if err != nil {
			return err
		}
		if len(names) != 2 {
			continue
		}
		a, known := named[names[0]]
		b, both := named[names[1]]
		if known && both && !isOne(a.y+b.y) {
			l.report.differ("market %s: y is %v for %s and %v for %s, which don't add up to 1", market, a.y, names[0], b.y, names[1])
		}
	}
	for _, r := range l.open {
		named := l.happened[r.Market.ID]
		if named == nil {
			continue
		}
		_, settled := named[r.Market.Outcome]
		if !settled {
			names, err := l.outcomesOf(ctx, api, r.Market.ID)
			if err != nil {
				return err
			}
			settled = slices.Contains(names, r.Market.Outcome)
		}
		if settled {
			l.report.differ("prediction %s: is open, but others on its market are settled", r.ID)
		}
	}
	return nil
}

func isOne(sum float64) bool { return math.Abs(sum-1) <= roundedWithin }

// outcomesOf returns the names of a market's outcomes. It asks once for each market.
func (l *ledger) outcomesOf(ctx context.Context, api *client, market string) ([]string, error) {
	names, asked := l.outcomes[market]
	if !asked {
		var err error
		if names, err = api.outcomes(ctx, market); err != nil {
			return nil, err
		}
		l.outcomes[market] = names
	}
	return names, nil
}
