// Package app builds the service from its configuration: the one place that knows
// every part. The command and the tests use it; nothing below imports it.
package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/mcp"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/tracing"
	"github.com/pulsecast/pulsecast/app/web"
	webadmin "github.com/pulsecast/pulsecast/app/web/admin"
	"github.com/pulsecast/pulsecast/app/worker"
)

// Version is the version of the interface, as in openapi.yaml.
const Version = "0.1.0"

// Config is every setting of the service; see package config.
type Config = config.Config

// OpenAPI is the description of the interface, in YAML.
func OpenAPI() []byte { return api.OpenAPI }

// staleAfter is how many intervals old a price or a snapshot may be.
const staleAfter = 3

// Options are what tests and commands set beside the configuration.
type Options struct {
	// Worker runs the sources, settlement and the leaderboard in this process.
	Worker bool
	// Log receives the log in the form of LOG_FORMAT; nil discards it.
	Log io.Writer
	// Now is the clock; nil is the real one.
	Now func() time.Time
	// Beside does not claim the database: for a command that runs beside a server.
	Beside bool
	// CachePrefix sets the keys of several services in one Redis apart.
	CachePrefix string
}

// App is the whole service, built but not running.
type App struct {
	cfg  config.Config
	log  *slog.Logger
	now  func() time.Time
	opts Options

	tracing *tracing.Tracing // nil: off
	db      *database.DB
	release func() error
	cache   *cache.Cache

	generation  *agent.Generation
	usage       *agent.Usage
	identity    *identity.Service
	publisher   *prediction.Publisher
	settlement  *settlement.Service
	builder     *leaderboard.Builder
	leaderboard *leaderboard.Store

	markets      *ingest.Markets
	news         *ingest.News
	worker       *worker.Worker
	metrics      *metrics.Metrics
	serverErrors *alert.Tally
	server       *httpserver.Server
	sample       atomic.Bool // the database holds the demo's sample world
}

// New opens the database and the cache, migrates, takes up the last snapshots and
// builds every part. It fails with one line that says what to change.
func New(ctx context.Context, cfg config.Config, opts Options) (*App, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg, opts: opts, now: opts.Now, log: logger(cfg, opts.Log)}
	if a.now == nil {
		a.now = time.Now
	}
	redis.SetLogger(redisLog{a.log})
	if !opts.Beside {
		var err error
		if a.tracing, err = tracing.Start(ctx, a.log, Version); err != nil {
			return nil, err
		}
	}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	marked, err := demo.Marked(ctx, a.db.Reader)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.sample.Store(marked)
	a.buildDomain()
	if err := a.buildOperations(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.buildSignals(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.buildServer()
	return a, nil
}

// Config is the checked configuration, derived settings filled in.
func (a *App) Config() config.Config { return a.cfg }

func (a *App) open(ctx context.Context) (err error) {
	if a.db, err = database.Open(ctx, a.cfg.DatabaseURL); err != nil {
		return err
	}
	if hook := a.tracing.Hook(); hook != nil {
		a.db.Watch(hook)
	}
	if !a.opts.Beside {
		if a.release, err = a.db.Claim(); err != nil {
			return err
		}
	}
	if _, err = a.db.Migrate(ctx); err != nil {
		return err
	}
	if a.opts.CachePrefix == "" {
		a.cache, err = cache.Open(a.cfg.RedisURL)
	} else {
		a.cache, err = cache.OpenPrefixed(a.cfg.RedisURL, a.opts.CachePrefix)
	}
	return err
}

func (a *App) buildDomain() {
	thresholds := a.thresholds()
	a.usage = agent.NewUsage(a.db, a.log, a.now)
	a.builder = leaderboard.NewBuilder(a.db, thresholds, a.now)
	a.leaderboard = leaderboard.NewStore(thresholds, a.now)
	a.publisher = prediction.NewPublisher(a.db, a.now, staleAfter*a.cfg.MarketsInterval, a.cfg.BaseURL)
	a.publisher.MinLiquidity = float64(a.cfg.RankedMinLiquidity)
	a.generation = agent.NewGeneration(a.db.Reader, a.log, nil)
	a.identity = identity.New(identity.Options{
		Config: &a.cfg, DB: a.db, Generation: a.generation, Usage: a.usage, Log: a.log, Now: a.now, Wrap: a.tracing.Transport,
	})
}

func (a *App) thresholds() leaderboard.Thresholds {
	return leaderboard.Thresholds{
		Events: int64(a.cfg.RankedMinEvents), CategoryEvents: int64(a.cfg.RankedMinCategoryEvents), Days: int64(a.cfg.RankedMinDays),
	}
}

// Run serves on ln, and works when Options.Worker is set, until ctx ends. It
// returns once requests in flight are answered and running jobs have stopped.
func (a *App) Run(ctx context.Context, ln net.Listener) error {
	stop := a.startBackground(ctx)
	return errors.Join(a.server.Start(ctx, ln), stop())
}

// Work runs the worker alone until ctx ends.
func (a *App) Work(ctx context.Context) error {
	stop := a.startBackground(ctx)
	<-ctx.Done()
	return stop()
}

// startBackground starts everything but HTTP.
func (a *App) startBackground(ctx context.Context) (stop func() error) {
	a.generation.Start()
	a.identity.Start()
	a.usage.Start()
	a.startOperations()
	follow, endFollow := context.WithCancel(context.WithoutCancel(ctx))
	go a.markets.Exchange.Follow(follow)
	go a.news.Exchange.Follow(follow)
	if a.opts.Worker {
		a.worker.Start(context.WithoutCancel(ctx))
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Second)
		defer cancel()
		endFollow()
		var err error
		if a.opts.Worker {
			err = a.worker.Stop(ctx)
		}
		a.identity.Stop()
		a.generation.Stop()
		return errors.Join(err, a.usage.Stop(ctx), a.stopOperations(ctx))
	}
}

