package admin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
)

// A session ends when it is idle for IdleLife, and after SessionLife in any case.
const (
	IdleLife    = 2 * time.Hour
	SessionLife = 24 * time.Hour
	// seenEvery is how often the last use of a session is stored.
	seenEvery = time.Minute
)

// ErrNoSession is returned if a token is malformed, unknown or expired.
var ErrNoSession = errors.New("no such admin session")

// Session is one signed-in browser. Only the hash of its token is stored.
type Session struct {
	bun.BaseModel `bun:"table:admin_sessions,alias:n"`

	Hash      []byte    `bun:",pk"`
	AdminID   uuid.UUID `bun:",type:uuid"`
	Address   string    // client's address at sign-in
	CreatedAt time.Time
	SeenAt    time.Time // accurate to about a minute
	ExpiresAt time.Time
}

// NewToken returns a random secret of 256 bits.
func NewToken() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails, by its contract
	return base64.RawURLEncoding.EncodeToString(b)
}

func hashToken(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// StartSession starts a session and returns its token, which is shown only here. It also deletes
// sessions that have ended.
func (Store) StartSession(
	ctx context.Context, tx bun.Tx, a *Admin, address string, now time.Time,
) (token string, err error) {
	now = database.Stored(now)
	if _, err := tx.NewDelete().Model((*Session)(nil)).Where("expires_at <= ? OR seen_at <= ?", now, now.Add(-IdleLife)).Exec(ctx); err != nil {
		return "", fmt.Errorf("clear admin sessions: %w", err)
	}
	token = NewToken()
	n := &Session{Hash: hashToken(token), AdminID: a.ID, Address: address, CreatedAt: now, SeenAt: now, ExpiresAt: now.Add(SessionLife)}
	if _, err := tx.NewInsert().Model(n).Exec(ctx); err != nil {
		return "", fmt.Errorf("start admin session: %w", err)
	}
	if _, err := tx.NewUpdate().Model(a).WherePK().Set("signed_in_at = ?", now).Exec(ctx); err != nil {
		return "", fmt.Errorf("note sign-in: %w", err)
	}
	return token, nil
}

// FindSession returns the session of a token and its admin. It returns ErrNoSession if there is
// none or it has ended. The caller must call NoteUse.
func (Store) FindSession(ctx context.Context, db bun.IDB, token string, now time.Time) (*Session, *Admin, error) {
	if len(token) != base64.RawURLEncoding.EncodedLen(32) {
		return nil, nil, ErrNoSession
	}
	now = database.Stored(now)
	row := new(struct {
		Session `bun:",extend"`
		Admin   *Admin `bun:"rel:belongs-to,join:admin_id=id"`
	})
	err := db.NewSelect().Model(row).Relation("Admin").Where("n.hash = ?", hashToken(token)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil, ErrNoSession
	case err != nil:
		return nil, nil, fmt.Errorf("find admin session: %w", err)
	case row.Admin == nil || !row.ExpiresAt.After(now) || !row.SeenAt.After(now.Add(-IdleLife)):
		return nil, nil, ErrNoSession
	}
	row.CreatedAt, row.SeenAt, row.ExpiresAt = row.CreatedAt.UTC(), row.SeenAt.UTC(), row.ExpiresAt.UTC()
	return &row.Session, row.Admin, nil
}

// NoteUse stores that a session that FindSession returned is used, at most once a minute. Sessions that aren't used
// end.
func (Store) NoteUse(ctx context.Context, db bun.IDB, n *Session, now time.Time) error {
	now = database.Stored(now)
	if !n.SeenAt.Before(now.Add(-seenEvery)) {
		return nil
	}
	_, err := db.NewUpdate().Model((*Session)(nil)).Set("seen_at = ?", now).Where("hash = ?", n.Hash).Where("seen_at < ?", now).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note admin session: %w", err)
	}
	return nil
}

// SignOut ends one session of an admin, or all of them if everywhere is true, and records it.
func (s Store) SignOut(
	ctx context.Context, db *database.DB, a *Admin, session *Session, everywhere bool, address string, now time.Time,
) error {
	e := audit.Entry{
		CreatedAt: now, Actor: a.Name, Action: audit.SignOut, Target: audit.AdminTarget(a.Name), Address: address,
	}
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		if everywhere {
			e.Action = audit.SignOutEverywhere
			_, err = s.EndSessions(ctx, tx, a.ID)
		} else if _, err = tx.NewDelete().Model(session).WherePK().Exec(ctx); err != nil {
			err = fmt.Errorf("end admin session: %w", err)
		}
		if err != nil {
			return err
		}
		return audit.Record(ctx, tx, e)
	})
}

// EndSessions ends every session of an admin and returns how many there were.
func (Store) EndSessions(ctx context.Context, tx bun.Tx, admin uuid.UUID) (int64, error) {
	res, err := tx.NewDelete().Model((*Session)(nil)).Where("admin_id = ?", admin).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("end admin sessions: %w", err)
	}
	return res.RowsAffected()
}

// EndAllSessions ends the sessions of all admins and returns how many there were.
func (Store) EndAllSessions(ctx context.Context, tx bun.Tx) (int64, error) {
	res, err := tx.NewDelete().Model((*Session)(nil)).Where("TRUE").Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("end admin sessions: %w", err)
	}
	return res.RowsAffected()
}

// SessionsOf lists the sessions of an admin, most recently used first.
func (Store) SessionsOf(ctx context.Context, db bun.IDB, admin uuid.UUID) ([]Session, error) {
	var list []Session
	if err := db.NewSelect().Model(&list).Where("admin_id = ?", admin).OrderExpr("seen_at DESC").Scan(ctx); err != nil {
		return nil, fmt.Errorf("list admin sessions: %w", err)
	}
	return list, nil
}
