package agent

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// How long what an agent asked is kept.
const (
	UsageKept     = 90 * 24 * time.Hour // by hour
	EndpointsKept = 14 * 24 * time.Hour // by hour and endpoint
	ErrorsKept    = 30 * 24 * time.Hour // and at most FailuresKept of each agent
)

// Prune deletes one batch each of the usage and the errors that are older than they are
// kept, and of grants and refresh tokens that have expired; more tells that some may be left.
func (Store) Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	usage, err1 := database.Prune(ctx, db, "agent_usage", "hour", now.Add(-UsageKept), "agent_id", "hour")
	endpoints, err2 := database.Prune(
		ctx, db, "agent_endpoints", "hour", now.Add(-EndpointsKept), "agent_id", "hour", "method", "route",
	)
	failures, err3 := database.Prune(ctx, db, "agent_errors", "created_at", now.Add(-ErrorsKept), "agent_id", "id")
	renewals, err4 := database.Prune(ctx, db, "refresh_tokens", "expires_at", now, "hash")
	grants, err5 := database.Prune(ctx, db, "grants", "expires_at", now, "id")
	return usage || endpoints || failures || renewals || grants, errors.Join(err1, err2, err3, err4, err5)
}
