package httpserver

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/problem"
)

// Observation describes a finished request.
type Observation struct {
	Method    string
	Route     string // the registered path ("/api/predictions/:id"); empty if none matched
	Status    int
	Code      string // of the refusal; empty for a success
	Duration  time.Duration
	Bytes     int       // of the body, compressed; -1 for a stream
	Principal Principal // nil for an anonymous request
	RequestID []byte    // valid only during the call
	Shed      bool      // refused for what callers do; see problem.Error
	Stale     bool      // answered with the last good copy; see MarkStale
}

// methods are the methods that Fiber routes. Other methods are looked up as OPTIONS and refused.
var methods = []string{
	fiber.MethodGet, fiber.MethodHead, fiber.MethodPost, fiber.MethodPut,
	fiber.MethodPatch, fiber.MethodDelete, fiber.MethodOptions,
}

// request is the server's state of one request. It is also the request's user context: a deadline whose
// timer starts only when a caller waits for it, so that an answer from memory needs one allocation for all
// of this.
type request struct {
	start     time.Time
	deadline  time.Time
	addr      netip.Addr
	id        []byte
	idBuffer  [maxRequestID]byte
	method    string
	route     string
	direct    bool       // answered by a handler of Direct
	stream    *streaming // nil for an answer that ends
	principal Principal
	refusal   *problem.Error
	checking  time.Duration // time spent checking the credential
	units     int           // counted against the reads limit; see Server.Admit
	stack     []byte
	traced    *traced // nil while tracing is off

	once   sync.Once
	ctx    context.Context
	cancel context.CancelFunc
}

const maxRequestID = 64

type requestKey struct{}

var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// Deadline is ten seconds after the request was read.
func (r *request) Deadline() (time.Time, bool) { return r.deadline, true }

// Done is closed at the deadline and when the request has been answered.
func (r *request) Done() <-chan struct{} { return r.real().Done() }

// Err is nil until Done is closed.
func (r *request) Err() error { return r.real().Err() }

// Value returns the span of the request, if there is one. It also lets package context find the real
// context.
func (r *request) Value(key any) any { return r.real().Value(key) }

func (r *request) real() context.Context {
	r.once.Do(func() {
		parent := context.Background()
		if r.traced != nil {
			parent = r.traced.ctx
		}
		r.ctx, r.cancel = context.WithDeadline(parent, r.deadline)
	})
	return r.ctx
}

func (r *request) end() {
	r.once.Do(func() { r.ctx = ended })
	if r.cancel != nil {
		r.cancel()
	}
}

// RequestID returns the id of the request, which the header X-Request-Id repeats.
func RequestID(c *fiber.Ctx) string { return string(of(c.Context()).id) }

// ClientAddr returns the address of the client, seen through trusted proxies. It is invalid if the listener
// is not TCP.
func ClientAddr(c *fiber.Ctx) netip.Addr { return of(c.Context()).addr }

func of(fctx *fasthttp.RequestCtx) *request {
	return fctx.UserValue(requestKey{}).(*request)
}

