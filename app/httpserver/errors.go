package httpserver

import (
	"bytes"
	"context"
	"errors"
	"math"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// problemBody is the wire form of a refusal (RFC 9457 with our members). Type is BASE_URL/docs/errors#error-CODE,
// the address of the code's documentation.
type problemBody struct {
	OK        bool            `json:"ok"`
	Type      string          `json:"type"`
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Detail    string          `json:"detail"`
	Code      string          `json:"code"`
	Errors    []problem.Field `json:"errors"`
	RequestID string          `json:"requestId"`
	// RetryAfter repeats the header for callers that see only the body, as through MCP.
	RetryAfter int    `json:"retryAfter,omitempty"`
	Cursor     string `json:"cursor,omitempty"`
}

// machine reports whether a path is for programs. All other paths are for people.
func machine(path []byte) bool {
	for _, prefix := range [...]string{"/api", "/compat", "/livez", "/readyz", "/metrics", "/mcp", "/r", "/.well-known", "/oauth/token", "/oauth/revoke", "/oauth/register"} {
		if rest, ok := bytes.CutPrefix(path, []byte(prefix)); ok && (len(rest) == 0 || rest[0] == '/') {
			return true
		}
	}
	return false
}

// problemType is the media type of a refusal (RFC 9457).
const problemType = "application/problem+json"

// prefersJSON reports whether a request for a page prefers JSON to HTML. A request that accepts everything
// gets the page.
func prefersJSON(c *fiber.Ctx) bool {
	got := c.Accepts(fiber.MIMETextHTML, problemType, fiber.MIMEApplicationJSON)
	return got == problemType || got == fiber.MIMEApplicationJSON
}

// unrouted reports whether err is the router's own 404 or 405.
func unrouted(err error) bool {
	e, ok := errors.AsType[*fiber.Error](err)
	return ok && (e.Code == fiber.StatusNotFound || e.Code == fiber.StatusMethodNotAllowed)
}

// fail is Fiber's error handler. Every error becomes an answer here.
func (s *Server) fail(c *fiber.Ctx, err error) error {
	r := of(c.Context())
	if time.Now().After(r.deadline) { // Postgres reports a query that was cancelled at the deadline as another error
		err = errors.Join(err, context.DeadlineExceeded)
	}
	p := s.translate(c, err)
	if unrouted(err) { // no route has counted this request
		if refusal := s.Limits.takeSnapshot(c); refusal != nil {
			p = s.translate(c, refusal)
		} else if p.Code == "method_not_allowed" && r.method == fiber.MethodOptions {
			return options(c)
		}
	}
	s.begin(c, p)
	if machine(c.Context().URI().PathOriginal()) {
		s.writeProblem(c, p)
		return nil
	}
	c.Vary(fiber.HeaderAccept)
	if prefersJSON(c) {
		s.writeProblem(c, p)
		return nil
	}
	if s.opts.RenderError != nil {
		pageErr := s.opts.RenderError(c, p, string(r.id))
		if pageErr == nil {
			return nil
		}
		p.Cause = errors.Join(p.Cause, pageErr)
	}
	c.Response().ResetBody()
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	return c.SendString(p.Title + ". " + p.ForPeople() + "\nRequest " + string(r.id) + "\n")
}

// begin sets the headers that every form of a refusal has. It removes headers that the handler may have set
// for an answer that is not sent.
func (s *Server) begin(c *fiber.Ctx, p *problem.Error) {
	of(c.Context()).refusal = p
	c.Response().ResetBody()
	for _, h := range [...]string{fiber.HeaderETag, fiber.HeaderLastModified, fiber.HeaderContentEncoding, fiber.HeaderContentDisposition, fiber.HeaderLocation} {
		c.Response().Header.Del(h)
	}
	c.Status(p.Status)
	c.Set(fiber.HeaderCacheControl, "no-store")
	if p.RetryAfter > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(p.WaitSeconds()))
	}
	if p.Challenge != "" {
		c.Set(fiber.HeaderWWWAuthenticate, p.Challenge)
	}
}

func (s *Server) writeProblem(c *fiber.Ctx, p *problem.Error) {
	body := problemBody{
		Type: p.Type(s.baseURL), Title: p.Title, Status: p.Status, Detail: p.Detail,
		Code: p.Code, Errors: p.Fields, RequestID: RequestID(c),
		RetryAfter: p.WaitSeconds(), Cursor: p.Cursor,
	}
	if body.Errors == nil {
		body.Errors = []problem.Field{}
	}
	out, err := answer.JSON(body)
	if err != nil {
		panic(err) // strings and ints always encode
	}
	c.Set(fiber.HeaderContentType, problemType)
	c.Response().SetBodyRaw(out)
}

// Unavailable reports whether an error means that an answer can't be made now, so that the last good copy is sent
// instead if there is one: the database can't be used, or no place to make the answer is free.
func Unavailable(err error) bool {
	if p, ok := errors.AsType[*problem.Error](err); ok {
		return p.Status == fiber.StatusServiceUnavailable
	}
	return database.Unavailable(err)
}

