package oauth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Registration is the answer to a client that registered itself (RFC 7591, section 3.2.1). Every client is
// public and uses codes and refresh tokens, whatever it asked for.
type Registration struct {
	ClientID     string   `json:"client_id"`
	IssuedAt     int64    `json:"client_id_issued_at"` // Unix seconds
	Name         string   `json:"client_name"`
	Homepage     string   `json:"client_uri,omitempty"`
	RedirectURIs []string `json:"redirect_uris"`
	Grants       []string `json:"grant_types"`
	Answers      []string `json:"response_types"`
	AuthMethod   string   `json:"token_endpoint_auth_method"`
	Scope        string   `json:"scope"`
}

// Register makes a client from its JSON description of itself. The client is deleted after three days
// unless a person approves it. Errors are *Error.
func (s *Server) Register(ctx context.Context, body []byte) (*Registration, error) {
	var m metadata
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, refuse("invalid_client_metadata", "Send one JSON object with redirect_uris and client_name.")
	}
	c, refusal := m.client("client_" + rand.Text())
	if refusal != nil {
		return nil, refusal
	}
	now := database.Stored(s.Now())
	c.CreatedAt, c.ExpiresAt = now, now.Add(UnapprovedLifetime)
	err := s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return addClient(ctx, tx, c) })
	if e := translate(err); e != nil {
		return nil, e
	}
	if err != nil {
		s.Log.Error("a client could not register", "error", err)
		return nil, unavailable(err)
	}
	return &Registration{
		ClientID: c.ID, IssuedAt: now.Unix(), Name: c.Name, Homepage: c.Homepage, RedirectURIs: c.RedirectURIs,
		Grants: grantTypes, Answers: []string{"code"}, AuthMethod: "none",
		Scope: strings.Join(Scopes, " "),
	}, nil
}

// addClient stores a client. If there are too many, another one makes room. Half of the places are for clients that people
// have allowed and half for others, and each kind may also use what the other leaves free. So neither registrations nor
// approvals can keep others out.
func addClient(ctx context.Context, tx bun.Tx, c *Client) error {
	var n, approved int64
	err := tx.NewSelect().Model((*Client)(nil)).ColumnExpr("COUNT(*), COUNT(approved_at)").Scan(ctx, &n, &approved)
	if err != nil {
		return fmt.Errorf("count clients: %w", err)
	}
	if n >= maxClients {
		removed, err := removeUnused(ctx, tx, n-maxClients+1, approved > maxClients/2)
		if err != nil {
			return err
		}
		n -= removed
	}
	if n >= maxClients { // others are making room
		return &Error{
			Code: "temporarily_unavailable", Status: http.StatusServiceUnavailable,
			Description: "Too many clients are registering. Try again, or use a client id metadata document.",
		}
	}
	if _, err := tx.NewInsert().Model(c).Exec(ctx); err != nil {
		return fmt.Errorf("store client: %w", err)
	}
	return nil
}

// removeUnused deletes up to a number of clients. Among the approved ones, those that were used longest ago go first, and
// among the others the oldest. If too few of one kind can be deleted, it goes on with the other kind.
func removeUnused(ctx context.Context, tx bun.Tx, most int64, approvedFirst bool) (removed int64, err error) {
	old := database.ForRemoval(tx.NewSelect().Model((*Client)(nil)).Column("id").
		OrderExpr("(approved_at IS NOT NULL) <> ?, expires_at, id", approvedFirst).Limit(most))
	res, err := tx.NewDelete().With("old", old).Model((*Client)(nil)).Where("id IN (SELECT id FROM old)").Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("remove clients: %w", err)
	}
	return res.RowsAffected()
}

// Prune deletes one batch each of expired codes and registered clients. It keeps a code for a day, so that
// a second use is noticed.
func Prune(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error) {
	clients, err := database.Prune(ctx, db, "oauth_clients", "expires_at", now, "id")
	if err != nil {
		return false, err
	}
	codes, err := database.Prune(ctx, db, "oauth_codes", "expires_at", now.Add(-24*time.Hour), "hash")
	return clients || codes, err
}
