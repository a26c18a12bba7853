package market

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/score"
)

// KeepOrder puts the outcomes of a reading in their stored order. Predictions, prices and baselines name an outcome by
// its place, so a place must keep its outcome. Call KeepOrder before the reading is stored and archived.
//
// Only the ids of tokens tell outcomes apart, because names can change. A market stays as it was read if the stored
// ids and those of the reading aren't the same.
func (Store) KeepOrder(ctx context.Context, db bun.IDB, reading []Market) error {
	order := make(map[string][]string, len(reading))
	for part := range slices.Chunk(ids(reading), chunk) {
		var stored []Market
		planned := database.NewPlanned(db)
		q := db.NewSelect().Model(&stored).Column("id", "token_ids").Where("NOT m.sample")
		if err := planned.Scan(ctx, planned.In(q, "m.id", part), &stored); err != nil {
			return fmt.Errorf("read the order of outcomes: %w", err)
		}
		for i := range stored {
			order[stored[i].ID] = stored[i].TokenIDs
		}
	}
	for i := range reading {
		reading[i].reorder(order[reading[i].ID])
	}
	return nil
}

// reorder puts the outcomes in the order of the ids of their tokens, with everything that depends on their places.
func (m *Market) reorder(tokens []string) {
	if len(tokens) != len(m.Outcomes) || len(tokens) != len(m.TokenIDs) || slices.Equal(tokens, m.TokenIDs) {
		return
	}
	places := make([]int, 0, len(tokens)) // of each outcome in the reading
	for _, id := range tokens {
		at := slices.Index(m.TokenIDs, id)
		if at < 0 || slices.Contains(places, at) {
			return
		}
		places = append(places, at)
	}
	m.Outcomes, m.TokenIDs, m.Prices = permuted(m.Outcomes, places), tokens, permuted(m.Prices, places)
	if places[0] != 0 {
		m.replaceFirst()
	}
}

// permuted returns the values at the places. Without one value for each place, it returns values as they are.
func permuted[T any](values []T, places []int) []T {
	if len(values) != len(places) {
		return values
	}
	out := make([]T, len(places))
	for i, at := range places {
		out[i] = values[at]
	}
	return out
}

// replaceFirst changes what belongs to the first outcome, after another one has become the first. In a market with two
// outcomes these are complements. With more, they are unknown.
func (m *Market) replaceFirst() {
	two := len(m.Outcomes) == 2
	bid, ask, change := m.BestBid, m.BestAsk, m.PriceChange24h
	m.BestBid, m.BestAsk, m.PriceChange24h = nil, nil, nil
	if two {
		m.BestBid, m.BestAsk = complement(ask), complement(bid)
	}
	if two && change != nil {
		m.PriceChange24h = new(0 - *change)
	}
	if m.YesIndex() >= 0 {
		return // Probability and Price belong to "Yes"
	}
	probability, price := m.Probability, m.Price
	m.Probability, m.Price = nil, nil
	if two {
		m.Probability, m.Price = complement(probability), complement(price)
	}
	if p, known := m.PriceOf(0); known {
		m.Probability = &p
	}
	if m.Closed {
		m.Price = m.Probability // settled
	}
}

// complement returns the complement of p, or nil if p is nil.
func complement(p *float64) *float64 {
	if p == nil {
		return nil
	}
	return new(score.Complement(*p))
}
