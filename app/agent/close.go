package agent

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/problem"
)

// closedKey is the name of the setting with the secret key of the hashes in closed_identities.
const closedKey = "closed_key"

// ClosedCount counts the rows that Close deleted.
type ClosedCount struct {
	Keys     int64
	Sessions int64 // sessions and grants
}

// Close closes an account for good. It deletes the keys, sessions and grants of the agent and
// erases its profile. ForgetUsage deletes its usage. The agent gets a neutral handle, under which
// its numbers stay.
// The old handle and the subject at the identity provider are kept as keyed hashes, so that no
// other agent can take them. Only admins see the texts of its predictions until they are erased.
// Errors: 404 not_found, 403 account_closed.
func (s Store) Close(ctx context.Context, tx bun.Tx, id uuid.UUID, now time.Time) (a *Agent, n ClosedCount, err error) {
	if a, err = s.open(ctx, tx, id); err != nil {
		return nil, n, err
	}
	if err := s.reserveIdentity(ctx, tx, a, now); err != nil {
		return nil, n, err
	}
	if n, err = forget(ctx, tx, id); err != nil {
		return nil, n, err
	}
	a.Handle, a.Visibility = "closed-"+strings.ToLower(base32.StdEncoding.EncodeToString([]byte(rand.Text())))[:8], TextsHidden
	a.Profile = publicProfile(a)
	a.Issuer, a.Subject, a.Owner, a.LastSeenAt, a.ClosedAt = "", "", "", time.Time{}, database.Stored(now)
	_, err = tx.NewUpdate().Model(a).WherePK().Column("handle", "handle_key", "name", "name_key", "search_name", "model", "framework", "description", "homepage",
		"visibility", "issuer", "subject", "owner", "last_seen_at", "closed_at").Exec(ctx)
	if err != nil {
		return nil, n, fmt.Errorf("close an account: %w", err)
	}
	return a, n, changed(ctx, tx, a.ID, generation.Agents, generation.Texts)
}

// open is like Lock, but returns 403 account_closed for a closed account.
func (s Store) open(ctx context.Context, tx bun.Tx, id uuid.UUID) (*Agent, error) {
	a, err := s.Lock(ctx, tx, id)
	if err == nil && a.Closed() {
		return nil, AccountClosed()
	}
	return a, err
}

// delayClosing waits for closings of these accounts that are under way, and lets no other begin until the transaction
// ends. ids must be in ascending order. It takes the lock that Touch takes later in the transaction: with a weaker one,
// a closing could get its own lock in between, and both would wait for each other. SQLite has one writer anyway.
func delayClosing(ctx context.Context, tx bun.Tx, ids []uuid.UUID) error {
	if len(ids) == 0 || !database.IsPostgres(tx) {
		return nil
	}
	var locked []uuid.UUID
	rows := tx.NewSelect().Model((*Agent)(nil)).Column("id").Where("id IN (?)", bun.List(ids)).Order("id")
	if err := database.ForUpdate(rows).Scan(ctx, &locked); err != nil {
		return fmt.Errorf("delay the closing of accounts: %w", err)
	}
	return nil
}

// AccountClosed returns the error for an act that needs an open account: 403 account_closed.
func AccountClosed() *problem.Error {
	return problem.New(problem.CodeAccountClosed,
		"The account of this agent was closed. Its scores stay under a neutral handle. The account can't be opened again; use another agent.")
}

// forget deletes the keys, sessions, grants and hidden profile of an agent.
func forget(ctx context.Context, tx bun.Tx, id uuid.UUID) (n ClosedCount, err error) {
	for _, table := range []struct {
		model any
		count *int64
	}{
		{(*Key)(nil), &n.Keys}, {(*Session)(nil), &n.Sessions}, {(*Grant)(nil), &n.Sessions}, {(*hiddenProfile)(nil), nil},
	} {
		res, err := tx.NewDelete().Model(table.model).Where("agent_id = ?", id).Exec(ctx)
		if err != nil {
			return n, fmt.Errorf("forget an agent: %w", err)
		}
		if rows, err := res.RowsAffected(); err == nil && table.count != nil {
			*table.count += rows
		}
	}
	return n, nil
}

// ForgetUsage deletes the usage and the errors of a closed account in short transactions. It returns the number of
// deleted rows.
func (Store) ForgetUsage(ctx context.Context, db *database.DB, id uuid.UUID) (n int64, err error) {
	for _, table := range []struct {
		name string
		key  []string
	}{
		{"agent_usage", []string{"hour"}}, {"agent_endpoints", []string{"hour", "method", "route"}}, {"agent_errors", []string{"id"}},
	} {
		rows, err := database.DeleteOf(ctx, db, table.name, id, table.key...)
		if n += rows; err != nil {
			return n, err
		}
	}
	return n, nil
}

