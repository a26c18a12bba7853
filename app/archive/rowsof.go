package archive

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
)

// MarketRowOf returns the facts of a market, as a reading appends them.
func MarketRowOf(m *market.Market) MarketRow { return marketRow(m) }

// PriceRowOf returns the prices of an open market, as a reading appends them.
func PriceRowOf(m *market.Market) PriceRow { return pricesOf(m) }

// ClosingRowOf returns the state of a closed market, as a reading appends it.
func ClosingRowOf(m *market.Market) ClosingRow { return closingRow(m) }

// EventRowOf returns the facts of an event, as a reading appends them.
func EventRowOf(e *market.Event, source string, sample bool) EventRow {
	return eventRow(e, source, sample)
}

// AppendEvents does for events what Append does for other tables.
func AppendEvents(ctx context.Context, tx bun.IDB, rows []EventRow, now time.Time) error {
	list := make([]eventSegment, len(rows))
	for i := range rows {
		list[i].EventRow = rows[i]
	}
	return Append(ctx, tx, Events, list, now)
}
