package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// The scopes that a grant can have.
const (
	ScopeRead    = "read"    // read the agent's private data
	ScopePublish = "publish" // publish, report and change the profile for the agent
)

const (
	// AccessLifetime is the longest lifetime of an access token.
	AccessLifetime = time.Hour
	// GrantLifetime is the longest lifetime of a grant after its last renewal.
	GrantLifetime = 30 * 24 * time.Hour
	// MaxGrants is the most grants of an agent. Another grant ends the one that was renewed longest
	// ago.
	MaxGrants = 50
	// MaxGrantTokens is the most access tokens and the most refresh tokens of a grant that are
	// stored. Another one deletes the oldest. So it takes little to end a grant, which deletes all
	// of its tokens.
	MaxGrantTokens = 100
)

// Grant is what an agent allows an app that signed in by OAuth to do. It begins with the approval,
// lasts GrantLifetime after each renewal, and ends with the key that approved it.
type Grant struct {
	bun.BaseModel `bun:"table:grants,alias:g"`

	ID         uuid.UUID `bun:",pk"`
	AgentID    uuid.UUID
	Credential string // id of the key that approved it
	ClientID   string
	ClientName string // as declared by the client
	Scope      string // separated by spaces
	Resource   string // address for which its tokens are valid (RFC 8707)
	Family     []byte // hash of the family of its refresh tokens; nil before the first of them
	CreatedAt  time.Time
	RenewedAt  time.Time
	ExpiresAt  time.Time
}

// Scopes returns the scopes of the grant.
func (g *Grant) Scopes() []string { return strings.Fields(g.Scope) }

func (g *Grant) utc() *Grant {
	g.CreatedAt, g.RenewedAt, g.ExpiresAt = g.CreatedAt.UTC(), g.RenewedAt.UTC(), g.ExpiresAt.UTC()
	return g
}

// OpenGrant stores a new grant, which begins now. It ends at until, or with its key if that is
// sooner, unless RenewGrant extends it. OpenGrant returns ErrNoCredential if the agent was disabled
// or the approving key has ended.
func (s Store) OpenGrant(ctx context.Context, tx bun.Tx, g *Grant, until, now time.Time) error {
	now = database.Stored(now)
	ends, err := s.endOf(ctx, tx, g.AgentID, g.Credential, now)
	if err != nil {
		return err
	}
	g.CreatedAt, g.RenewedAt, g.ExpiresAt = now, now, earlier(database.Stored(until), ends)
	beyond := tx.NewSelect().Model((*Grant)(nil)).Column("id").Where("agent_id = ?", g.AgentID).
		OrderExpr("expires_at > ? DESC, renewed_at DESC, id", now).Limit(MaxGrants).Offset(MaxGrants - 1)
	ended, err := endGrants(ctx, tx, "id IN (?)", beyond)
	if err != nil {
		return err
	}
	if _, err := tx.NewInsert().Model(g).Exec(ctx); err != nil {
		return fmt.Errorf("open grant: %w", err)
	}
	if ended == 0 {
		return nil
	}
	return bump(ctx, tx, g.AgentID)
}

