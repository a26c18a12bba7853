package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// Figures are the numbers of the first page.
type Figures struct {
	Agents, Disabled int64
	Joined           int64 // in the last 24 hours
	Seen             int64 // in the last hour
	Published        int64 // in the last 24 hours
	Settled          int64 // in the last 24 hours
	// Requests, Errors and Limited are those of agents in the last 24 whole hours and
	// the current one.
	Requests, Errors, Limited int64
}

// Overview counts what the first page shows.
func (Store) Overview(ctx context.Context, db bun.IDB, now time.Time) (f Figures, err error) {
	now = now.UTC()
	day := now.Add(-24 * time.Hour)
	err = db.NewRaw(`SELECT
			(SELECT COUNT(*) FROM agents WHERE kind = ?0) AS agents,
			(SELECT COUNT(*) FROM agents WHERE kind = ?0 AND status = 'disabled') AS disabled,
			(SELECT COUNT(*) FROM agents WHERE kind = ?0 AND id >= ?1 AND created_at >= ?2) AS joined,
			(SELECT COUNT(*) FROM agents WHERE last_seen_at >= ?3) AS seen,
			(SELECT COUNT(*) FROM predictions WHERE id >= ?1) AS published,
			(SELECT COUNT(*) FROM results WHERE resolved_at >= ?2) AS settled`,
		agent.Ordinary, database.FirstID(day), day, now.Add(-time.Hour)).
		Scan(ctx, &f.Agents, &f.Disabled, &f.Joined, &f.Seen, &f.Published, &f.Settled)
	if err != nil {
		return f, fmt.Errorf("read the overview: %w", err)
	}
	err = db.NewRaw(`SELECT COALESCE(SUM(requests), 0), COALESCE(SUM(errors), 0), COALESCE(SUM(limited), 0)
		FROM agent_usage WHERE hour >= ?`, day.Truncate(time.Hour)).Scan(ctx, &f.Requests, &f.Errors, &f.Limited)
	if err != nil {
		return f, fmt.Errorf("read the overview: %w", err)
	}
	return f, nil
}
