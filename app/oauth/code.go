package oauth

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// code is an authorization code with the grant that it redeems. Only its hash is stored.
type code struct {
	bun.BaseModel `bun:"table:oauth_codes,alias:c"`

	Hash        []byte `bun:",pk"`
	GrantID     uuid.UUID
	AgentID     uuid.UUID
	Credential  string
	ClientID    string
	ClientName  string
	RedirectURI string // as the client sent it, or "" if the client left it out
	Scope       string
	Resource    string
	Challenge   string // of PKCE, with S256
	ExpiresAt   time.Time
	TriedAt     time.Time `bun:",nullzero"` // when a verifier was checked
	UsedAt      time.Time `bun:",nullzero"`
}

func (c *code) grant() agent.Grant {
	return agent.Grant{
		ID: c.GrantID, AgentID: c.AgentID, Credential: c.Credential,
		ClientID: c.ClientID, ClientName: c.ClientName, Scope: c.Scope, Resource: c.Resource,
	}
}

// findCode finds a code and locks it. It returns fosite.ErrNotFound if there is none.
func findCode(ctx context.Context, tx bun.Tx, hash []byte) (*code, error) {
	c := new(code)
	err := database.ForUpdate(tx.NewSelect().Model(c).Where("hash = ?", hash)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, fosite.ErrNotFound
	case err != nil:
		return nil, fmt.Errorf("find code: %w", err)
	}
	return c, nil
}

// mark records in a column of a code when something happened to it.
func mark(ctx context.Context, tx bun.Tx, column string, hash []byte, now time.Time) error {
	_, err := tx.NewUpdate().Model((*code)(nil)).Set("? = ?", bun.Ident(column), database.Stored(now)).
		Where("hash = ?", hash).Exec(ctx)
	if err != nil {
		return fmt.Errorf("mark code: %w", err)
	}
	return nil
}