// RenewGrant extends a grant to GrantLifetime from now, but not beyond the end of its key. It
// returns ErrNoCredential if the grant has ended, the agent was disabled or the key has ended.
func (s Store) RenewGrant(ctx context.Context, tx bun.Tx, g *Grant, now time.Time) error {
	now = database.Stored(now)
	ends, err := s.endOf(ctx, tx, g.AgentID, g.Credential, now)
	if err != nil {
		return err
	}
	g.RenewedAt, g.ExpiresAt = now, earlier(now.Add(GrantLifetime), ends)
	res, err := tx.NewUpdate().Model(g).WherePK().Column("renewed_at", "expires_at").Exec(ctx)
	if err != nil {
		return fmt.Errorf("renew grant: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(ErrNoCredential, err)
	}
	return nil
}

// StoreAccessToken stores the hash of an access token of a grant. It returns the end of the token,
// which is after AccessLifetime or at the end of the grant if that is sooner. It ends the oldest access
// tokens beyond MaxGrantTokens. Like an old session, each is accepted for up to a minute more by a
// node that has cached it; see makeRoom. The caller must have locked the agent.
func (Store) StoreAccessToken(
	ctx context.Context, tx bun.Tx, g *Grant, hash []byte, now time.Time,
) (ends time.Time, err error) {
	now = database.Stored(now)
	session := &Session{
		Hash: hash, AgentID: g.AgentID, Credential: g.Credential, GrantID: g.ID, Scope: g.Scope,
		CreatedAt: now, ExpiresAt: earlier(now.Add(AccessLifetime), g.ExpiresAt),
	}
	_, err = deleteSessions(ctx, tx, func(q *bun.DeleteQuery) *bun.DeleteQuery {
		return q.Where("hash IN (?)", beyondLatest(tx, (*Session)(nil), g))
	})
	if err != nil {
		return ends, err
	}
	if _, err := tx.NewInsert().Model(session).Exec(ctx); err != nil {
		return ends, fmt.Errorf("store access token: %w", err)
	}
	return session.ExpiresAt, nil
}

// beyondLatest selects the hashes of the tokens of a grant that make room for another one.
func beyondLatest(tx bun.Tx, model any, g *Grant) *bun.SelectQuery {
	return tx.NewSelect().Model(model).Column("hash").Where("grant_id = ?", g.ID).
		OrderExpr("created_at DESC, hash").Limit(MaxGrantTokens).Offset(MaxGrantTokens - 1)
}

// GrantOfAccessToken returns the grant to which the access token with the given hash belongs. It
// returns ErrNoCredential if there is none.
func (Store) GrantOfAccessToken(ctx context.Context, db bun.IDB, hash []byte) (*Grant, error) {
	g := new(Grant)
	err := db.NewSelect().Model(g).
		Where("g.id = (SELECT grant_id FROM sessions WHERE hash = ?)", hash).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrNoCredential
	case err != nil:
		return nil, fmt.Errorf("find the grant of an access token: %w", err)
	}
	return g.utc(), nil
}

// ListGrants returns the grants of an agent that have not expired, the newest first.
func (Store) ListGrants(ctx context.Context, db bun.IDB, agentID uuid.UUID, now time.Time) ([]*Grant, error) {
	grants := []*Grant{}
	err := db.NewSelect().Model(&grants).Where("agent_id = ?", agentID).
		Where("expires_at > ?", database.Stored(now)).OrderExpr("created_at DESC, id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	for _, g := range grants {
		g.utc()
	}
	return grants, nil
}

// RevokeGrant ends a grant of an agent with all its tokens. It returns 404 not_found if the agent
// has no such grant.
func (s Store) RevokeGrant(ctx context.Context, tx bun.Tx, agentID, grantID uuid.UUID) error {
	if _, err := s.Lock(ctx, tx, agentID); err != nil {
		return err
	}
	exists, err := tx.NewSelect().Model((*Grant)(nil)).
		Where("id = ?", grantID).Where("agent_id = ?", agentID).Exists(ctx)
	if err != nil {
		return fmt.Errorf("revoke grant: %w", err)
	}
	if !exists {
		return problem.NotFound("This agent has no such grant. GET /api/agents/me/grants lists them.")
	}
	return endGrant(ctx, tx, agentID, grantID)
}

// EndGrant ends a grant with all its tokens. It does nothing if the grant has ended already.
func (s Store) EndGrant(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
	owner, found, err := s.lockOwner(ctx, tx, id)
	if err != nil || !found {
		return err
	}
	return endGrant(ctx, tx, owner, id)
}

// lockOwner locks the agent of a grant, as Lock does. found is false if the grant has ended, but it may also end while
// lockOwner waits for the lock.
func (s Store) lockOwner(ctx context.Context, tx bun.Tx, grantID uuid.UUID) (owner uuid.UUID, found bool, err error) {
	err = tx.NewSelect().Model((*Grant)(nil)).Column("agent_id").Where("id = ?", grantID).Scan(ctx, &owner)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return owner, false, nil
	case err != nil:
		return owner, false, fmt.Errorf("find the agent of a grant: %w", err)
	}
	_, err = s.Lock(ctx, tx, owner)
	return owner, err == nil, err
}

func endGrant(ctx context.Context, tx bun.Tx, agentID, id uuid.UUID) error {
	if _, err := endGrants(ctx, tx, "id = ?", id); err != nil {
		return err
	}
	return bump(ctx, tx, agentID)
}

// endGrants deletes grants with their tokens and returns the number of grants. The caller must bump
// the generation.
func endGrants(ctx context.Context, tx bun.Tx, where string, arg any) (int64, error) {
	res, err := tx.NewDelete().Model((*Grant)(nil)).Where(where, arg).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("end grants: %w", err)
	}
	return res.RowsAffected()
}