// translate turns any error into a refusal. Fiber's own errors below 500 keep their status. A missed deadline
// and an unusable database become 503. An unknown error becomes 500.
func (s *Server) translate(c *fiber.Ctx, err error) *problem.Error {
	if p, ok := errors.AsType[*problem.Error](err); ok {
		own := *p // several requests may share the error
		return &own
	}
	if e, ok := errors.AsType[*fiber.Error](err); ok {
		return s.translateFiber(c, e)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		p := problem.Unavailable("The answer took too long. Try again (publishing: with the same Idempotency-Key).", time.Second)
		p.Page = "This page took too long. Try again in a moment."
		return p.With(err)
	}
	if database.Unavailable(err) {
		p := problem.Unavailable("This can't be read or stored at the moment. Try again (publishing: with the same Idempotency-Key).", time.Second)
		p.Page = "This page can't be shown at the moment. Try again in a minute."
		return p.With(err)
	}
	return problem.As(err)
}

func (s *Server) translateFiber(c *fiber.Ctx, e *fiber.Error) *problem.Error {
	switch e.Code {
	case fiber.StatusNotFound:
		return s.noRoute(c)
	case fiber.StatusMethodNotAllowed:
		allow := string(c.Response().Header.Peek(fiber.HeaderAllow))
		if !strings.Contains(allow, fiber.MethodOptions) {
			allow += ", " + fiber.MethodOptions
			c.Set(fiber.HeaderAllow, allow)
		}
		p := problem.MethodNotAllowed(of(c.Context()).method, allow)
		if e.Message != fiber.ErrMethodNotAllowed.Message {
			p.Detail += " " + e.Message
		}
		return p
	case fiber.StatusRequestEntityTooLarge:
		return problem.PayloadTooLarge(MaxBody).With(e)
	case fiber.StatusServiceUnavailable:
		return problem.Unavailable("Not available at the moment. Try again.", time.Second).With(e)
	}
	if e.Code >= 500 {
		return problem.As(e)
	}
	return badRequest(e.Code, "The request could not be understood.").With(e)
}

// noRoute refuses a path that no handler serves.
func (s *Server) noRoute(c *fiber.Ctx) *problem.Error {
	if !machine(c.Context().URI().PathOriginal()) {
		return problem.NotFound(
			"There is nothing at this address. Check it for a typing error; the page may also have been removed.",
		)
	}
	base := s.opts.Config.BaseURL
	return problem.NotFound("There is nothing at this path. The API is described at " + base + "/docs and, for agents, at " + base + "/api/skill.")
}

// badRequest refuses a request with malformed HTTP before any handler sees it. Its status replaces the usual
// status of the code, because it says more.
func badRequest(status int, detail string) *problem.Error {
	p := problem.New(problem.CodeInvalidRequest, detail)
	p.Status, p.Title = status, http.StatusText(status)
	return p
}

// refuseMalformed answers a request that fasthttp could not read. The path may be unknown, so the answer is
// always problem+json. The connection closes after it.
func (s *Server) refuseMalformed(fctx *fasthttp.RequestCtx, err error) {
	r := s.open(fctx)
	defer s.finish(fctx, r)
	most, anonymous := s.maxBody(&fctx.Request.Header)
	p := malformed(err, most)
	if anonymous && p.Code == problem.CodePayloadTooLarge.Name {
		p = problem.MissingCredentials(s.opts.HowToGetKey).With(err)
	}
	if c, ok := fctx.Conn().(*strictConn); ok {
		c.unread.Store(true)
		if c.framing.refusal != nil {
			p = c.framing.refusal
		}
	}
	s.refuse(fctx, p)
}

func malformed(err error, maxBody int) *problem.Error {
	var timeout net.Error
	switch {
	case errors.As(err, new(*fasthttp.ErrSmallBuffer)):
		return badRequest(fiber.StatusRequestHeaderFieldsTooLarge,
			"The request line and headers may be at most 8 KiB; shorten them.").With(err)
	case errors.Is(err, fasthttp.ErrBodyTooLarge):
		return problem.PayloadTooLarge(maxBody).With(err)
	case errors.As(err, &timeout) && timeout.Timeout():
		return badRequest(fiber.StatusRequestTimeout, "The request did not arrive in time; send it in one go.").With(err)
	default:
		return badRequest(fiber.StatusBadRequest, "This is not a well-formed HTTP/1.1 request: check the request line, the headers and the framing of the body.").With(err)
	}
}

// crossOriginHeaders are the request headers that pages of other sites may set: those of the OpenAPI document, and
// those that our clients send.
const crossOriginHeaders = "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, " +
	"MCP-Protocol-Version, Range, User-Agent"

// options answers OPTIONS for a path without a handler for it. The answer lists the methods and, for a
// browser's preflight, the headers that a page may send. Browsers may cache the answer for a day.
func options(c *fiber.Ctx) error {
	if allow := c.Response().Header.Peek(fiber.HeaderAllow); machine(c.Context().URI().PathOriginal()) {
		c.Set(fiber.HeaderAccessControlAllowMethods, string(allow))
		c.Set(fiber.HeaderAccessControlAllowHeaders, crossOriginHeaders)
		c.Set(fiber.HeaderAccessControlMaxAge, "86400")
	}
	return c.SendStatus(fiber.StatusNoContent)
}

// seconds rounds up, so that a client that waits this long isn't early.
func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }
