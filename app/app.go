// Package app builds the service from its configuration. It is the only place that knows every
// part. The commands and the tests use it, and no lower package imports it.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/partition"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/tracing"
	"github.com/pulsecast/pulsecast/app/update"
	"github.com/pulsecast/pulsecast/app/version"
	"github.com/pulsecast/pulsecast/app/worker"
)

// ErrInterrupted is the cause of a context that ends to stop the service at once.
var ErrInterrupted = httpserver.ErrInterrupted

// Options are settings that tests and commands make in addition to the configuration.
type Options struct {
	// OwnProcess says that the process serves nothing but this service; see httpserver.Options.
	OwnProcess bool
	// Worker runs the sources, settlement and the leaderboard in this process.
	Worker bool
	// Log receives the log in the format of LOG_FORMAT. If it is nil, the log is discarded.
	Log io.Writer
	// Now is the clock. If it is nil, the service uses the real one.
	Now func() time.Time
	// Beside doesn't claim the database. Set it in a command that may run beside a server.
	Beside bool
	// ClientDocuments fetches the metadata documents of apps that sign in. If it is nil, the
	// service uses a transport that refuses private addresses.
	ClientDocuments http.RoundTripper
	// Queries, if not nil, is a hook that sees every query.
	Queries bun.QueryHook
	// DatabasePatience is how long a start waits for Postgres. Zero means 30 s.
	DatabasePatience time.Duration
	// Waiting, if not nil, is called once when a start begins to wait for Postgres.
	Waiting func()
	// RedisPatience bounds one answer of Redis for the rate limits. Zero means 25 ms.
	RedisPatience time.Duration
	// CachePrefix separates the keys of several services in one Redis; see cache.Open.
	CachePrefix string
	// Seed is prediction.Publisher.Seed. Set it for a service whose clock stands still.
	Seed []byte
}

// App is the whole service, built but not running. Its exported fields are those that commands use.
type App struct {
	DB         *database.DB
	Log        *slog.Logger
	Markets    *ingest.Markets
	News       *ingest.News
	Settlement *settlement.Service
	Boards     *leaderboard.Builder
	// BeforeSealing, if not nil, runs before each run of the job that seals days. Set it before
	// Run.
	BeforeSealing func(context.Context) error

	cfg  config.Config
	now  func() time.Time
	opts Options

	tracing *tracing.Tracing // nil if tracing is off
	release func() error
	marked  bool // the database is marked as in use
	cache   *cache.Cache

	generation  *agent.Generation
	changes     *generation.Watcher
	usage       *agent.Usage
	identity    *identity.Service
	publisher   *prediction.Publisher
	archive     archive.Writable // nil if there is no archive
	posts       map[string]archive.FindPosts
	recording   *ingest.Recording // archives news that the feed doesn't show
	leaderboard *leaderboard.Store
	consensus   *leaderboard.ConsensusCounter
	names       *agent.Names

	worker       *worker.Worker
	monitor      *monitor.Monitor
	metrics      *metrics.Metrics
	serverErrors *alert.ErrorCounter
	outage       *alert.Outage // nil if no webhook is configured
	server       *httpserver.Server
	hub          *update.Hub
	sample       atomic.Bool // the database holds the demo's sample world
	monthCounted time.Time   // when this node last counted the predictions of 30 days; see countActivity
}

