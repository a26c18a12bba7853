package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Summary is an agent with its activity. The counts in Activity are up to a minute old.
type Summary struct {
	Agent
	Activity
	// KeyCreatedAt is the creation time of the newest valid key. It is zero if there is none.
	KeyCreatedAt time.Time
}

// Summaries returns the summaries of agents at the given time, in the order of ids. An id without
// an agent gets a zero Summary.
func Summaries(ctx context.Context, db bun.IDB, ids []uuid.UUID, now time.Time) ([]Summary, error) {
	list := make([]Summary, len(ids))
	if len(ids) == 0 {
		return list, nil
	}
	agents, err := Store{}.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, err
	}
	var counts []Activity
	if err := db.NewSelect().Model(&counts).Where("v.agent_id IN (?)", bun.List(ids)).Scan(ctx); err != nil {
		return nil, fmt.Errorf("read the activity of agents: %w", err)
	}
	activity := make(map[uuid.UUID]Activity, len(counts))
	for _, c := range counts {
		activity[c.AgentID] = c
	}
	keys, err := newestKeys(ctx, db, ids, now)
	if err != nil {
		return nil, err
	}
	for i, id := range ids {
		if a := agents[id]; a != nil {
			list[i] = Summary{Agent: *a, Activity: activity[id], KeyCreatedAt: keys[id]}
		}
	}
	return list, nil
}

// newestKeys returns the creation time of each agent's newest key that is valid at the given time; see
// Key.validAt.
func newestKeys(ctx context.Context, db bun.IDB, ids []uuid.UUID, now time.Time) (map[uuid.UUID]time.Time, error) {
	var keys []Key
	err := db.NewSelect().Model(&keys).ColumnExpr("k.agent_id, MAX(k.created_at) AS created_at").
		Where("k.agent_id IN (?)", bun.List(ids)).Where("k.revoked_at IS NULL").
		Where("(k.expires_at IS NULL OR k.expires_at > ?)", database.Stored(now)).GroupExpr("k.agent_id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the newest keys: %w", err)
	}
	made := make(map[uuid.UUID]time.Time, len(keys))
	for _, k := range keys {
		made[k.AgentID] = k.CreatedAt.UTC()
	}
	return made, nil
}

// Numbers counts all agents and their requests. Only Seen includes reference agents.
type Numbers struct {
	Agents, Disabled int64
	Joined           int64  `bun:"-"` // created in the last 24 hours, without samples; see Store.SignUps
	Seen             int64  // agents seen in the last hour
	Requests         Counts `bun:"-"` // in the last 24 whole hours and the current one
}

// ReadNumbers counts the agents and their requests.
func ReadNumbers(ctx context.Context, db bun.IDB, now time.Time) (n Numbers, err error) {
	now = now.UTC()
	day := now.Add(-24 * time.Hour)
	err = db.NewRaw(`SELECT
			(SELECT COUNT(*) FROM agents WHERE kind = ?0) AS agents,
			(SELECT COUNT(*) FROM agents WHERE kind = ?0 AND status = 'disabled' AND closed_at IS NULL) AS disabled,
			(SELECT COUNT(*) FROM agents WHERE last_seen_at >= ?1) AS seen`,
		Ordinary, now.Add(-time.Hour)).Scan(ctx, &n)
	if err != nil {
		return n, fmt.Errorf("count agents: %w", err)
	}
	if n.Joined, err = (Store{}).SignUps(ctx, db, day); err != nil {
		return n, err
	}
	err = db.NewRaw(`SELECT COALESCE(SUM(requests), 0) AS requests, COALESCE(SUM(errors), 0) AS errors, COALESCE(SUM(limited), 0) AS limited
		FROM agent_usage WHERE hour >= ?`, day.Truncate(time.Hour)).Scan(ctx, &n.Requests)
	if err != nil {
		return n, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}
