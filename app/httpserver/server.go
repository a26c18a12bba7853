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
	"github.com/redis/go-redis/v9"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/trace"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// MaxBody is the largest request body in bytes, unless AllowBody names another; above it
	// the answer is 413.
	MaxBody = 64 << 10
	// requestTimeout is the deadline of every request's user context.
	requestTimeout = 10 * time.Second
	// drainTimeout is how long Stop waits for requests in flight.
	drainTimeout = 10 * time.Second
	// interruptTimeout is the same after ErrInterrupted.
	interruptTimeout = time.Second
)

// ErrInterrupted is the cause of a context that ends to stop the server at once: without a
// drain, and with one second for the requests in flight.
var ErrInterrupted = errors.New("interrupted")

// Options are what the server needs from the rest of the house. Only Config is
// required.
type Options struct {
	Config  *config.Config
	Version string // of the interface, shown by health
	Logger  *slog.Logger
	Now     func() time.Time
	// Redis adds the limits up over all nodes; nil counts them in this process.
	Redis redis.UniversalClient
	// Authenticate tells whose bearer this is. A refusal is a *problem.Error with
	// status 401; any other error goes to the client as it is (503 while the
	// identity provider is down).
	Authenticate func(ctx context.Context, bearer string) (Principal, error)
	// CredentialEpoch changes when a credential may have ended: streams are then checked. Nil:
	// they are checked once a minute.
	CredentialEpoch func() uint64
	Health          HealthSource
	// Places is how many answers that are in no memory are made at a time; 0: 1.
	Places int
	// RenderError writes the page of a refusal; status and headers are set already.
	// nil, or an error from it, gives plain text.
	RenderError func(c *fiber.Ctx, p *problem.Error, requestID string) error
	// Observe, if not nil, is called for every finished request, on the request's
	// goroutine. It must not block.
	Observe func(Observation)
	// Tracer records a span for every request; nil: tracing is off.
	Tracer trace.Tracer
}

// Server is the Fiber app and what surrounds it. Routes are registered on App
// before Start.
type Server struct {
	App    *fiber.App
	Limits *Limits

	reads     *lane
	opts      Options
	direct    map[string]direct // by path; see Direct
	bodies    map[string]int    // the largest body by path; see AllowBody
	mounted   Mounted           // nil: nothing
	proxies   []netip.Prefix
	docs      string // prefix of a problem's type
	keyHint   string // ends every 401
	https     bool   // links and HSTS, also behind a proxy
	accessLog bool
	health    *health
	streams   *streams
	draining  atomic.Bool // answers close their connections
	stopping  atomic.Bool // the listener is closed, or about to be
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
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	proxies, _ := cfg.Proxies() // Config.Check has refused a bad value
	s := &Server{
		opts:      opts,
		direct:    map[string]direct{},
		bodies:    map[string]int{},
		Limits:    newLimits(cfg, opts.Redis, opts.Logger, opts.Now),
		reads:     newReadLane(max(opts.Places, 1), !cfg.RateLimitReads.Off()),
		proxies:   proxies,
		docs:      cfg.BaseURL + "/docs#error-",
		keyHint:   keyHint(cfg),
		https:     strings.HasPrefix(cfg.BaseURL, "https://"),
		accessLog: cfg.LogFormat != "off",
		health:    newHealth(opts.Health, opts.Now()),
		streams:   newStreams(cfg.StreamsMax, cfg.StreamsPerAddress),
	}
	s.App = fiber.New(fiber.Config{
		AppName:                      "pulsecast",
		DisableStartupMessage:        true,
		CaseSensitive:                true,
		RequestMethods:               methods,
		ErrorHandler:                 s.fail,
		BodyLimit:                    MaxBody,
		ReadBufferSize:               12 << 10, // 8 KiB of headers and a long request line
		WriteBufferSize:              64 << 10, // a first page of any list in one write
		ReadTimeout:                  15 * time.Second,
		WriteTimeout:                 30 * time.Second,
		IdleTimeout:                  75 * time.Second,
		DisablePreParseMultipartForm: true, // nothing here takes uploads
	})
	// Bodies are read whole before the handler runs (no StreamRequestBody): they are
	// small, and the limit then holds in one place.
	engine := s.App.Server()
	engine.Handler = s.serve(engine.Handler)
	engine.ErrorHandler = s.refuseMalformed
	engine.HeaderReceived = func(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
		return fasthttp.RequestConfig{MaxRequestBodySize: s.maxBody(h)}
	}
	engine.SecureErrorLogMessage = true // fasthttp's own texts quote the headers
	engine.CloseOnShutdown = true
	engine.KeepHijackedConns = true // a stream closes its own, and fasthttp takes back its buffers
	s.App.Use(enter)
	s.App.Get("/livez", s.live)
	s.App.Get("/readyz", s.ready)
	return s
}

// AllowBody lets the requests for a path, which has no parameters, have bodies of so many
// bytes. Call it before Start.
func (s *Server) AllowBody(path string, most int) { s.bodies[path] = most }

// maxBody is the largest body of a request with these headers.
func (s *Server) maxBody(h *fasthttp.RequestHeader) int {
	path, _, _ := bytes.Cut(h.RequestURI(), []byte("?"))
	if s.mounted != nil {
		path = s.mounted.Rest(path)
	}
	if most, ok := s.bodies[string(path)]; ok {
		return most
	}
	return MaxBody
}

// keyHint names the way to a key, for the texts of every 401.
func keyHint(cfg *config.Config) string {
	switch {
	case cfg.IdentityURL != "":
		return "Enable this service for your agent at " + cfg.IdentityURL + " to get a key; see " + cfg.BaseURL + "/api/quickstart."
	case cfg.Registration == "open":
		return "Get a key with POST " + cfg.BaseURL + "/api/agents or at " + cfg.BaseURL + "/agents/new."
	default:
		return "Ask the operator of this service for a key; see " + cfg.BaseURL + "/api/quickstart."
	}
}