// New opens the database and the cache, migrates, restores the last snapshots and builds every
// part. Its error is one line that says what to change.
func New(ctx context.Context, cfg config.Config, opts Options) (*App, error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	if opts.OwnProcess {
		if err := cfg.CheckServed(); err != nil {
			return nil, err
		}
	}
	a := &App{cfg: cfg, opts: opts, now: opts.Now, Log: cfg.Logger(opts.Log)}
	if a.now == nil {
		a.now = time.Now
	}
	cache.LogTo(a.Log)
	if !opts.Beside {
		var err error
		if a.tracing, err = tracing.Start(ctx, a.Log, version.Build()); err != nil {
			return nil, err
		}
	}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.openArchive(); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	marked, err := demo.Marked(ctx, a.DB.Reader)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.sample.Store(marked)
	a.buildDomain()
	if err := a.buildSignals(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	if err := a.buildOperations(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	a.buildServer()
	return a, nil
}

// Config returns the checked configuration, including derived settings.
func (a *App) Config() config.Config { return a.cfg }

func (a *App) open(ctx context.Context) (err error) {
	if a.DB, err = a.openDatabase(ctx); err != nil {
		return err
	}
	if a.cfg.DatabaseReplicaURL != "" && !a.opts.Beside {
		if err = a.DB.AddReplica(a.cfg.DatabaseReplicaURL); err != nil {
			return err
		}
	}
	if hook := a.tracing.Hook(); hook != nil {
		a.DB.Watch(hook)
	}
	if a.opts.Queries != nil {
		a.DB.Watch(a.opts.Queries)
	}
	if !a.opts.Beside {
		if a.release, err = a.DB.Claim(); err != nil {
			return err
		}
	}
	if _, err = a.DB.Migrate(ctx); err != nil {
		return err
	}
	if err = a.preparePartitions(ctx); err != nil {
		return err
	}
	if err := a.markInUse(ctx); err != nil {
		return err
	}
	a.cache, err = cache.Open(a.cfg.RedisURL, a.opts.CachePrefix)
	return err
}

// preparePartitions warns if a partition can't be added because the table is in use, such as by pg_dump. The job
// "partitions" tries again, and until then the rows of that month go to the default partition.
func (a *App) preparePartitions(ctx context.Context) error {
	err := partition.Prepare(ctx, a.DB, a.cfg.DatabasePartitions, a.now(), a.now())
	if !database.Unavailable(err) {
		return err
	}
	if divided, unread := partition.Divided(ctx, a.DB); unread != nil || !divided {
		return err
	}
	a.Log.Warn("partitions not added yet", "error", err)
	return nil
}

const (
	// databasePatience is how long a start waits for a database that is starting too. databasePause
	// is the time between two tries.
	databasePatience = 30 * time.Second
	databasePause    = 250 * time.Millisecond
)

// openDatabase opens the database. A service waits for a Postgres that is still starting; a command
// doesn't wait.
func (a *App) openDatabase(ctx context.Context) (*database.DB, error) {
	patience := cmp.Or(a.opts.DatabasePatience, databasePatience)
	_, embedded := a.cfg.SQLitePath()
	began := time.Now()
	for waiting := false; ; waiting = true {
		db, err := database.Open(ctx, a.cfg.DatabaseURL)
		switch {
		case err == nil || embedded || a.opts.Beside || !database.MayStart(err):
			return db, err
		case time.Since(began) >= patience:
			return nil, fmt.Errorf("DATABASE_URL: the database could not be used for %s: %w", patience, err)
		case !waiting:
			a.Log.Warn("waiting for the database of DATABASE_URL", "at_most", patience, "error", err)
			if a.opts.Waiting != nil {
				a.opts.Waiting()
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(databasePause):
		}
	}
}

// lostWAL is the warning about a SQLite file that was opened without its write-ahead log, in the
// log and in health.
const lostWAL = "the SQLite file was copied while it was served, or has lost its write-ahead log: " +
	"the latest predictions may be missing; pulsecast doctor says what to do"

// markInUse marks the database as in use until Close, and warns if commits are missing.
func (a *App) markInUse(ctx context.Context) error {
	if lost := a.DB.LostWAL(); !lost.IsZero() {
		a.Log.Error(lostWAL, "since", lost)
	}
	if a.opts.Beside {
		return nil
	}
	if err := a.DB.MarkInUse(ctx, time.Now()); err != nil {
		return err
	}
	a.marked = true
	return nil
}

// Run serves on ln until ctx ends, and runs the worker if Options.Worker is set. It returns once
// requests in flight are answered and running jobs have stopped. If the cause is ErrInterrupted, it
// returns within about two seconds in any case.
func (a *App) Run(ctx context.Context, ln net.Listener) error {
	a.Log.Info("serving", "address", ln.Addr().String(), "base_url", a.cfg.BaseURL, "database", a.DB.Kind,
		"cache", a.cache.Kind, "worker", a.opts.Worker)
	if a.DB.Pooled() {
		a.Log.Info("a connection pooler stands before Postgres: statements are planned for each execution")
	}
	stop := a.startBackground(ctx)
	return errors.Join(a.server.Start(ctx, ln), stop())
}

// Handler returns the service as a handler, without anything running in the background. The handler
// sees commits only after Recheck, and serves no streams. See httpserver.Mounted.
func (a *App) Handler() fasthttp.RequestHandler { return a.server.Handler() }

// Recheck checks at once whether commits have made cached credentials or answers out of date. A
// running service does this in the background.
func (a *App) Recheck(ctx context.Context) error {
	return errors.Join(a.generation.Check(ctx), a.changes.Check(ctx))
}

// Work runs only the worker until ctx ends.
func (a *App) Work(ctx context.Context) error {
	a.Log.Info("working", "database", a.DB.Kind, "cache", a.cache.Kind)
	stop := a.startBackground(ctx)
	<-ctx.Done()
	return stop()
}

// startBackground starts everything except the HTTP server.
func (a *App) startBackground(ctx context.Context) (stop func() error) {
	if err := a.DB.Start(ctx, a.Log); err != nil {
		a.Log.Warn("database not watched", "error", err)
	}
	a.generation.Start()
	a.changes.Start()
	a.identity.Start()
	a.usage.Start()
	a.hub.Start()
	a.startOperations()
	follow, endFollow := context.WithCancel(context.WithoutCancel(ctx))
	go a.Markets.Replicator.Follow(follow)
	go a.News.Replicator.Follow(follow)
	if a.opts.Worker {
		a.worker.Start(context.WithoutCancel(ctx))
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience(ctx))
		defer cancel()
		endFollow()
		published := a.publisher.Stop(ctx)
		var err error
		if a.opts.Worker {
			err = a.worker.Stop(ctx)
		}
		a.hub.Stop()
		a.identity.Stop()
		a.generation.Stop()
		a.changes.Stop()
		err = errors.Join(published, err, a.usage.Stop(ctx), a.stopOperations(ctx))
		a.DB.Stop()
		return err
	}
}

// patience returns how long background work may take to stop.
func patience(ctx context.Context) time.Duration {
	if errors.Is(context.Cause(ctx), ErrInterrupted) {
		return time.Second
	}
	return 15 * time.Second
}

// Close releases everything that New opened. The service must not be running.
func (a *App) Close() error {
	errs := []error{a.tracing.Stop(context.Background())}
	if a.publisher != nil {
		ctx, cancel := context.WithTimeout(context.Background(), patience(context.Background()))
		defer cancel()
		errs = append(errs, a.publisher.Stop(ctx))
	}
	if a.metrics != nil {
		errs = append(errs, a.metrics.Close())
	}
	if a.cache != nil {
		errs = append(errs, a.cache.Close())
	}
	if a.marked {
		errs = append(errs, a.DB.Unmark(context.Background()))
	}
	if a.release != nil {
		errs = append(errs, a.release())
	}
	if a.DB != nil {
		errs = append(errs, a.DB.Close())
	}
	return errors.Join(errs...)
}

func (a *App) startOperations() {
	a.serverErrors.Start()
	if a.outage != nil {
		a.outage.Start()
	}
	a.metrics.Start()
	if addr := a.metrics.Addr(); addr != "" {
		a.Log.Info("serving metrics", "address", addr)
	}
}

func (a *App) stopOperations(ctx context.Context) error {
	if a.outage != nil {
		a.outage.Stop()
	}
	return errors.Join(a.serverErrors.Stop(ctx), a.metrics.Stop(ctx))
}