// Close gives back what New opened. The service must not be running.
func (a *App) Close() error {
	errs := []error{a.tracing.Stop(context.Background())}
	if a.metrics != nil {
		errs = append(errs, a.metrics.Close())
	}
	if a.cache != nil {
		errs = append(errs, a.cache.Close())
	}
	if a.release != nil {
		errs = append(errs, a.release())
	}
	if a.db != nil {
		errs = append(errs, a.db.Close())
	}
	return errors.Join(errs...)
}

func (a *App) buildServer() {
	edge := &api.API{
		Config: &a.cfg, DB: a.db, Now: a.now, Identity: a.identity, Usage: a.usage,
		Publisher: a.publisher, Leaderboard: a.leaderboard,
		Intelligence: &api.Intelligence{Markets: a.markets.Exchange.Feed(), News: a.news.Exchange.Feed()},
	}
	site := web.New(web.Dependencies{
		Config: &a.cfg, Version: Version, DB: a.db, Now: a.now, Identity: a.identity, Leaderboard: a.leaderboard,
		Markets: a.markets.Exchange.Feed(), News: a.news.Exchange.Feed(),
		Text: edge.Text, OpenAPI: api.OpenAPI, Sample: a.showsSample,
	})
	a.server = httpserver.New(httpserver.Options{
		Config: &a.cfg, Version: Version, Logger: a.log, Now: a.now, Redis: a.cache.Redis(),
		Authenticate: a.authenticate, Health: a.health(), Observe: a.observe, Tracer: a.tracing.Tracer(), RenderError: site.RenderError,
	})
	a.generation.OnTexts(func() { a.leaderboard.Forget(); site.Forget() })
	edge.Register(a.server)
	site.Register(a.server)
	a.desk().Register(a.server)
	mcp.New(mcp.Dependencies{Config: &a.cfg, Version: Version, OpenAPI: api.OpenAPI}).Register(a.server)
}

// desk is the admin pages.
func (a *App) desk() *webadmin.Desk {
	return webadmin.New(webadmin.Dependencies{
		Config: &a.cfg, Version: Version, DB: a.db, Now: a.now, Log: a.log, Usage: a.usage, Settlement: a.settlement,
		Recheck: a.generation.Check, People: a.identity.People(), CacheKind: string(a.cache.Kind), PingCache: a.cache.Ping, Holder: a.worker.Holder(), Sample: a.showsSample,
		Feeds: []webadmin.Feed{
			deskFeed(a.markets.Exchange.Feed(), a.markets.Tick),
			deskFeed(a.news.Exchange.Feed(), a.news.Tick),
		},
	})
}

func deskFeed[T any](f *signal.Feed[T], tick func(context.Context) (time.Duration, error)) webadmin.Feed {
	return webadmin.Feed{
		Name: f.Name(), Tick: tick, Stale: f.Stale,
		AsOf: func() time.Time { return f.Current().AsOf }, Count: func() int { return len(f.Current().Records) },
	}
}

// showsSample tells whether the database holds the demo's sample world.
func (a *App) showsSample() bool { return a.sample.Load() }

// authenticate keeps a nil principal out of the interface, where it would not be nil.
func (a *App) authenticate(ctx context.Context, bearer string) (httpserver.Principal, error) {
	p, err := a.identity.Authenticate(ctx, bearer)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// observe counts requests, and each agent's.
func (a *App) observe(o httpserver.Observation) {
	a.metrics.Observe(o.Route, o.Method, o.Status, o.Code, o.Duration)
	a.serverErrors.Count(o.Status)
	if o.Principal != nil {
		a.usage.Count(o.Principal.AgentID(), agent.Request{Method: o.Method, Route: o.Route, Status: o.Status, Code: o.Code, ID: o.RequestID})
	}
}

func (a *App) health() httpserver.HealthSource {
	return httpserver.HealthSource{
		DatabaseKind: string(a.db.Kind), PingDatabase: a.db.PingContext,
		CacheKind: string(a.cache.Kind), PingCache: a.cache.Ping,
		Feeds: func() (markets, items httpserver.Feed) {
			return feedHealth(a, a.markets.Exchange.Feed()), feedHealth(a, a.news.Exchange.Feed())
		},
		Warnings: a.warnings,
	}
}

// warnings are what an operator should know of the way to check keys.
func (a *App) warnings() []string {
	s := a.identity.Status()
	if !s.OK {
		return append(s.Warnings, "the identity provider did not answer when it was last asked: "+s.LastError)
	}
	return s.Warnings
}

// lastErrorTimeout bounds the look at a feed's state: health answers without it.
const lastErrorTimeout = 500 * time.Millisecond

func feedHealth[T any](a *App, f *signal.Feed[T]) httpserver.Feed {
	s := f.Current()
	h := httpserver.Feed{AsOf: s.AsOf, Stale: f.Stale(), Count: len(s.Records), Source: s.Source}
	ctx, cancel := context.WithTimeout(context.Background(), lastErrorTimeout)
	defer cancel()
	state, _, err := ingest.State(ctx, a.db.Reader, f.Name())
	if err != nil {
		a.log.Warn("state of a feed not read", "feed", f.Name(), "error", err)
		return h
	}
	h.LastError = state.LastError
	return h
}
