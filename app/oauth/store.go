package oauth

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"github.com/ory/fosite"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// store implements the library's storage. Every method runs in the transaction of its context.
type store struct{ *Server }

type txKey struct{}

// inTx runs one step of the protocol in a transaction. do returns the refusal for the client, which is
// committed, and an error, which rolls back.
func (s *Server) inTx(ctx context.Context, do func(ctx context.Context) (refused, err error)) (refused, err error) {
	err = s.DB.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		refused, err = do(context.WithValue(ctx, txKey{}, tx))
		return err
	})
	return refused, err
}

func txOf(ctx context.Context) bun.Tx { return ctx.Value(txKey{}).(bun.Tx) }

// dbOf returns the transaction of ctx, or the reader if there is none.
func (s store) dbOf(ctx context.Context) bun.IDB {
	if tx, ok := ctx.Value(txKey{}).(bun.Tx); ok {
		return tx
	}
	return s.DB.Reader
}

func hashOf(signature string) []byte {
	hash, _ := hex.DecodeString(signature) // made by strategy, so it is valid
	return hash
}

func sessionOf(r fosite.Requester) *session { return r.GetSession().(*session) }

// GetClient implements fosite.ClientManager.
func (s store) GetClient(ctx context.Context, id string) (fosite.Client, error) {
	if c, ok := ctx.Value(clientKey{}).(party); ok && c.id == id {
		return c, nil
	}
	if isDocument(id) { // a code or token names its client, even if the document has changed since
		return s.party(id, nil), nil
	}
	c, err := findClient(ctx, s.dbOf(ctx), id, s.Now())
	if err != nil {
		return nil, err
	}
	return s.party(c.ID, c.RedirectURIs), nil
}

// identify finds the client of a request to the token endpoint. Clients are public, so there is no secret
// to check, and no assertion is ever parsed.
func (s store) identify(ctx context.Context, r *http.Request, form url.Values) (fosite.Client, error) {
	id := form.Get("client_id")
	if name, _, ok := r.BasicAuth(); ok && id == "" {
		id, _ = url.QueryUnescape(name) // RFC 6749, section 2.3.1
	}
	if id == "" || len(id) > maxClientIDSize || form.Has("client_assertion") {
		return nil, fosite.ErrInvalidClient.WithHint("Send client_id, without a secret or an assertion.")
	}
	c, err := s.GetClient(ctx, id)
	if errors.Is(err, fosite.ErrNotFound) {
		return nil, fosite.ErrInvalidClient.WithHint("The client isn't registered, or its registration has expired. Register again.")
	}
	return c, err
}

// ClientAssertionJWTValid implements fosite.ClientManager: clients have no keys.
func (store) ClientAssertionJWTValid(context.Context, string) error { return fosite.ErrJTIKnown }

// SetClientAssertionJWT implements fosite.ClientManager.
func (store) SetClientAssertionJWT(context.Context, string, time.Time) error {
	return fosite.ErrJTIKnown
}

// CreateAuthorizeCodeSession opens a grant that ends with its code, and stores the code with its challenge. The
// code needs the grant, so whatever ends the grants of an agent ends its codes too.
func (s store) CreateAuthorizeCodeSession(ctx context.Context, signature string, r fosite.Requester) error {
	g := &sessionOf(r).grant
	ends := database.Stored(s.Now().Add(codeLifetime))
	if err := s.agents.OpenGrant(ctx, txOf(ctx), g, ends, s.Now()); err != nil {
		return err
	}
	c := &code{
		Hash: hashOf(signature), GrantID: g.ID, AgentID: g.AgentID, Credential: g.Credential,
		ClientID: g.ClientID, ClientName: g.ClientName, Scope: g.Scope, Resource: g.Resource,
		RedirectURI: r.GetRequestForm().Get("redirect_uri"), Challenge: r.GetRequestForm().Get("code_challenge"),
		ExpiresAt: ends,
	}
	if _, err := txOf(ctx).NewInsert().Model(c).Exec(ctx); err != nil {
		return fmt.Errorf("store code: %w", err)
	}
	return nil
}

// GetAuthorizeCodeSession finds a code and locks it until the transaction ends, so that two requests can't
// redeem it.
func (s store) GetAuthorizeCodeSession(ctx context.Context, signature string, _ fosite.Session) (fosite.Requester, error) {
	c, err := findCode(ctx, txOf(ctx), hashOf(signature))
	if err != nil {
		return nil, err
	}
	r := s.request(&session{grant: c.grant()}, url.Values{"redirect_uri": {c.RedirectURI}})
	switch {
	case !c.UsedAt.IsZero():
		return r, fosite.ErrInvalidatedAuthorizeCode
	case !c.ExpiresAt.After(s.Now()):
		return nil, fosite.ErrNotFound
	}
	return r, nil
}

// InvalidateAuthorizeCodeSession marks a code as used.
func (s store) InvalidateAuthorizeCodeSession(ctx context.Context, signature string) error {
	return mark(ctx, txOf(ctx), "used_at", hashOf(signature), s.Now())
}

