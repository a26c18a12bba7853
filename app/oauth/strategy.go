package oauth

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/ory/fosite"

	"github.com/pulsecast/pulsecast/app/agent"
)

// strategy makes tokens and codes in the form of the other credentials. The library finds them by their
// signature, which is the stored hash in hex except for refresh tokens. Their validity is checked where they are looked up.
type strategy struct{}

func signature(token string) string {
	hash := agent.Hash(token)
	return hex.EncodeToString(hash[:])
}

func made(token string) (string, string, error) { return token, signature(token), nil }

func (strategy) AccessTokenSignature(_ context.Context, token string) string { return signature(token) }

func (strategy) GenerateAccessToken(context.Context, fosite.Requester) (string, string, error) {
	return made(agent.NewAccessToken())
}

func (strategy) ValidateAccessToken(context.Context, fosite.Requester, string) error { return nil }

// RefreshTokenSignature returns the token itself, because the store needs its family. The store keeps only hashes.
func (strategy) RefreshTokenSignature(_ context.Context, token string) string { return token }

func (strategy) GenerateRefreshToken(_ context.Context, r fosite.Requester) (string, string, error) {
	family := sessionOf(r).family
	if family == "" {
		family = agent.NewFamily()
	}
	token := agent.NewRefreshToken(family)
	return token, token, nil
}

func (strategy) ValidateRefreshToken(context.Context, fosite.Requester, string) error { return nil }

func (strategy) AuthorizeCodeSignature(_ context.Context, token string) string {
	return signature(token)
}

func (strategy) GenerateAuthorizeCode(context.Context, fosite.Requester) (string, string, error) {
	return made(agent.NewCode())
}

func (strategy) ValidateAuthorizeCode(context.Context, fosite.Requester, string) error { return nil }

// session carries a grant through the library.
type session struct {
	grant   agent.Grant
	family  string // of the refresh token that the client sent, or ""
	expires map[fosite.TokenType]time.Time
}

// SetExpiresAt implements fosite.Session. The library tells clients the time that remains until then.
func (s *session) SetExpiresAt(kind fosite.TokenType, at time.Time) {
	if s.expires == nil {
		s.expires = map[fosite.TokenType]time.Time{}
	}
	s.expires[kind] = at
}

// GetExpiresAt implements fosite.Session.
func (s *session) GetExpiresAt(kind fosite.TokenType) time.Time { return s.expires[kind] }

// GetUsername implements fosite.Session.
func (s *session) GetUsername() string { return s.grant.AgentID.String() }

// GetSubject implements fosite.Session.
func (s *session) GetSubject() string { return s.grant.AgentID.String() }

// Clone implements fosite.Session.
func (s *session) Clone() fosite.Session {
	return &session{grant: s.grant, family: s.family}
}
