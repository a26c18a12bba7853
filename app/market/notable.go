package market

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// undecidedLow and undecidedHigh are the bounds of a notable market's probability.
	undecidedLow, undecidedHigh = 0.03, 0.97
	// notableSpread is the widest book of a notable market. The middle of a wider one says little.
	notableSpread = 0.10
	// notableFor is the least time to a notable market's close, so that it is still open when it is shown.
	notableFor = time.Hour
	// notableCandidates is how many markets are considered: those with the highest volume of the last 24 hours.
	notableCandidates = 400
	// stillness is the weight of the volume of a market whose price didn't change. A price change of the same
	// size doubles the weight.
	stillness = 0.1
)

// Notable lists at most limit open markets that are worth a look. They are undecided and have a narrow book.
// Markets with a high volume in the last 24 hours, a large price change and an uncertain outcome come first;
// see interest. The list has one market of each event and alternates between categories.
func (Store) Notable(ctx context.Context, db bun.IDB, now time.Time, limit int) ([]Market, error) {
	var markets []Market
	err := db.NewSelect().Model(&markets).
		Where("NOT m.closed").Where("m.active").
		Where("m.probability BETWEEN ? AND ?", undecidedLow, undecidedHigh).
		Where("m.best_bid IS NULL OR m.best_ask - m.best_bid <= ?", notableSpread+priceError).
		Where("m.closes_at IS NULL OR m.closes_at >= ?", database.Stored(now.Add(notableFor))).
		OrderExpr("COALESCE(m.volume_24h, 0) DESC, m.id").Limit(notableCandidates).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list notable markets: %w", err)
	}
	slices.SortStableFunc(markets, func(a, b Market) int { return cmp.Compare(b.interest(), a.interest()) })
	seen := map[string]bool{}
	markets = slices.DeleteFunc(markets, func(m Market) bool {
		again := seen[m.EventKey()]
		seen[m.EventKey()] = true
		return again
	})
	markets = InTurn(markets)
	return inUTC(markets[:min(limit, len(markets))]), nil
}

// interest is the volume of 24 hours, weighted by the change of the price and by p·(1−p). The variance p·(1−p)
// favours the contenders of an event over its outsiders.
func (m *Market) interest() float64 {
	var volume, change, variance float64
	if p := m.Probability; p != nil {
		variance = *p * (1 - *p)
	}
	if m.Volume24h != nil {
		volume = *m.Volume24h
	}
	if m.PriceChange24h != nil {
		change = math.Abs(*m.PriceChange24h)
	}
	return volume * (stillness + change) * variance
}

// InTurn reorders markets to alternate between categories: first the first market of each category, then the
// second of each, and so on. Categories keep the order of their first markets.
func InTurn(markets []Market) []Market {
	type dealt struct{ round, order int }
	turn := map[string]int{}
	deal := make([]dealt, len(markets))
	for i := range markets {
		deal[i] = dealt{turn[markets[i].Category], i}
		turn[markets[i].Category]++
	}
	slices.SortFunc(deal, func(a, b dealt) int {
		return cmp.Or(cmp.Compare(a.round, b.round), cmp.Compare(a.order, b.order))
	})
	out := make([]Market, len(markets))
	for i, d := range deal {
		out[i] = markets[d.order]
	}
	return out
}
