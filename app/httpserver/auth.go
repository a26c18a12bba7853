package httpserver

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

// A Principal is the owner of a bearer. Only the packages that make and use a Principal know more about it.
type Principal interface{ AgentID() uuid.UUID }

// PrincipalOf returns the agent that sent the request. It returns nil if the request is anonymous, or if
// neither RequireAgent nor OptionalAgent has run.
func PrincipalOf(c *fiber.Ctx) Principal { return of(c.Context()).principal }

// Limited is a Principal with fewer rights than its agent.
type Limited interface {
	// Allows reports whether the principal may do what the scope permits.
	Allows(scope string) bool
}

// RequireAgent returns middleware that refuses a request without a valid bearer. It also refuses a limited
// principal that doesn't allow the scope. The default scope is "read" for GET and HEAD. Other methods have
// no default, so an app can call an operation that changes something only if its route names a scope.
func (s *Server) RequireAgent(scope ...string) fiber.Handler {
	return func(c *fiber.Ctx) error {
		p, err := s.identify(c)
		if err != nil {
			return err
		}
		if p == nil {
			return problem.MissingCredentials(misplacedKey(c) + s.opts.HowToGetKey)
		}
		if limited, ok := p.(Limited); ok {
			if err := checkScope(limited, neededScope(c, scope)); err != nil {
				return err
			}
		}
		return c.Next()
	}
}

// neededScope returns the scope that a request needs, or "" if no scope permits it.
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

// CheckBearer refuses a request without a valid bearer. Unlike RequireAgent it doesn't attach the agent to
// the request. It is for requests that cause further requests, because those already count as the agent's.
func (s *Server) CheckBearer(c *fiber.Ctx) error {
	p, err := s.identify(c)
	of(c.Context()).principal = nil
	if err == nil && p == nil {
		err = problem.MissingCredentials(misplacedKey(c) + s.opts.HowToGetKey)
	}
	return err
}

// misplacedKey looks for a key in the header X-API-Key and in the query of a request without an
// Authorization header. It returns a sentence that says that the key isn't read there, or "" if there is none.
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

// OptionalAgent returns middleware that lets anonymous requests pass. It refuses an invalid bearer, because
// its sender expects to be signed in. The answers vary by Authorization.
func (s *Server) OptionalAgent() fiber.Handler {
	return func(c *fiber.Ctx) error {
		addVary(&c.Response().Header, fiber.HeaderAuthorization)
		if _, err := s.identify(c); err != nil {
			return err
		}
		return c.Next()
	}
}

// CredentialFailed counts a refused credential against the client's address. It returns err, or the 429 to
// send instead if the address has failed too often. It counts only errors with status 401. RequireAgent and
// OptionalAgent call it. Every other check of a credential, such as a session or a sign-in form, must call
// it too, and pass AdmitCheck to the check of a key.
func (s *Server) CredentialFailed(c *fiber.Ctx, err error) error {
	if p, ok := errors.AsType[*problem.Error](err); !ok || p.Status != fiber.StatusUnauthorized {
		return err
	}
	if spent := s.Limits.Failure(c.UserContext(), ClientAddr(c)); spent != nil {
		return spent
	}
	return err
}

// identify returns the principal of a request and remembers it. It returns nil, nil if there is no
// Authorization header.
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
		return nil, problem.MalformedCredentials(s.opts.HowToGetKey) // not counted, because nothing is compared with a stored key
	}
	began := time.Now()
	p, err := s.opts.Authenticate(c.UserContext(), bearer, s.AdmitCheck(c))
	r.checking += time.Since(began)
	if err != nil {
		return nil, s.CredentialFailed(c, err)
	}
	r.principal = p
	return p, nil
}

// Bearer returns the credential of an authenticated request.
func Bearer(c *fiber.Ctx) string {
	token, _ := bearerOf(&c.Request().Header)
	return token
}

// bearerOf reads the token of the Authorization header (RFC 6750, section 2.1). The token is empty unless exactly one
// header holds one bearer. Options.Authenticate decides whether a token can be valid.
func bearerOf(h *fasthttp.RequestHeader) (token string, sent bool) {
	values := h.PeekAll(fiber.HeaderAuthorization)
	if len(values) == 0 {
		return "", false
	}
	scheme, rest, _ := bytes.Cut(values[0], []byte(" "))
	rest = bytes.TrimLeft(rest, " ")
	if len(values) > 1 || !strings.EqualFold(string(scheme), "bearer") || bytes.ContainsAny(rest, " ,") {
		return "", true
	}
	return string(rest), true
}
