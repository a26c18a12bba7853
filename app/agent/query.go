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

// Select returns a query on agents AS a, with the columns of Agent. Other packages use it as a
// subquery to join agents to their rows.
func Select(db bun.IDB) *bun.SelectQuery { return db.NewSelect().Model((*Agent)(nil)) }

// Shown is what a list shows of the agent behind an entry. Name is the handle if an admin has hidden the profile.
type Shown struct {
	ID         uuid.UUID `bun:",type:uuid"`
	Handle     string
	Name       string
	Kind       Kind
	Visibility Visibility
	ClosedAt   time.Time `bun:",nullzero"`
}

// Closed reports whether the account was closed.
func (s *Shown) Closed() bool { return !s.ClosedAt.IsZero() }

// Shown returns what lists show of the agent.
func (a *Agent) Shown() Shown {
	return Shown{ID: a.ID, Handle: a.Handle, Name: a.Name, Kind: a.Kind, Visibility: a.Visibility, ClosedAt: a.ClosedAt}
}

// JoinShown joins to q the agent whose id is in column, and selects its Shown as columns whose names begin with prefix.
func JoinShown(q *bun.SelectQuery, column, prefix string) *bun.SelectQuery {
	q = q.Join("JOIN agents AS a ON a.id = ?", bun.Ident(column))
	return database.Prefixed(q, "a", prefix, "id", "handle", "name", "kind", "visibility", "closed_at")
}

// ListedAmong returns which of the agents that publish are Listed.
func (Store) ListedAmong(ctx context.Context, db bun.IDB, agents []uuid.UUID) (map[uuid.UUID]bool, error) {
	listed := make(map[uuid.UUID]bool, len(agents))
	if len(agents) == 0 {
		return listed, nil
	}
	var ids []uuid.UUID
	err := Select(db).Column("a.id").Where("a.id IN (?)", bun.List(agents)).Where("?", Listed("a")).Where("a.kind = ?", Ordinary).
		Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("read which agents are listed: %w", err)
	}
	for _, id := range ids {
		listed[id] = true
	}
	return listed, nil
}

// IDs lists the ids of up to limit agents of any kind after the id after, in ascending order.
func (Store) IDs(ctx context.Context, db bun.IDB, after uuid.UUID, limit int) ([]uuid.UUID, error) {
	var ids []uuid.UUID
	err := Select(db).Column("a.id").Where("a.id > ?", after).Order("a.id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return ids, nil
}

// Handles returns up to limit handles of listed agents that begin with prefix, in the database's
// order. It examines limit agents. So it may return fewer if that order puts other handles between
// those with the prefix.
func (Store) Handles(ctx context.Context, db bun.IDB, prefix string, limit int) ([]string, error) {
	handles := []string{}
	err := Select(db).Column("a.handle").Where("a.handle >= ?", prefix).Where("?", Listed("a")).Where("a.kind = ?", Ordinary).
		Order("a.handle").Limit(int64(limit)).Scan(ctx, &handles)
	if err != nil {
		return nil, fmt.Errorf("list handles: %w", err)
	}
	return slices.DeleteFunc(handles, func(h string) bool { return !strings.HasPrefix(h, prefix) }), nil
}

// InUse returns those of some handles that agents have now.
func (Store) InUse(ctx context.Context, db bun.IDB, handles []string) ([]string, error) {
	if len(handles) == 0 {
		return nil, nil
	}
	var used []string
	if err := Select(db).Column("a.handle").Where("a.handle IN ?", bun.Tuple(handles)).Scan(ctx, &used); err != nil {
		return nil, fmt.Errorf("look for handles in use: %w", err)
	}
	return used, nil
}

// SignUps counts the agents created since a moment, without samples. It finds them by their ids,
// which begin with the time of creation.
func (Store) SignUps(ctx context.Context, db bun.IDB, since time.Time) (int64, error) {
	n, err := Select(db).Where("a.id >= ?", database.FirstID(since)).Where("NOT a.sample").Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count sign-ups: %w", err)
	}
	return int64(n), nil
}
