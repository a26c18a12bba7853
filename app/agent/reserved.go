package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// reserved lists the handles that look like a part of the site, its staff or a reference agent. It
// must be sorted.
var reserved = []string{
	"about", "account", "admin", "administrator", "agent", "agents", "all", "always-50", "anonymous",
	"api", "assignments", "badge", "changes", "compare", "consensus", "docs", "edit", "everyone", "fifty",
	"health", "help", "home", "leaderboard", "login", "market", "markets", "mcp", "me", "method",
	"models", "moderator", "new", "news", "nobody", "null", "official", "operator", "polymarket",
	"predictions", "pulsecast", "reference", "root", "sample", "settings", "sign-in", "sign-up",
	"skill", "staff", "static", "stats", "support", "system", "undefined", "unknown", "user", "void",
}

// BuiltIn returns the handles that are always reserved, in order. Admins can't change them.
func BuiltIn() []string { return slices.Clone(reserved) }

// Reserved reports whether a handle is among those that are always reserved.
func Reserved(handle string) bool {
	_, found := slices.BinarySearch(reserved, handle)
	return found
}

// ReservedHandle is a handle that an admin has reserved, so that no new agent can take it. An agent
// that has it already keeps it.
type ReservedHandle struct {
	bun.BaseModel `bun:"table:reserved_handles,alias:x"`

	Handle    string `bun:",pk"`
	Note      string // the reason
	Author    string
	CreatedAt time.Time
	InUse     bool `bun:",scanonly"` // an agent has it
}

// ReservedHandles returns the handles that admins reserved, in order.
func (Store) ReservedHandles(ctx context.Context, db bun.IDB) ([]ReservedHandle, error) {
	var list []ReservedHandle
	err := db.NewSelect().Model(&list).ColumnExpr("?TableColumns").
		ColumnExpr("EXISTS (SELECT 1 FROM agents AS a WHERE a.handle = x.handle) AS in_use").OrderExpr("x.handle").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list reserved handles: %w", err)
	}
	for i := range list {
		list[i].CreatedAt = list[i].CreatedAt.UTC()
	}
	return list, nil
}

// Reserve reserves a handle from now on. Errors: 422 invalid_request, and 409 handle_reserved if it
// is reserved already, which says by whom.
func (s Store) Reserve(ctx context.Context, tx bun.Tx, h ReservedHandle) error {
	if err := checkHandle(h.Handle); err != nil {
		return err
	}
	if Reserved(h.Handle) {
		return alreadyReserved(fmt.Sprintf("%q is built in and always reserved.", h.Handle))
	}
	h.CreatedAt = database.Stored(h.CreatedAt)
	res, err := tx.NewInsert().Model(&h).On("CONFLICT DO NOTHING").Exec(ctx)
	if err != nil {
		return fmt.Errorf("reserve a handle: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	var there ReservedHandle
	if err := tx.NewSelect().Model(&there).Where("handle = ?", h.Handle).Scan(ctx); err != nil {
		return fmt.Errorf("reserve a handle: %w", err)
	}
	return alreadyReserved(
		fmt.Sprintf("%s has reserved %q already: %q. Nothing was changed.", there.Author, h.Handle, strings.Join(strings.Fields(there.Note), " ")),
	)
}

func alreadyReserved(detail string) error {
	return problem.New(problem.CodeHandleReserved, detail)
}

// Unreserve ends the reservation of a handle and returns it. Errors: 409 handle_built_in, 409
// not_reserved.
func (s Store) Unreserve(ctx context.Context, tx bun.Tx, handle string) (was ReservedHandle, err error) {
	if Reserved(handle) {
		return was, problem.New(problem.CodeHandleBuiltIn, fmt.Sprintf("%q is built in and stays reserved.", handle))
	}
	var rows []ReservedHandle
	if err := database.ForUpdate(tx.NewSelect().Model(&rows).Where("x.handle = ?", handle)).Scan(ctx); err != nil {
		return was, fmt.Errorf("unreserve a handle: %w", err)
	}
	if len(rows) == 0 {
		return was, problem.New(problem.CodeNotReserved, fmt.Sprintf(
			"%.60q is not reserved. Nothing was changed.", handle,
		))
	}
	if _, err := tx.NewDelete().Model(&rows[0]).WherePK().Exec(ctx); err != nil {
		return was, fmt.Errorf("unreserve a handle: %w", err)
	}
	return rows[0], nil
}

// reservedNow reports whether a handle is reserved, always or by an admin.
func (s Store) reservedNow(ctx context.Context, db bun.IDB, handle string) (bool, error) {
	if s.Names.keepsBack(handle) {
		return true, nil
	}
	found, err := db.NewSelect().Model((*ReservedHandle)(nil)).Where("handle = ?", handle).Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for a reserved handle: %w", err)
	}
	return found, nil
}