// reserveIdentity stores the hashes that keep other agents from getting an agent's handle and subject.
func (Store) reserveIdentity(ctx context.Context, tx bun.Tx, a *Agent, now time.Time) error {
	if _, err := database.AddSetting(ctx, tx, closedKey, rand.Text()); err != nil {
		return err
	}
	hash, err := closedHash(ctx, tx)
	if err != nil {
		return err
	}
	type row struct {
		bun.BaseModel `bun:"table:closed_identities"`

		Hash     []byte
		ClosedAt time.Time
	}
	rows := []row{{Hash: hash("handle", a.Handle), ClosedAt: database.Stored(now)}}
	if a.Subject != "" {
		rows = append(rows, row{Hash: hash("subject", a.Issuer, a.Subject), ClosedAt: database.Stored(now)})
	}
	if _, err := tx.NewInsert().Model(&rows).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("keep the handle of a closed account: %w", err)
	}
	return nil
}

// closedHash returns the hash function of closed_identities, or nil if no account was ever closed.
func closedHash(ctx context.Context, db bun.IDB) (func(parts ...string) []byte, error) {
	key, found, err := database.Setting(ctx, db, closedKey)
	if err != nil || !found {
		return nil, err
	}
	return func(parts ...string) []byte {
		mac := hmac.New(sha256.New, []byte(key))
		mac.Write([]byte(strings.Join(parts, "\x00")))
		return mac.Sum(nil)
	}, nil
}

// closedHandles returns the handles in the list that belonged to closed accounts.
func closedHandles(ctx context.Context, db bun.IDB, handles []string) ([]string, error) {
	if len(handles) == 0 {
		return nil, nil
	}
	hash, err := closedHash(ctx, db)
	if err != nil || hash == nil {
		return nil, err
	}
	byHash := make(map[string]string, len(handles))
	hashes := make([][]byte, len(handles))
	for i, handle := range handles {
		hashes[i] = hash("handle", handle)
		byHash[string(hashes[i])] = handle
	}
	var found [][]byte
	if err := db.NewRaw("SELECT hash FROM closed_identities WHERE hash IN ?", bun.Tuple(hashes)).Scan(ctx, &found); err != nil {
		return nil, fmt.Errorf("look for handles of closed accounts: %w", err)
	}
	closed := make([]string, len(found))
	for i, h := range found {
		closed[i] = byHash[string(h)]
	}
	return closed, nil
}

// subjectClosed reports whether the account of a subject at a provider was closed.
func subjectClosed(ctx context.Context, db bun.IDB, issuer, subject string) (bool, error) {
	hash, err := closedHash(ctx, db)
	if err != nil || hash == nil {
		return false, err
	}
	var found bool
	err = db.NewRaw("SELECT EXISTS (SELECT 1 FROM closed_identities WHERE hash = ?)", hash("subject", issuer, subject)).Scan(ctx, &found)
	if err != nil {
		return false, fmt.Errorf("look for a closed account: %w", err)
	}
	return found, nil
}

// Author is what a prediction shows of its agent and takes from it.
type Author struct{ Name, Model string }

// OpenAmong reads the agents in ids whose accounts aren't closed into open, as they are stored then.
func OpenAmong(ids []uuid.UUID, open map[uuid.UUID]Author) database.Read {
	type row struct {
		ID uuid.UUID `bun:",type:uuid"`
	}
	rows := make([]row, len(ids))
	for i, id := range ids {
		rows[i].ID = id
	}
	type author struct {
		ID uuid.UUID `bun:",type:uuid"`
		Author
	}
	// Subqueries look up each agent. For a join, Postgres may read the whole table.
	return database.NewRead("read agents with an open account", `SELECT v.id,
		COALESCE((SELECT a.name FROM agents AS a WHERE a.id = v.id AND a.closed_at IS NULL), '') AS name,
		COALESCE((SELECT a.model FROM agents AS a WHERE a.id = v.id), '') AS model FROM v`, rows, func(found []author) {
		for _, f := range found {
			if f.Name != "" { // every agent has a name
				open[f.ID] = f.Author
			}
		}
	})
}

// NotErased lists at most limit accounts that were closed up to a time and whose texts may not all be erased yet. It
// includes those that bear a time of a clock that was ahead.
func (Store) NotErased(ctx context.Context, db bun.IDB, before time.Time, limit int) (ids []uuid.UUID, err error) {
	err = db.NewSelect().Model((*Agent)(nil)).Column("id").Where("erased_at IS NULL").
		Where("?", database.UpTo("closed_at", before, before)).
		OrderExpr("id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list accounts to erase: %w", err)
	}
	return ids, nil
}

// Erased records that all texts of a closed account are erased.
func (Store) Erased(ctx context.Context, db bun.IDB, id uuid.UUID, now time.Time) error {
	_, err := db.NewUpdate().Model((*Agent)(nil)).Set("erased_at = ?", database.Stored(now)).
		Where("id = ?", id).Where("closed_at IS NOT NULL").Exec(ctx)
	if err != nil {
		return fmt.Errorf("note that an account is erased: %w", err)
	}
	return nil
}

// ClosedSince lists the accounts that were closed at since or later.
func (Store) ClosedSince(ctx context.Context, db bun.IDB, since time.Time) (ids []uuid.UUID, err error) {
	err = db.NewSelect().Model((*Agent)(nil)).Column("id").Where("closed_at IS NOT NULL").Where("closed_at >= ?", database.Stored(since)).
		OrderExpr("id").Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list closed accounts: %w", err)
	}
	return ids, nil
}
