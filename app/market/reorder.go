package market

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// KeepOrder puts the outcomes of a reading in their stored order, and outcomes that are new after them. Predictions,
// prices and baselines name an outcome by its place, so a place must keep its name. Call KeepOrder before the reading
// is stored and archived.
func (Store) KeepOrder(ctx context.Context, db bun.IDB, reading []Market) error {
	order := make(map[string][]string, len(reading))
	for part := range slices.Chunk(ids(reading), chunk) {
		var stored []Market
		planned := database.NewPlanned(db)
		q := db.NewSelect().Model(&stored).Column("id", "outcomes").Where("NOT m.sample")
		if err := planned.Scan(ctx, planned.In(q, "m.id", part), &stored); err != nil {
			return fmt.Errorf("read stored outcomes: %w", err)
		}
		for i := range stored {
			order[stored[i].ID] = stored[i].Outcomes
		}
	}
	for i := range reading {
		reading[i].reorder(order[reading[i].ID])
	}
	return nil
}

// reorder puts the outcomes in an order, with everything that depends on their places. It does nothing if one of the
// names is missing.
func (m *Market) reorder(order []string) {
	if len(order) == 0 || slices.Equal(order, m.Outcomes) {
		return
	}
	places := make([]int, 0, len(m.Outcomes)) // of each outcome in the reading
	for _, name := range order {
		at := m.OutcomeIndex(name)
		if at < 0 || slices.Contains(places, at) {
			return
		}
		places = append(places, at)
	}
	for at := range m.Outcomes {
		if !slices.Contains(places, at) {
			places = append(places, at)
		}
	}
	m.Outcomes, m.Prices, m.TokenIDs = permuted(m.Outcomes, places), permuted(m.Prices, places), permuted(m.TokenIDs, places)
	if places[0] == 0 {
		return
	}
	// These belong to the first outcome. The other outcome of two has the complement.
	bid, ask, change := m.BestBid, m.BestAsk, m.PriceChange24h
	m.BestBid, m.BestAsk, m.PriceChange24h = nil, nil, nil
	if len(m.Outcomes) == 2 {
		m.BestBid, m.BestAsk = complement(ask), complement(bid)
		if change != nil {
			m.PriceChange24h = new(-*change)
		}
	}
	if m.YesIndex() >= 0 {
		return // Probability and Price belong to it
	}
	if len(m.Outcomes) == 2 {
		m.Probability, m.Price = complement(m.Probability), complement(m.Price)
		return
	}
	m.Probability, m.Price = nil, nil
	if p, known := m.PriceOf(0); known {
		m.Probability = &p
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

// complement returns 1 - p, or nil if p is nil.
func complement(p *float64) *float64 {
	if p == nil {
		return nil
	}
	return new(1 - *p)
}
