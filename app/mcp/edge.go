package mcp

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/problem"
)

// The addresses of MCP. PublicPath only reads: it has no tool that needs a key, and ignores the header
// Authorization.
const (
	Path       = "/mcp"
	PublicPath = Path + "/public"
)

// aroundBody is the room for a call around the body that it sends to the API, in bytes.
const aroundBody = 8 << 10

// The headers that a page of another site may send and read.
const (
	sentByPages = "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name"
	readByPages = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id"
)

// Register adds the two addresses. The API must be registered already, because a message with a bearer may be as long as
// the longest body there. They accept only POST, because there are no sessions to listen to or to
// end. A request counts against the limit of answers from memory. The calls in it, lists of tools, and completions
// that read the database, count against the API's limits.
func (s *Server) Register(h *httpserver.Server) {
	s.answer = h.App.Server().Handler
	h.AllowBody(Path, h.LongestBody()+aroundBody)
	h.App.Post(Path, s.screen, h.Limits.Snapshot(), s.requireBearer(h), s.speak(h, s.speaker(false), bearers))
	h.App.Post(PublicPath, s.screen, h.Limits.Snapshot(), s.speak(h, s.speaker(true), nil))
	for _, path := range []string{Path, PublicPath} {
		h.App.All(path, s.screen, refuseMethod)
	}
}

// speak returns the handler that passes a message to the handler of speaker. credentials returns the
// headers that are passed on to the API. If it is nil, no header is passed on.
func (s *Server) speak(h *httpserver.Server, speaker func() (fiber.Handler, error), credentials func(*fiber.Ctx) [][]byte) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if bytes.HasPrefix(bytes.TrimSpace(c.Body()), []byte("[")) {
			return invalid(fiber.StatusBadRequest, "Send one JSON-RPC message per request. "+
				"Batches are not accepted: version 2025-06-18 of the protocol removed them.")
		}
		m, wrong := readMessage(c.Body())
		if wrong != nil {
			return m.refuse(c, wrong)
		}
		speak, err := speaker()
		if err != nil {
			return err
		}
		by := caller{
			addr: httpserver.ClientAddr(c), requestID: httpserver.RequestID(c),
			admit: func(cost httpserver.Cost) (*httpserver.Admission, error) { return h.Admit(c, cost) },
			charge: func(cost httpserver.Cost) error {
				_, err := h.AdmitParts(c, cost, 1)
				return err
			},
		}
		if credentials != nil {
			by.bearers = credentials(c)
		}
		c.Context().SetUserValue(callerKey{}, by)
		if err := speak(c); err != nil {
			return err
		}
		return m.restate(c)
	}
}

func bearers(c *fiber.Ctx) [][]byte {
	return slices.Clone(c.Request().Header.PeekAll(fiber.HeaderAuthorization))
}

// screen refuses pages that may not call, and lets other pages read the answer. No answer depends on a
// cookie, so a page can do no more than its own server could.
func (s *Server) screen(c *fiber.Ctx) error {
	c.Vary(fiber.HeaderOrigin)
	if err := s.guard(c, httpserver.ClientAddr(c)); err != nil {
		return err
	}
	if origin := c.Get(fiber.HeaderOrigin); origin != "" {
		c.Set(fiber.HeaderAccessControlAllowOrigin, origin)
		c.Set(fiber.HeaderAccessControlExposeHeaders, readByPages)
	}
	return c.Next()
}

// refuseMethod answers the preflights of browsers and refuses other methods.
func refuseMethod(c *fiber.Ctx) error {
	c.Set(fiber.HeaderAllow, "OPTIONS, POST")
	if c.Method() != fiber.MethodOptions || c.Get(fiber.HeaderAccessControlRequestMethod) == "" {
		return fiber.ErrMethodNotAllowed
	}
	c.Set(fiber.HeaderAccessControlAllowMethods, fiber.MethodPost)
	c.Set(fiber.HeaderAccessControlAllowHeaders, sentByPages)
	c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	return c.SendStatus(fiber.StatusNoContent)
}

// guard checks Origin, and Host if the caller is on this machine, as the protocol's transports require.
//
// The danger is a page that reaches a server which only its visitor can reach: by this machine's address,
// or by a name of the page's owner that resolves to a private address (DNS rebinding). So a caller on this
// machine must be a program, or a page of this machine or of this service. Other pages must be served over
// https, which a rebound name can't do. The SDK's own guard can't see these headers behind the adaptor.
func (s *Server) guard(c *fiber.Ctx, addr netip.Addr) error {
	home, _ := url.Parse(s.config.BaseURL) // Config.Check has refused a bad value
	ours := func(host string) bool { return host == home.Host || loopback(host) }
	if origin := c.Get(fiber.HeaderOrigin); origin != "" {
		from, err := url.Parse(origin)
		if err != nil || from.Host == "" || !(ours(from.Host) || (from.Scheme == "https" && !addr.IsLoopback())) {
			return refused("The page named by the header Origin may not call this address. Call " + s.config.BaseURL + Path +
				" from a program, or from a page served over https.")
		}
	}
	if addr.IsLoopback() && !ours(string(c.Context().Host())) {
		return refused("The header Host names another host. Call " + s.config.BaseURL + Path + ".")
	}
	return nil
}

func refused(detail string) error {
	return problem.New(problem.CodeOriginRejected, detail)
}

// loopback reports whether a host, with or without a port, is this machine.
func loopback(host string) bool {
	name := (&url.URL{Host: host}).Hostname()
	addr, err := netip.ParseAddr(name)
	return name == "localhost" || (err == nil && addr.IsLoopback())
}

func invalid(status int, detail string) error {
	p := problem.New(problem.CodeInvalidMCP, detail)
	p.Status = status
	return p
}
