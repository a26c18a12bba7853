package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Select begins a query on agents AS a, with the columns of Agent. As a subquery it lets
// other packages join agents to rows of their own.
func Select(db bun.IDB) *bun.SelectQuery { return db.NewSelect().Model((*Agent)(nil)) }

// IDs lists up to limit agents of any kind after one, in ascending order.
func (Store) IDs(ctx context.Context, db bun.IDB, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := Select(db).Column("a.id").Where("a.id > ?", after).Order("a.id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return ids, nil
}

// Handles returns up to limit handles of listed agents that begin with prefix, in the
// database's order. It looks at limit agents, so it may return fewer where the order of the
// database's language puts other handles between them.
func (Store) Handles(ctx context.Context, db bun.IDB, prefix string, limit int) ([]string, error) {
	handles := []string{}
	err := Select(db).Column("a.handle").Where("a.handle >= ?", prefix).Where("?", Listed("a")).Where("a.kind = ?", Ordinary).
		Order("a.handle").Limit(int64(limit)).Scan(ctx, &handles)
	if err != nil {
		return nil, fmt.Errorf("list handles: %w", err)
	}
	return slices.DeleteFunc(handles, func(h string) bool { return !strings.HasPrefix(h, prefix) }), nil
}

// SignUps counts the agents made since a moment, without samples. It finds them by the id,
// which begins with the moment it was made.
func (Store) SignUps(ctx context.Context, db bun.IDB, since time.Time) (int64, error) {
	n, err := Select(db).Where("a.id >= ?", database.FirstID(since)).Where("NOT a.sample").Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count sign-ups: %w", err)
	}
	return int64(n), nil
}

// CurrentGeneration reads the credential generation; see Generation.
func CurrentGeneration(ctx context.Context, db bun.IDB) (n int64, err error) {
	if err := db.NewRaw("SELECT generation FROM credential_generation WHERE id = 1").Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("read the credential generation: %w", err)
	}
	return n, nil
}