// open creates the state of a request.
func (s *Server) open(fctx *fasthttp.RequestCtx) *request {
	now := time.Now()
	r := &request{start: now, deadline: now.Add(requestTimeout), addr: peerAddr(fctx)}
	h := &fctx.Request.Header
	trusted := s.trusts(r.addr)
	if trusted {
		r.addr = s.clientBehind(r.addr, h.PeekAll(fiber.HeaderXForwardedFor))
		if id := h.Peek(fiber.HeaderXRequestID); wellFormedID(id) {
			r.id = append(r.idBuffer[:0], id...)
		}
	}
	if r.id == nil {
		var raw [16]byte // unique is enough, since guessing an id gains nothing
		binary.NativeEndian.PutUint64(raw[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(raw[8:], rand.Uint64())
		r.id = hex.AppendEncode(r.idBuffer[:0], raw[:12])
	}
	if s.opts.Tracer != nil {
		r.traced = s.startTrace(h, trusted)
	}
	r.method = routable(h)
	fctx.SetUserValue(requestKey{}, r)
	return r
}

// routable returns the request's method. If Fiber doesn't route the method, routable sets it to OPTIONS.
// The router then finds the methods of the path, and fail refuses with 405 because the method was not
// really OPTIONS.
func routable(h *fasthttp.RequestHeader) string {
	method := h.Method()
	if i := slices.IndexFunc(methods, func(m string) bool { return m == string(method) }); i >= 0 {
		return methods[i]
	}
	name := fmt.Sprintf("%.16q", method)
	name = name[1 : len(name)-1]
	h.SetMethod(fiber.MethodOptions)
	return name
}

func wellFormedID(id []byte) bool {
	if len(id) == 0 || len(id) > maxRequestID {
		return false
	}
	for _, b := range id {
		switch {
		case b >= '0' && b <= '9', b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b == '-', b == '_':
		default:
			return false
		}
	}
	return true
}

// serve is the outermost handler. It creates the request's state, lets a direct handler or Fiber answer,
// turns a panic into a 500, and finishes the response.
func (s *Server) serve(next fasthttp.RequestHandler) fasthttp.RequestHandler {
	return func(fctx *fasthttp.RequestCtx) {
		if s.mounted != nil && s.mounted.Answer(fctx) {
			return
		}
		r := s.open(fctx)
		defer s.finish(fctx, r)
		defer func() {
			if cause := recover(); cause != nil {
				r.stack = debug.Stack()
				s.refuse(fctx, fmt.Errorf("panic: %v", cause))
			}
		}()
		if r.direct = s.answerDirectly(fctx, r); !r.direct {
			next(fctx)
		}
	}
}

// enter is the only Fiber middleware. It passes the deadline to the handlers, notes the matched route, and
// refuses encoded bodies. Fiber would decode a body of any size: 800 bytes of nested gzip hold 400 MB.
func enter(c *fiber.Ctx) error {
	r := of(c.Context())
	c.SetUserContext(r)
	if coding := c.Request().Header.ContentEncoding(); len(coding) > 0 && !bytes.EqualFold(coding, []byte("identity")) {
		c.Set(fiber.HeaderAcceptEncoding, "identity") // RFC 9110, section 15.5.16
		return problem.UnsupportedContentCoding(string(coding))
	}
	err := c.Next()
	if !unrouted(err) {
		r.route = c.Route().Path
	}
	return err
}

// refuse renders err outside Fiber's chain. It never calls the page renderer, because the renderer may have
// panicked.
func (s *Server) refuse(fctx *fasthttp.RequestCtx, err error) {
	c := s.App.AcquireCtx(fctx)
	defer s.App.ReleaseCtx(c)
	p := s.translate(c, err)
	s.begin(c, p)
	s.writeProblem(c, p)
}

// finish completes the headers, compresses, and writes the log line.
func (s *Server) finish(fctx *fasthttp.RequestCtx, r *request) {
	r.end()
	if r.direct { // complete, and in its negotiated coding
		s.decorateDirect(&fctx.Response.Header, r)
	} else {
		s.decorate(fctx, r)
		compress(fctx)
	}
	switch {
	case r.stream != nil:
		s.hijack(fctx, r.stream)
	case s.draining.Load() || len(fctx.Request.Body()) > MaxBody:
		closeAfter(fctx)
	}
	if r.traced != nil {
		r.finishTrace(fctx)
	}
	if !s.accessLog && s.opts.Observe == nil {
		return
	}
	o := Observation{
		Method: r.method, Route: r.route, Status: fctx.Response.StatusCode(),
		Duration: time.Since(r.start), Bytes: -1, Principal: r.principal, RequestID: r.id,
	}
	if !fctx.Response.IsBodyStream() {
		o.Bytes = len(fctx.Response.Body())
	}
	if r.refusal != nil {
		o.Code, o.Shed = r.refusal.Code, r.refusal.Shed
	}
	_, o.Stale = StaleAge(&fctx.Response.Header)
	if s.opts.Observe != nil {
		s.opts.Observe(o)
	}
	if s.accessLog {
		s.log(fctx, r, o)
	}
}

// closeAfter closes the connection after the answer. So the next request goes to another node, or the place of a long
// body is free again.
func closeAfter(fctx *fasthttp.RequestCtx) {
	fctx.SetConnectionClose()
	if c, ok := fctx.Conn().(*strictConn); ok {
		c.unread.Store(true) // the client may have sent the next request already
	}
}

// log writes the log line of a request. It omits the query and the headers, because people put secrets
// there.
func (s *Server) log(fctx *fasthttp.RequestCtx, r *request, o Observation) {
	level := slog.LevelInfo
	if o.Status >= 500 {
		level = slog.LevelError
	}
	logger, ctx := s.opts.Logger, context.Background()
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	attrs = append(attrs, slog.String("method", o.Method), slog.String("route", o.Route))
	if o.Route == "" {
		path := fctx.URI().PathOriginal()
		attrs = append(attrs, slog.String("path", string(path[:min(len(path), 200)])))
	}
	attrs = append(attrs, slog.Int("status", o.Status), slog.Duration("duration", o.Duration),
		slog.Int("bytes", o.Bytes), slog.String("request_id", string(r.id)), slog.String("remote", r.addr.String()))
	if r.traced != nil {
		attrs = append(attrs, slog.String("trace_id", r.traced.span.SpanContext().TraceID().String()))
	}
	if o.Principal != nil {
		attrs = append(attrs, slog.String("agent_id", o.Principal.AgentID().String()))
	}
	if r.refusal != nil {
		attrs = append(attrs, slog.String("code", o.Code))
		if r.refusal.Cause != nil {
			attrs = append(attrs, slog.String("cause", r.refusal.Cause.Error()))
		}
	}
	if r.stack != nil {
		attrs = append(attrs, slog.String("stack", string(r.stack)))
	}
	logger.LogAttrs(ctx, level, "request", attrs...)
}
