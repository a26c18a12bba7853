package prediction

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// CountActivity brings the recent activity of all agents up to date; see agent.Activity. If month is false, it doesn't
// count the predictions of the last 30 days again, which reads an index entry for each. It adds the new ones to the last
// count, and takes none off.
func CountActivity(ctx context.Context, db *database.DB, now time.Time, month bool) error {
	now = now.UTC()
	// Only the agents that published in the time are looked up in the key. Grouping would read all predictions of the time.
	since := func(at time.Time) *bun.RawQuery {
		return db.NewRaw(`CASE WHEN t.last_published_at >= ? THEN
			(SELECT COUNT(*) FROM predictions AS p WHERE p.agent_id = t.agent_id AND p.id >= ?) ELSE 0 END`, at.Truncate(time.Millisecond), database.FirstID(at))
	}
	inMonth := db.NewRaw("0")
	if month {
		inMonth = since(now.AddDate(0, 0, -30))
	}
	return agent.CountActivity(ctx, db, now, month, db.NewRaw(`SELECT t.agent_id, ? AS predictions_day, ? AS predictions_month,
		t.total AS predictions, t.resolved AS settled FROM agent_tallies AS t`, since(now.Add(-24*time.Hour)), inMonth))
}

// CountPublished returns how many predictions were published since a moment.
func CountPublished(ctx context.Context, db bun.IDB, since time.Time) (n int64, err error) {
	err = db.NewRaw("SELECT COUNT(*) FROM predictions WHERE id >= ?", database.FirstID(since)).Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("count predictions: %w", err)
	}
	return n, nil
}

// LatestAt returns when the latest prediction was published, or the zero time if there is none.
func (Store) LatestAt(ctx context.Context, db bun.IDB) (at time.Time, err error) {
	err = db.NewRaw("SELECT created_at FROM predictions ORDER BY id DESC LIMIT 1").Scan(ctx, &at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return at, fmt.Errorf("read the latest prediction: %w", err)
	}
	return at.UTC(), nil
}

// CountDecided returns how many predictions were resolved or voided since a moment.
func CountDecided(ctx context.Context, db bun.IDB, since time.Time) (n int64, err error) {
	err = db.NewRaw("SELECT COUNT(*) FROM results WHERE resolved_at >= ?", since.UTC()).Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("count decided predictions: %w", err)
	}
	return n, nil
}
