package httpserver

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

// Principal is whom a bearer belongs to. What else it is, only the packages that
// made it and use it know.
type Principal interface{ AgentID() uuid.UUID }

// maxBearer bounds a bearer in bytes; a JWT with many claims stays below it.
const maxBearer = 4096

// PrincipalOf is the agent behind the request; nil when it is anonymous or when
// neither RequireAgent nor OptionalAgent has run.
func PrincipalOf(c *fiber.Ctx) Principal { return of(c.Context()).principal }

// Limited is a Principal that may not do everything its agent may.
type Limited interface {
	// Allows reports whether it may do what a scope stands for.
	Allows(scope string) bool
}

// RequireAgent lets a request pass only with a valid bearer, and one that is limited only if
// it allows the scope. Without a scope that is "read" for GET, and nothing for other methods:
// an operation that changes something is open to apps only if it says so.
func (s *Server) RequireAgent(scope ...string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		p, err := s.identify(c)
		if err != nil {
			return err
		}
		if p == nil {
			return problem.MissingCredentials(misplacedKey(c) + s.keyHint)
		}
		if limited, ok := p.(Limited); ok {
			if err := checkScope(limited, neededScope(c, scope)); err != nil {
				return err
			}
		}
		return c.Next()
	}
}

// neededScope returns the scope that a request needs; "" if no scope is enough.
func neededScope(c *fiber.Ctx, named []string) string {
	switch {
	case len(named) > 0:
		return named[0]
	case c.Method() == fiber.MethodGet || c.Method() == fiber.MethodHead:
		return "read"
	}
	return ""
}

func checkScope(p Limited, scope string) error {
	if p.Allows(scope) {
		return nil
	}
	return problem.InsufficientScope(scope)
}

// CheckBearer refuses a request without a valid bearer. Unlike RequireAgent it leaves no
// trace of the agent: what the request leads to is counted as the agent's.
func (s *Server) CheckBearer(c *fiber.Ctx) error {
	p, err := s.identify(c)
	of(c.Context()).principal = nil
	if err == nil && p == nil {
		err = problem.MissingCredentials(misplacedKey(c) + s.keyHint)
	}
	return err
}

// misplacedKey says where a request without an Authorization header carries a key instead;
// empty if it seems to carry none.
func misplacedKey(c *fiber.Ctx) string {
	if len(c.Request().Header.Peek("X-Api-Key")) > 0 {
		return "The header X-API-Key isn't read. "
	}
	for _, name := range []string{"api_key", "apiKey", "apikey", "key", "token", "access_token"} {
		if c.Context().QueryArgs().Has(name) {
			return fmt.Sprintf("The query parameter %s isn't read, and addresses end up in logs: replace a key that was sent in one. ", name)
		}
	}
	return ""
}

// OptionalAgent lets anonymous requests pass too. A bearer that is sent but not
// valid is still refused: its sender believes to be signed in. The answers vary by
// Authorization.
func (s *Server) OptionalAgent() fiber.Handler {
	return func(c *fiber.Ctx) error {
		addVary(&c.Response().Header, fiber.HeaderAuthorization)
		if _, err := s.identify(c); err != nil {
			return err
		}
		return c.Next()
	}
}

// CredentialFailed counts a refused credential against the client's address. It
// returns err, or the 429 to send instead when the address has failed too often.
// Errors other than a 401 are not counted. RequireAgent and OptionalAgent call it;
// so must every other place that checks a credential (a session, a sign-in form).
func (s *Server) CredentialFailed(c *fiber.Ctx, err error) error {
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Status != fiber.StatusUnauthorized {
		return err
	}
	if spent := s.Limits.Failure(c.UserContext(), ClientAddr(c)); spent != nil {
		return spent
	}
	return err
}

// identify finds the principal of a request once. No Authorization header gives
// nil, nil.
func (s *Server) identify(c *fiber.Ctx) (Principal, error) {
	r := of(c.Context())
	if r.principal != nil {
		return r.principal, nil
	}
	bearer, sent := bearerOf(&c.Request().Header)
	if !sent {
		return nil, nil
	}
	if bearer == "" || s.opts.Authenticate == nil {
		err := problem.InvalidCredentials(
			"Send exactly one header of the form Authorization: Bearer <API_KEY>. " + s.keyHint,
		)
		return nil, s.CredentialFailed(c, err)
	}
	p, err := s.opts.Authenticate(c.UserContext(), bearer)
	if err != nil {
		return nil, s.CredentialFailed(c, err)
	}
	r.principal = p
	return p, nil
}

// Bearer is the credential an authenticated request came with.
func Bearer(c *fiber.Ctx) string {
	token, _ := bearerOf(&c.Request().Header)
	return token
}

// bearerOf reads the token of the Authorization header (RFC 6750, section 2.1). It
// is empty when the header is there but is not one well-formed bearer.
func bearerOf(h *fasthttp.RequestHeader) (token string, sent bool) {
	values := h.PeekAll(fiber.HeaderAuthorization)
	if len(values) == 0 {
		return "", false
	}
	scheme, rest, _ := bytes.Cut(values[0], []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	if len(values) > 1 || !strings.EqualFold(string(scheme), "bearer") || len(rest) > maxBearer || !token68(rest) {
		return "", true
	}
	return string(rest), true
}

// token68 is the alphabet of RFC 9110, section 11.2.
func token68(b []byte) bool {
	b = bytes.TrimRight(b, "=")
	for _, c := range b {
		switch {
		case c >= '0' && c <= '9', c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z':
		case bytes.IndexByte([]byte("-._~+/"), c) >= 0:
		default:
			return false
		}
	}
	return len(b) > 0
}
