package web

import (
	"context"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
)

const (
	sparkSpan   = 7 * 24 * time.Hour
	sparkPoints = 60 // about the greatest number of points of a line
	sparkLife   = 10 * time.Minute
	sparkRoom   = 4096 // markets; a few MB in total
)

// sparklines keeps the thinned price history of markets in lists.
type sparklines struct {
	kept *expirable.LRU[string, []float64]
}

func newSparklines() *sparklines {
	return &sparklines{expirable.NewLRU[string, []float64](sparkRoom, nil, sparkLife)}
}

// of returns the lines of many markets with at most one query.
func (k *sparklines) of(
	ctx context.Context, db bun.IDB, now time.Time, markets []market.Market,
) (map[string][]float64, error) {
	out := make(map[string][]float64, len(markets))
	var missing []string
	index := make(map[string]int, len(markets))
	for i := range markets {
		m := &markets[i]
		_, index[m.ID] = shownOutcome(m)
		if line, ok := k.kept.Get(m.ID); ok {
			out[m.ID] = line
		} else {
			missing = append(missing, m.ID)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	rows, err := market.Store{}.ThinnedPrices(ctx, db, missing, now.Add(-sparkSpan), sparkPoints)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if price, ok := rows[i].Of(index[rows[i].MarketID]); ok {
			out[rows[i].MarketID] = append(out[rows[i].MarketID], price)
		}
	}
	for _, id := range missing {
		k.kept.Add(id, out[id])
	}
	return out, nil
}
