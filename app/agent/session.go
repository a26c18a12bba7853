package agent

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

const (
	// SessionLifetime is the lifetime of a session, unless its key expires sooner.
	SessionLifetime = 24 * time.Hour
	// MaxSessions is the most sessions of an agent. Another session ends the oldest. Access tokens of
	// grants don't count.
	MaxSessions = 100
)

// Session is a short-lived bearer credential: a session token begun with a key, or the access token
// of a grant. Only its hash is stored.
type Session struct {
	bun.BaseModel `bun:"table:sessions,alias:s"`

	Hash    []byte `bun:",pk"`
	AgentID uuid.UUID
	// Credential identifies the key that the session was begun with: the id of a local key, or the
	// SHA-256 of a central key in hex.
	Credential string
	GrantID    uuid.UUID `bun:",nullzero"`
	Scope      string    // scopes of the grant, separated by spaces; "" without a grant
	CreatedAt  time.Time
	ExpiresAt  time.Time
}

// StartSession begins a session of an agent with a credential that was just verified. The session
// ends after SessionLifetime, or at until if that isn't zero and sooner, or at the end of a local
// key if that is sooner. If the agent has MaxSessions, the oldest ends. StartSession returns
// ErrNoCredential if the agent has been disabled, its account closed or its local key ended in the
// meantime. It locks the agent's row, so that none of these can happen while the session begins.
func (s Store) StartSession(
	ctx context.Context, tx bun.Tx, agentID uuid.UUID, credential string, until, now time.Time,
) (token string, session *Session, err error) {
	now = database.Stored(now)
	end := now.Add(SessionLifetime)
	if !until.IsZero() && until.Before(end) {
		end = database.Stored(until)
	}
	ends, err := s.endOf(ctx, tx, agentID, credential, now)
	if err != nil {
		return "", nil, err
	}
	if end = earlier(end, ends); !end.After(now) {
		return "", nil, ErrNoCredential
	}
	if err := makeRoom(ctx, tx, agentID, now); err != nil {
		return "", nil, err
	}
	token = newToken()
	hash := Hash(token)
	session = &Session{Hash: hash[:], AgentID: agentID, Credential: credential, CreatedAt: now, ExpiresAt: end}
	if _, err := tx.NewInsert().Model(session).Exec(ctx); err != nil {
		return "", nil, fmt.Errorf("start session: %w", err)
	}
	return token, session, nil
}

// makeRoom ends the oldest sessions of an agent that has MaxSessions or more. It doesn't bump the
// credential generation, for which all agents wait in turn, because a program may begin a session for
// each request. So a node that has cached such a session accepts it for up to a minute more.
func makeRoom(ctx context.Context, tx bun.Tx, agentID uuid.UUID, now time.Time) error {
	beyond := tx.NewSelect().Model((*Session)(nil)).Column("hash").Where("agent_id = ?", agentID).
		Where("grant_id IS NULL").Where("expires_at > ?", now).
		OrderExpr("created_at DESC, hash").Limit(MaxSessions).Offset(MaxSessions - 1)
	_, err := deleteSessions(ctx, tx, func(q *bun.DeleteQuery) *bun.DeleteQuery { return q.Where("hash IN (?)", beyond) })
	return err
}

// endOf locks an agent and returns the end of its credential. A zero time means no end, as for a
// central key. It returns ErrNoCredential if the agent is disabled, its account is closed or its
// local key has ended.
func (s Store) endOf(ctx context.Context, tx bun.Tx, agentID uuid.UUID, credential string, now time.Time) (time.Time, error) {
	a, err := s.Lock(ctx, tx, agentID)
	if err != nil {
		return time.Time{}, err
	}
	var keys []Key // empty if the credential is central
	if err := tx.NewSelect().Model(&keys).Where("id = ?", credential).Scan(ctx); err != nil {
		return time.Time{}, fmt.Errorf("find the key of a session: %w", err)
	}
	gone := len(keys) == 0 && len(credential) == idLength
	if a.Status != Active || a.Closed() || gone || (len(keys) > 0 && !keys[0].validAt(now)) {
		return time.Time{}, ErrNoCredential
	}
	if len(keys) == 0 {
		return time.Time{}, nil
	}
	return keys[0].ExpiresAt.UTC(), nil
}

