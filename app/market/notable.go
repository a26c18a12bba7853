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
	// undecidedLow and undecidedHigh bound the probability of a notable market.
	undecidedLow, undecidedHigh = 0.03, 0.97
	// notableSpread is the widest book whose middle still says something.
	notableSpread = 0.10
	// notableFor is the least time left: what ends sooner is over when it is read.
	notableFor = time.Hour
	// notableCandidates bounds the markets looked at: those most traded in 24 hours.
	notableCandidates = 400
	// stillness is the weight of a market's volume whose price didn't change; a change of
	// as much doubles it.
	stillness = 0.1
)

// Notable lists at most limit open markets that are worth a look: undecided ones, the most
// traded in the last 24 hours, the most moved and the most open first, one of each event, in turn from the
// categories.
func (Store) Notable(ctx context.Context, db bun.IDB, now time.Time, limit int) ([]Market, error) {
	var markets []Market
	err := db.NewSelect().Model(&markets).
		Where("NOT m.closed").Where("m.active").
		Where("m.probability BETWEEN ? AND ?", undecidedLow, undecidedHigh).
		Where("m.best_bid IS NULL OR m.best_ask - m.best_bid <= ?", notableSpread+tolerance).
		Where("m.closes_at IS NULL OR m.closes_at >= ?", database.Now(now.Add(notableFor))).
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

// tolerance absorbs the rounding of a difference of two prices.
const tolerance = 1e-9

// interest weighs the volume of 24 hours by how far the price moved and by how much its
// outcome would tell: the variance of a bet on it, which favours the contest of an event over
// its outsiders.
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

// InTurn deals markets out by category: the first of each, then the second of each, and so
// on; the category of the first market begins.
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
