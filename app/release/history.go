package release

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/market"
)

// HistoryFilter selects prices of a market.
type HistoryFilter struct {
	Market   string
	From, To time.Time     // To is excluded
	Every    time.Duration // return the last reading of each window of this length; 0 for all
	Limit    int           // maximum number of readings
}

// History holds prices of a market, oldest first.
type History struct {
	Prices []market.Price
	// Full reports whether Prices are made from every reading. Prices from before the archive are
	// thinned.
	Full bool
	Next time.Time // From of the next page; zero at the end
}

// Archived lists the sealed days that a history must read: days whose prices the database has
// thinned or will soon thin.
func (c *Catalogue) Archived(ctx context.Context, f *HistoryFilter, now time.Time) ([]archive.SealedDay, error) {
	kept := keptFrom(now)
	if c.Storage == nil || !f.From.Before(kept) {
		return nil, nil
	}
	to := f.To
	if to.After(kept) {
		to = kept
	}
	return archive.DaysBetween(ctx, c.DB.Reader, archive.DayOf(f.From), archive.DayOf(to.Add(-time.Microsecond)))
}

// keptFrom returns the first midnight after which the database holds every reading.
func keptFrom(now time.Time) time.Time {
	const day = 24 * time.Hour
	return now.UTC().Add(-market.PricesKept).Truncate(day).Add(day)
}

// History reads the prices of a market. It reads the given days from the archive, and the rest of
// the time from the database.
func (c *Catalogue) History(ctx context.Context, f *HistoryFilter, days []archive.SealedDay, now time.Time) (*History, error) {
	h := &collector{filter: f, History: History{Full: true}}
	at, kept := f.From, keptFrom(now)
	for i := range days {
		from, end, err := archive.Bounds(days[i].Day)
		if err != nil {
			return nil, fmt.Errorf("history: %w", err)
		}
		if at.Before(from) { // days that aren't sealed
			if err := c.stored(ctx, h, at, from, kept); err != nil {
				return nil, err
			}
		}
		if err := c.sealed(ctx, h, days[i].Day, end); err != nil {
			return nil, err
		}
		if at = end; h.full() {
			break
		}
	}
	if at.Before(f.To) && !h.full() {
		if err := c.stored(ctx, h, at, f.To, kept); err != nil {
			return nil, err
		}
	}
	return h.end(), nil
}

func (c *Catalogue) sealed(ctx context.Context, h *collector, day string, end time.Time) error {
	d, err := archive.OpenDay(ctx, c.Storage, day)
	if err != nil {
		return unreadable(err)
	}
	if h.filter.To.Before(end) {
		end = h.filter.To
	}
	err = archive.MarketPrices(ctx, d, h.filter.Market, h.filter.From, end, func(r *archive.PriceRow) bool {
		p, known := r.Observation()
		return !known || h.add(p)
	})
	if err != nil && !errors.Is(err, context.Canceled) {
		return unreadable(err)
	}
	return err
}

// storedRows is how many rows are read from the database at a time.
const storedRows = 5000

func (c *Catalogue) stored(ctx context.Context, h *collector, from, to, kept time.Time) error {
	if from.Before(kept) {
		h.Full = false
	}
	for !h.full() {
		rows, err := market.Store{}.PricesFrom(ctx, c.DB.Reader, h.filter.Market, from, to, storedRows)
		if err != nil {
			return err
		}
		for _, p := range rows {
			if !h.add(p) {
				return nil
			}
		}
		if len(rows) < storedRows {
			return nil
		}
		from = rows[len(rows)-1].ObservedAt.Add(time.Microsecond)
	}
	return nil
}

// collector keeps the last reading of each window, up to one more than the limit.
type collector struct {
	History
	filter *HistoryFilter
}

func (h *collector) full() bool { return len(h.Prices) > h.filter.Limit }

// add adds a reading. It reports whether the next one is needed.
func (h *collector) add(p market.Price) bool {
	if n := len(h.Prices); n > 0 && h.filter.Every > 0 && h.window(h.Prices[n-1].ObservedAt).Equal(h.window(p.ObservedAt)) {
		h.Prices[n-1] = p
		return true
	}
	h.Prices = append(h.Prices, p)
	return !h.full()
}

func (h *collector) window(at time.Time) time.Time { return at.Truncate(h.filter.Every) }

func (h *collector) end() *History {
	if h.full() {
		h.Next = h.Prices[h.filter.Limit].ObservedAt
		if h.filter.Every > 0 {
			h.Next = h.window(h.Next)
		}
		h.Prices = h.Prices[:h.filter.Limit]
	}
	return &h.History
}
