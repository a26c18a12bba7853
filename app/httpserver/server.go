package httpserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// MaxBody is the largest request body in bytes, unless AllowBody names another. A larger body gets a
	// 413.
	MaxBody = 64 << 10
	// requestTimeout is the deadline of every request's user context.
	requestTimeout = 10 * time.Second
	// drainTimeout is how long Stop waits for requests in flight.
	drainTimeout = 10 * time.Second
	// interruptTimeout replaces drainTimeout after ErrInterrupted.
	interruptTimeout = time.Second
)

// ErrInterrupted is the cause of a context that stops the server at once: without a drain, and with one
// second for the requests in flight.
var ErrInterrupted = errors.New("interrupted")

// Options are the server's dependencies. Only Config is required.
type Options struct {
	Config  *config.Config
	Version string // of the interface, shown by health
	Logger  *slog.Logger
	Now     func() time.Time
	// Redis counts the limits over all nodes. If nil, they are counted in this process.
	Redis redis.UniversalClient
	// RedisPrefix is put before the names of the counters in Redis.
	RedisPrefix string
	// RedisPatience bounds one answer of Redis. Zero means 25 ms.
	RedisPatience time.Duration
	// Authenticate returns the owner of a bearer. A refusal is a *problem.Error with status 401. Any other
	// error goes to the client as it is (503 while the identity provider is down). admit may be nil.
	Authenticate func(ctx context.Context, bearer string, admit Admit) (Principal, error)
	// HowToGetKey is the sentence that ends every 401 about a missing key.
	HowToGetKey string
	// CredentialEpoch changes when a credential may have ended. The server then checks the bearers of streams. If nil,
	// it checks them once a minute.
	CredentialEpoch func() uint64
	// CredentialHolds reports whether no credential of an agent may have ended since CredentialEpoch was epoch. The
	// server then leaves out the agent's streams. If nil, it checks those of all agents.
	CredentialHolds func(agentID uuid.UUID, epoch uint64) bool
	Health          HealthSource
	// Places is how many answers that aren't in memory are made at a time. 0 means 1.
	Places int
	// OwnProcess says that the process serves nothing else. Most answers that aren't in memory are then made on threads
	// of lower priority, one for each place, and GOMAXPROCS is raised by their number. Only Linux has such threads.
	OwnProcess bool
	// RenderError writes the page of a refusal. Status and headers are set already. If it is nil or returns
	// an error, the server sends plain text.
	RenderError func(c *fiber.Ctx, p *problem.Error, requestID string) error
	// Observe, if not nil, is called for every finished request, on the request's goroutine. It must not
	// block.
	Observe func(Observation)
	// Tracer records a span for every request. If nil, tracing is off.
	Tracer trace.Tracer
}

// Server is the Fiber app and everything around it. Register routes on App before Start.
type Server struct {
	App    *fiber.App
	Limits *Limits

	reads     *lane
	archived  *lane // see AdmitArchived
	checks    *checks
	opts      Options
	direct    map[string]direct    // by path; see Direct
	bodies    map[string]bodyLimit // by path; see AllowBody
	mounted   Mounted              // nil: nothing
	proxies   []netip.Prefix
	baseURL   string
	https     bool // links and HSTS, also behind a proxy
	accessLog bool
	health    *health
	streams   *streams
	// connections and longBodies bound what peers have open.
	connections, longBodies *Places

	draining atomic.Bool // answers close their connections
	stopping atomic.Bool // the listener is closed, or about to be
}

