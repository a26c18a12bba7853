package market

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// retention thins prices older than age to the first row per market and window. done is the setting that holds
// the end of the last thinned window.
type retention struct {
	age, window time.Duration
	done        string
}

// Every row is kept for PricesKept, then the first of each hour for HourlyPricesKept, then the first of every
// six hours permanently.
const (
	PricesKept       = 48 * time.Hour
	HourlyPricesKept = 30 * 24 * time.Hour
)

var retentions = []retention{
	{PricesKept, time.Hour, "prices_thinned_1h"},
	{HourlyPricesKept, 6 * time.Hour, "prices_thinned_6h"},
}

// windowsPerRun is how many windows one call of Thin processes per retention. A backlog takes several calls.
const windowsPerRun = 500

// Thin deletes price rows that the history no longer needs and returns their number. It keeps rows observed at
// or after sealed, because the archive doesn't hold them yet. Without an archive, sealed is now. It works in short
// statements, and remembers the last window that it thinned. So an hourly call costs only what has aged since the
// last one. Windows that it thinned too early, while a clock was ahead, are thinned again when they are old enough. more
// reports whether a backlog is left.
func (Store) Thin(ctx context.Context, db bun.IDB, now, sealed time.Time) (deleted int64, more bool, err error) {
	for _, r := range retentions {
		n, left, err := r.run(ctx, db, now, sealed)
		deleted += n
		more = more || left
		if err != nil {
			return deleted, more, err
		}
	}
	return deleted, more, nil
}

// due returns the time up to which prices are old enough to be thinned.
func (r retention) due(now time.Time) time.Time {
	return database.Stored(now).Add(-r.age).Truncate(r.window)
}

func (r retention) run(ctx context.Context, db bun.IDB, now, sealed time.Time) (deleted int64, more bool, err error) {
	end := r.due(now)
	start, err := r.start(ctx, db, end)
	if err != nil {
		return 0, false, err
	}
	if sealed.Before(end) {
		end = database.Stored(sealed).Truncate(r.window)
	}
	for range windowsPerRun {
		if !start.Before(end) {
			return deleted, false, nil
		}
		n, err := thinWindow(ctx, db, start, start.Add(r.window))
		if err != nil {
			return deleted, false, err
		}
		deleted += n
		start = start.Add(r.window)
		if err := database.SetSetting(ctx, db, r.done, start.Format(time.RFC3339)); err != nil {
			return deleted, false, err
		}
	}
	return deleted, start.Before(end), nil
}

// start returns where thinning continues: where it stopped last, or at the oldest row. If it stopped after due, a clock
// was ahead. Prices stored since then lie in windows that count as thinned, so start goes back to due.
func (r retention) start(ctx context.Context, db bun.IDB, due time.Time) (time.Time, error) {
	stopped, err := settingTime(ctx, db, r.done)
	if err != nil {
		return time.Time{}, err
	}
	if stopped.After(due) {
		return due, database.SetSetting(ctx, db, r.done, due.Format(time.RFC3339))
	}
	if !stopped.IsZero() {
		return stopped, nil
	}
	oldest, err := Oldest(ctx, db)
	if err != nil || oldest.IsZero() {
		return due, err
	}
	return oldest.Truncate(r.window), nil
}

// thinRows is how many prices one statement deletes. An hour can have 30,000.
const thinRows = 1000

func thinWindow(ctx context.Context, db bun.IDB, from, to time.Time) (deleted int64, err error) {
	for {
		res, err := db.NewRaw(`DELETE FROM market_prices WHERE (market_id, observed_at) IN (
			SELECT later.market_id, later.observed_at FROM market_prices AS later
			WHERE later.observed_at >= ? AND later.observed_at < ? AND EXISTS (
				SELECT 1 FROM market_prices AS earlier WHERE earlier.market_id = later.market_id
				AND earlier.observed_at >= ? AND earlier.observed_at < later.observed_at)
			LIMIT ?)`, from, to, from, thinRows).Exec(ctx)
		if err != nil {
			return deleted, fmt.Errorf("thin prices: %w", err)
		}
		n, err := res.RowsAffected()
		if err != nil {
			return deleted, fmt.Errorf("thin prices: %w", err)
		}
		if deleted += n; n < thinRows {
			return deleted, nil
		}
	}
}
