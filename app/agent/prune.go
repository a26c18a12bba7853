package agent

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// The times for which the usage and the errors of an agent are kept.
const (
	UsageKept     = 90 * 24 * time.Hour // counts by hour
	EndpointsKept = 14 * 24 * time.Hour // counts by hour and endpoint
	ErrorsKept    = 30 * 24 * time.Hour // errors, at most MaxErrors of each agent
)

// Prune deletes a batch of old rows of each kind: usage and errors that are no longer kept, and
// expired sessions and grants. more reports whether some may be left. Refresh tokens end with their grant: one that isn't
// stored any more counts as used.
func (Store) Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	usage, err1 := database.Prune(ctx, db, "agent_usage", "hour", now.Add(-UsageKept), "agent_id", "hour")
	endpoints, err2 := database.Prune(
		ctx, db, "agent_endpoints", "hour", now.Add(-EndpointsKept), "agent_id", "hour", "method", "route",
	)
	requestErrors, err3 := database.Prune(ctx, db, "agent_errors", "created_at", now.Add(-ErrorsKept), "agent_id", "id")
	sessions, err4 := database.Prune(ctx, db, "sessions", "expires_at", now, "hash")
	grants, err5 := database.Prune(ctx, db, "grants", "expires_at", now, "id")
	return usage || endpoints || requestErrors || sessions || grants, errors.Join(err1, err2, err3, err4, err5)
}
