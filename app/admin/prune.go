package admin

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Prune deletes one batch of the failed sign-ins that no longer count, and one batch of the
// sessions that have ended. more is true if some may be left. The audit log is never pruned,
// because its triggers refuse deletions.
func (Store) Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	attempts, err1 := database.Prune(ctx, db, "admin_attempts", "since", now.Add(-failWindow), "subject")
	over, err2 := database.Prune(ctx, db, "admin_sessions", "expires_at", now, "hash")
	idle, err3 := database.Prune(ctx, db, "admin_sessions", "seen_at", now.Add(-IdleLife), "hash")
	return attempts || over || idle, errors.Join(err1, err2, err3)
}
