package agent

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// refreshLeeway is the time after its first use during which a refresh token may be used again. A
// client may have lost the answer, or two programs may share a token.
const refreshLeeway = 10 * time.Second

// ErrReused is returned for a refresh token that was used before. One of its users may have stolen
// it.
var ErrReused = errors.New("refresh token used before")

// RefreshToken renews the tokens of a grant, once. Only its hash is stored, until it is used or 100 newer ones are
// stored.
type RefreshToken struct {
	bun.BaseModel `bun:"table:refresh_tokens,alias:r"`

	Hash      []byte `bun:",pk"`
	GrantID   uuid.UUID
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time `bun:",nullzero"`
}

func (t *RefreshToken) reused(now time.Time) bool {
	return !t.UsedAt.IsZero() && now.Sub(t.UsedAt) >= refreshLeeway
}

// StoreRefreshToken stores a refresh token of a grant. The token expires at the grant's present
// expiry. A later renewal of the grant doesn't extend it. StoreRefreshToken deletes the tokens of the grant that
// can't be used any more, and the oldest ones beyond MaxGrantTokens. FindRefreshToken still knows them by their
// family, which all tokens of a grant must share. The caller must have locked the agent.
func (Store) StoreRefreshToken(ctx context.Context, tx bun.Tx, g *Grant, token string, now time.Time) error {
	hash, now := Hash(token), database.Stored(now)
	t := &RefreshToken{Hash: hash[:], GrantID: g.ID, CreatedAt: now, ExpiresAt: g.ExpiresAt}
	_, err := tx.NewDelete().Model((*RefreshToken)(nil)).Where("grant_id = ?", g.ID).
		Where("(used_at <= ? OR hash IN (?))", now.Add(-refreshLeeway), beyondLatest(tx, (*RefreshToken)(nil), g)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("delete old refresh tokens: %w", err)
	}
	if _, err := tx.NewInsert().Model(t).Exec(ctx); err != nil {
		return fmt.Errorf("store refresh token: %w", err)
	}
	if g.Family != nil {
		return nil
	}
	family, _ := FamilyOf(token)
	of := Hash(family)
	g.Family = of[:]
	if _, err := tx.NewUpdate().Model(g).WherePK().Column("family").Exec(ctx); err != nil {
		return fmt.Errorf("store the family of refresh tokens: %w", err)
	}
	return nil
}

// FindRefreshToken returns the grant to which a refresh token belongs. It returns ErrNoCredential if there is none
// or the token has expired. It returns ErrReused with the grant if the token was used before or isn't stored any more.
func (s Store) FindRefreshToken(ctx context.Context, db bun.IDB, token string, now time.Time) (*Grant, error) {
	family, ok := FamilyOf(token)
	if !ok {
		return nil, ErrNoCredential
	}
	row := new(struct {
		RefreshToken `bun:",extend"`
		Grant        *Grant `bun:"rel:belongs-to,join:grant_id=id"`
	})
	hash := Hash(token)
	err := db.NewSelect().Model(row).Relation("Grant").Where("r.hash = ?", hash[:]).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return s.grantOfFamily(ctx, db, family)
	case err != nil:
		return nil, fmt.Errorf("find refresh token: %w", err)
	case row.reused(now):
		return row.Grant.utc(), ErrReused
	case !row.ExpiresAt.After(now) || !row.Grant.ExpiresAt.After(now):
		return nil, ErrNoCredential
	}
	return row.Grant.utc(), nil
}

// grantOfFamily returns the grant of a refresh token that isn't stored, with ErrReused. It returns ErrNoCredential if
// there is none. Only the grant's own tokens contain its family, and a stored one isn't deleted before it is used or 100
// newer ones are stored.
func (Store) grantOfFamily(ctx context.Context, db bun.IDB, family string) (*Grant, error) {
	g, hash := new(Grant), Hash(family)
	err := db.NewSelect().Model(g).Where("family = ?", hash[:]).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, ErrNoCredential
	case err != nil:
		return nil, fmt.Errorf("find the grant of a family: %w", err)
	}
	return g.utc(), ErrReused
}

// UseRefreshToken records that a refresh token of a grant was used. It returns ErrReused if another request
// used it more than ten seconds ago or if the grant ends meanwhile, and ErrNoCredential if the grant has ended before. It
// locks the agent's row.
func (s Store) UseRefreshToken(ctx context.Context, tx bun.Tx, grantID uuid.UUID, token string, now time.Time) error {
	switch _, found, err := s.lockOwner(ctx, tx, grantID); {
	case err != nil:
		return err
	case !found:
		return ErrNoCredential
	}
	hash, now := Hash(token), database.Stored(now)
	res, err := tx.NewUpdate().Model((*RefreshToken)(nil)).Set("used_at = COALESCE(used_at, ?)", now).
		Where("hash = ?", hash[:]).Where("(used_at IS NULL OR used_at > ?)", now.Add(-refreshLeeway)).Exec(ctx)
	if err != nil {
		return fmt.Errorf("use refresh token: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return errors.Join(ErrReused, err)
	}
	return nil
}
