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

// CountActivity brings the recent activity of all agents up to date; see agent.Activity.
func CountActivity(ctx context.Context, db *database.DB, now time.Time) error {
	now = now.UTC()
	day, month := database.FirstID(now.Add(-24*time.Hour)), database.FirstID(now.AddDate(0, 0, -30))
	return agent.CountActivity(ctx, db, now, db.NewRaw(`SELECT agent_id, SUM(CASE WHEN id >= ? THEN 1 ELSE 0 END) AS predictions_day,
			COUNT(*) AS predictions_month, 0 AS predictions, 0 AS settled FROM predictions WHERE id >= ? GROUP BY agent_id
		UNION ALL
		SELECT agent_id, 0, 0, total, resolved FROM agent_tallies`, day, month))
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
