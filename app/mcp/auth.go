package mcp

import (
	"context"
	"errors"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/problem"
)

// stepUp is the challenge of a call that the access token's scopes don't allow.
type stepUp struct{ challenge string }

type stepUpKey struct{}

// requireBearer refuses a request without a valid bearer, and says where a client can sign in (RFC 9728,
// section 5.1). If the scopes of an access token don't allow a call, it refuses the whole request, so that
// the client can ask for more scopes.
func (s *Server) requireBearer(h *httpserver.Server) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if err := h.CheckBearer(c); err != nil {
			return s.challenged(err)
		}
		step := new(stepUp)
		c.Context().SetUserValue(stepUpKey{}, step)
		if err := c.Next(); err != nil || step.challenge == "" {
			return err
		}
		_, scope, _ := strings.Cut(step.challenge, `, scope="`)
		scope, _, _ = strings.Cut(scope, `"`)
		refusal := problem.InsufficientScope(scope)
		refusal.Challenge = step.challenge + ", " + s.metadataHint()
		return refusal
	}
}

// challenged adds the sign-in address and the scopes to ask for to a 401.
func (s *Server) challenged(err error) error {
	refusal, ok := errors.AsType[*problem.Error](err)
	if !ok || refusal.Status != fiber.StatusUnauthorized {
		return err
	}
	own := *refusal
	own.Challenge += ", " + s.metadataHint()
	if scopes := s.scopes(); scopes != "" {
		own.Challenge += `, scope="` + scopes + `"`
	}
	return &own
}

func (s *Server) metadataHint() string {
	return `resource_metadata="` + s.config.BaseURL + oauth.ResourceMetadataPath + Path + `"`
}

// scopes returns the scopes that a client needs in order to use every tool.
func (s *Server) scopes() string {
	if s.config.IdentityURL != "" {
		return s.config.IdentityScope
	}
	return strings.Join(oauth.Scopes, " ")
}

// noteScope records that the API refused a call because of its scopes.
func noteScope(ctx context.Context, response *fasthttp.Response) {
	challenge := string(response.Header.Peek(fiber.HeaderWWWAuthenticate))
	if step, ok := ctx.Value(stepUpKey{}).(*stepUp); ok && strings.Contains(challenge, `error="insufficient_scope"`) {
		step.challenge = challenge
	}
}