// New builds the server with its health probes (/livez, /readyz) and no other route.
func New(opts Options) *Server {
	cfg := opts.Config
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.CredentialEpoch == nil {
		opts.CredentialEpoch = func() uint64 { return 0 }
	}
	if opts.CredentialHolds == nil {
		opts.CredentialHolds = func(uuid.UUID, uint64) bool { return false }
	}
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	proxies, _ := cfg.Proxies() // Config.Check has refused a bad value
	limited := !cfg.RateLimitReads.Off()
	s := &Server{
		opts:      opts,
		direct:    map[string]direct{},
		bodies:    map[string]bodyLimit{},
		Limits:    newLimits(cfg, opts.Redis, opts.Logger, opts.Now),
		reads:     newReadLane(max(opts.Places, 1), limited),
		archived:  newReadLane(archivedPlaces, limited),
		checks:    newChecks(cfg.RateLimitFailures, opts.Now),
		proxies:   proxies,
		baseURL:   cfg.BaseURL,
		https:     strings.HasPrefix(cfg.BaseURL, "https://"),
		accessLog: cfg.LogFormat != "off",
		health:    newHealth(opts.Health, opts.Now()),
		streams:   newStreams(cfg.StreamsMax, cfg.StreamsPerAddress),

		connections: NewPlaces(maxConnections, max(maxConnectionsOfPeer, 2*cfg.StreamsPerAddress)),
		longBodies:  NewPlaces(maxLongBodies, maxLongBodiesOfPeer),
	}
	s.Limits.prefix, s.Limits.patience = opts.RedisPrefix, cmp.Or(opts.RedisPatience, s.Limits.patience)
	s.App = fiber.New(fiber.Config{
		AppName:                      "pulsecast",
		DisableStartupMessage:        true,
		CaseSensitive:                true,
		RequestMethods:               methods,
		ErrorHandler:                 s.fail,
		BodyLimit:                    MaxBody,
		ReadBufferSize:               12 << 10, // 8 KiB of headers and a long request line
		WriteBufferSize:              64 << 10, // the first page of any list fits in one write
		ReadTimeout:                  15 * time.Second,
		WriteTimeout:                 30 * time.Second,
		IdleTimeout:                  75 * time.Second,
		DisablePreParseMultipartForm: true, // no route takes uploads
	})
	// Bodies are read whole before the handler runs (no StreamRequestBody). They are small, and one check
	// then enforces the limit.
	engine := s.App.Server()
	engine.Handler = s.serve(engine.Handler)
	engine.ErrorHandler = s.refuseMalformed
	engine.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		most, _ := s.maxBody(h)
		return fasthttp.RequestConfig{MaxRequestBodySize: most}
	}
	engine.SecureErrorLogMessage = true // fasthttp's own texts quote the headers
	engine.CloseOnShutdown = true
	engine.KeepHijackedConns = true // a stream closes its connection itself, and fasthttp reuses its buffers
	s.App.Use(enter)
	s.App.Get("/livez", s.live)
	s.App.Get("/readyz", s.ready)
	return s
}

// bodyLimit is the largest body of requests for a path, in bytes.
type bodyLimit struct {
	most      int
	anonymous bool // also without the header Authorization
}

// AllowBody sets the largest body of requests for a path, in bytes. Requests without the header Authorization keep
// MaxBody. The path must have no parameters. Call AllowBody before Start.
func (s *Server) AllowBody(path string, most int) { s.bodies[path] = bodyLimit{most: most} }

// LongestBody returns the largest body that any path allows so far, in bytes.
func (s *Server) LongestBody() int {
	longest := MaxBody
	for _, limit := range s.bodies {
		longest = max(longest, limit.most)
	}
	return longest
}

// AllowAnonymousBody is AllowBody for requests with and without the header Authorization.
func (s *Server) AllowAnonymousBody(path string, most int) {
	s.bodies[path] = bodyLimit{most: most, anonymous: true}
}

// maxBody returns the largest body of a request with these headers, in bytes. anonymous says that the request could
// have a larger one with the header Authorization. fasthttp makes room for the announced length before any handler
// runs, so only requests with that header may announce a large one.
func (s *Server) maxBody(h *fasthttp.RequestHeader) (most int, anonymous bool) {
	path, _, _ := bytes.Cut(h.RequestURI(), []byte("?"))
	if s.mounted != nil {
		path = s.mounted.Rest(path)
	}
	limit, ok := s.bodies[string(path)]
	switch {
	case !ok:
		return MaxBody, false
	case limit.anonymous || len(h.Peek(fiber.HeaderAuthorization)) > 0:
		return limit.most, false
	default:
		return MaxBody, true
	}
}
