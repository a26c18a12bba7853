package archive

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
)

// MarketRowOf returns what a market says of itself, as a reading would append it.
func MarketRowOf(m *market.Market) MarketRow { return marketRow(m) }

// PriceRowOf returns the prices of an open market.
func PriceRowOf(m *market.Market) PriceRow { return pricesOf(m) }

// ClosingRowOf returns how a closed market stands.
func ClosingRowOf(m *market.Market) ClosingRow { return closingRow(m) }

// EventRowOf returns what an event says of itself.
func EventRowOf(e *market.Event, source string, sample bool) EventRow {
	return eventRow(e, source, sample)
}

// AppendEvents is Append for events.
func AppendEvents(ctx context.Context, tx bun.IDB, rows []EventRow, now time.Time) error {
	list := make([]eventSegment, len(rows))
	for i := range rows {
		list[i].EventRow = rows[i]
	}
	return Append(ctx, tx, Events, list, now)
}