// CreatePKCERequestSession does nothing: the challenge is stored with the code.
func (store) CreatePKCERequestSession(context.Context, string, fosite.Requester) error { return nil }

// GetPKCERequestSession returns the challenge of a code. After the first attempt it returns
// fosite.ErrNotFound.
func (s store) GetPKCERequestSession(ctx context.Context, signature string, _ fosite.Session) (fosite.Requester, error) {
	c, err := findCode(ctx, txOf(ctx), hashOf(signature))
	if err != nil {
		return nil, err
	}
	if !c.TriedAt.IsZero() {
		return nil, fosite.ErrNotFound
	}
	return s.request(&session{grant: c.grant()}, url.Values{
		"code_challenge": {c.Challenge}, "code_challenge_method": {"S256"},
	}), nil
}

// DeletePKCERequestSession records that a verifier was tried. Each code allows one attempt.
func (s store) DeletePKCERequestSession(ctx context.Context, signature string) error {
	return mark(ctx, txOf(ctx), "tried_at", hashOf(signature), s.Now())
}

// CreateAccessTokenSession renews a grant, and then stores an access token of it.
func (s store) CreateAccessTokenSession(ctx context.Context, signature string, r fosite.Requester) error {
	held := sessionOf(r)
	if err := s.agents.RenewGrant(ctx, txOf(ctx), &held.grant, s.Now()); err != nil {
		return err
	}
	if err := keepClient(ctx, txOf(ctx), held.grant.ClientID, s.Now()); err != nil {
		return err
	}
	ends, err := s.agents.StoreAccessToken(ctx, txOf(ctx), &held.grant, hashOf(signature), s.Now())
	held.SetExpiresAt(fosite.AccessToken, time.Now().Add(ends.Sub(s.Now()))) // the library has its own clock
	return err
}

// GetAccessTokenSession finds the grant of an access token.
func (s store) GetAccessTokenSession(ctx context.Context, signature string, _ fosite.Session) (fosite.Requester, error) {
	g, err := s.agents.GrantOfAccessToken(ctx, txOf(ctx), hashOf(signature))
	return s.granted(g, err)
}

// DeleteAccessTokenSession does nothing: access tokens end with their grant.
func (store) DeleteAccessTokenSession(context.Context, string) error { return nil }

// CreateRefreshTokenSession stores a refresh token of a grant.
func (s store) CreateRefreshTokenSession(ctx context.Context, token, _ string, r fosite.Requester) error {
	return s.agents.StoreRefreshToken(ctx, txOf(ctx), &sessionOf(r).grant, token, s.Now())
}

// GetRefreshTokenSession finds the grant of a refresh token. If the token was used before, it returns the
// grant with ErrInactiveToken.
func (s store) GetRefreshTokenSession(ctx context.Context, token string, _ fosite.Session) (fosite.Requester, error) {
	g, err := s.agents.FindRefreshToken(ctx, txOf(ctx), token, s.Now())
	r, err := s.granted(g, err)
	if err == nil {
		sessionOf(r).family, _ = agent.FamilyOf(token)
	}
	return r, err
}

// DeleteRefreshTokenSession does nothing: refresh tokens end with their grant.
func (store) DeleteRefreshTokenSession(context.Context, string) error { return nil }

// RotateRefreshToken records that a refresh token was used. Access tokens stay valid until they expire,
// because other requests may be using them.
func (s store) RotateRefreshToken(ctx context.Context, id, token string) error {
	grant, err := uuid.Parse(id)
	if err != nil {
		return fosite.ErrNotFound
	}
	return s.agents.UseRefreshToken(ctx, txOf(ctx), grant, token, s.Now())
}

// RevokeRefreshToken ends a grant.
func (s store) RevokeRefreshToken(ctx context.Context, id string) error {
	grant, err := uuid.Parse(id)
	if err != nil {
		return fosite.ErrNotFound
	}
	return s.agents.EndGrant(ctx, txOf(ctx), grant)
}

// RevokeAccessToken does the same as RevokeRefreshToken: a grant ends as a whole.
func (s store) RevokeAccessToken(ctx context.Context, id string) error {
	return s.RevokeRefreshToken(ctx, id)
}

// granted returns the request that led to a grant, in the library's form.
func (s store) granted(g *agent.Grant, err error) (fosite.Requester, error) {
	switch {
	case errors.Is(err, agent.ErrReused):
		return s.request(&session{grant: *g}, url.Values{}), fosite.ErrInactiveToken
	case errors.Is(err, agent.ErrNoCredential):
		return nil, fosite.ErrNotFound
	case err != nil:
		return nil, err
	}
	return s.request(&session{grant: *g}, url.Values{}), nil
}

func (s store) request(held *session, form url.Values) fosite.Requester {
	g := held.grant
	return &fosite.Request{
		ID: g.ID.String(), RequestedAt: g.CreatedAt, Client: s.party(g.ClientID, nil), Session: held, Form: form,
		RequestedScope: g.Scopes(), GrantedScope: g.Scopes(),
		RequestedAudience: fosite.Arguments{g.Resource}, GrantedAudience: fosite.Arguments{g.Resource},
	}
}