// earlier returns the earlier of two moments. A zero time means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// FindSession returns the session of a token and its agent, with one query by primary key. It
// returns ErrNoCredential if there is no such session, it has ended or the agent is disabled.
func (Store) FindSession(ctx context.Context, db bun.IDB, token string, now time.Time) (*Session, *Agent, error) {
	if !validToken(token) && !validAccessToken(token) {
		return nil, nil, ErrNoCredential
	}
	hash := Hash(token)
	row := new(struct {
		Session `bun:",extend"`
		Agent   *Agent `bun:"rel:belongs-to,join:agent_id=id"`
	})
	err := db.NewSelect().Model(row).Relation("Agent").Where("s.hash = ?", hash[:]).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil, ErrNoCredential
	case err != nil:
		return nil, nil, fmt.Errorf("find session: %w", err)
	case row.Agent == nil || row.Agent.Status != Active || !row.ExpiresAt.After(now):
		return nil, nil, ErrNoCredential
	}
	row.CreatedAt, row.ExpiresAt = row.CreatedAt.UTC(), row.ExpiresAt.UTC()
	return &row.Session, row.Agent.utc(), nil
}

// EndSession ends the session of an agent's token. It bumps the credential generation even if the session has
// ended already, because a node may have cached a session that a newer one replaced.
func (Store) EndSession(ctx context.Context, tx bun.Tx, agentID uuid.UUID, token string) error {
	hash := Hash(token)
	_, err := deleteSessions(ctx, tx, func(q *bun.DeleteQuery) *bun.DeleteQuery {
		return q.Where("hash = ?", hash[:]).Where("agent_id = ?", agentID)
	})
	if err != nil {
		return err
	}
	return bump(ctx, tx, agentID)
}

// HasSessions reports whether there are sessions begun with a credential.
func (Store) HasSessions(ctx context.Context, db bun.IDB, credential string) (bool, error) {
	exists, err := db.NewSelect().Model((*Session)(nil)).Where("credential = ?", credential).Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for sessions: %w", err)
	}
	return exists, nil
}

// EndSessionsOf ends the sessions begun with a credential.
func (Store) EndSessionsOf(ctx context.Context, tx bun.Tx, credential string) error {
	var agents []uuid.UUID
	err := tx.NewDelete().Model((*Session)(nil)).Where("credential = ?", credential).Returning("agent_id").Scan(ctx, &agents)
	if err != nil {
		return fmt.Errorf("end sessions: %w", err)
	}
	slices.SortFunc(agents, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	for _, id := range slices.Compact(agents) {
		if err := bump(ctx, tx, id); err != nil {
			return err
		}
	}
	return nil
}

// EndAgentSessions ends every session and every grant of an agent and returns their number.
func (s Store) EndAgentSessions(ctx context.Context, tx bun.Tx, agentID uuid.UUID) (int64, error) {
	if _, err := s.Lock(ctx, tx, agentID); err != nil {
		return 0, err
	}
	grants, err := endGrants(ctx, tx, "agent_id = ?", agentID)
	if err != nil {
		return 0, err
	}
	n, err := deleteSessions(ctx, tx, func(q *bun.DeleteQuery) *bun.DeleteQuery { return q.Where("agent_id = ?", agentID) })
	if n += grants; err != nil || n == 0 {
		return n, err
	}
	return n, bump(ctx, tx, agentID)
}

// EndAllSessions ends the sessions of all agents and the access tokens of their grants, and returns
// their number. Keys and grants stay, so agents can begin new sessions.
func (Store) EndAllSessions(ctx context.Context, tx bun.Tx) (int64, error) {
	n, err := deleteSessions(ctx, tx, func(q *bun.DeleteQuery) *bun.DeleteQuery { return q.Where("TRUE") })
	if err != nil {
		return 0, err
	}
	return n, bumpAll(ctx, tx)
}

// CountSessions returns the number of sessions and grants of an agent that haven't expired.
func (Store) CountSessions(ctx context.Context, db bun.IDB, agentID uuid.UUID, now time.Time) (int, error) {
	sessions, err := db.NewSelect().Model((*Session)(nil)).Where("agent_id = ?", agentID).
		Where("grant_id IS NULL").Where("expires_at > ?", database.Stored(now)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count sessions: %w", err)
	}
	grants, err := db.NewSelect().Model((*Grant)(nil)).Where("agent_id = ?", agentID).
		Where("expires_at > ?", database.Stored(now)).Count(ctx)
	if err != nil {
		return 0, fmt.Errorf("count grants: %w", err)
	}
	return int(sessions + grants), nil
}

func deleteSessions(ctx context.Context, tx bun.Tx, where func(*bun.DeleteQuery) *bun.DeleteQuery) (int64, error) {
	res, err := where(tx.NewDelete().Model((*Session)(nil))).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("end sessions: %w", err)
	}
	return res.RowsAffected()
}
