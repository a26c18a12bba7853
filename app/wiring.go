package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/mcp"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/retention"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/upstream"
	"github.com/pulsecast/pulsecast/app/version"
	"github.com/pulsecast/pulsecast/app/web"
	webadmin "github.com/pulsecast/pulsecast/app/web/admin"
	"github.com/pulsecast/pulsecast/app/worker"
)

func (a *App) buildDomain() {
	thresholds := a.thresholds()
	a.usage = agent.NewUsage(a.DB, a.Log, a.now)
	a.Boards = leaderboard.NewBuilder(a.DB, thresholds, a.now)
	a.leaderboard = leaderboard.NewStore(thresholds, a.now)
	a.publisher = prediction.NewPublisher(a.DB, a.now, staleAfter*a.cfg.MarketsInterval, a.cfg.BaseURL)
	a.generation = agent.NewGeneration(a.DB.Reader, a.Log, nil)
	a.identity = identity.New(identity.Options{
		Config: &a.cfg, DB: a.DB, Generation: a.generation, Usage: a.usage, Log: a.Log, Now: a.now, Wrap: a.tracing.Transport,
	})
}

func (a *App) thresholds() leaderboard.Thresholds {
	return leaderboard.Thresholds{
		Events: int64(a.cfg.RankedMinEvents), CategoryEvents: int64(a.cfg.RankedMinCategoryEvents), Days: int64(a.cfg.RankedMinDays),
	}
}

// buildOperations makes what operators watch. The address of METRICS_ADDR is taken
// here, so that a bad one stops the start.
func (a *App) buildOperations() error {
	a.metrics = metrics.New(metrics.Options{Version: version.API, DB: a.DB, Now: a.now, Feeds: a.feeds, Usage: a.usage.Waiting, Folder: a.folder()})
	a.serverErrors = alert.NewTally(a.DB, a.Log, a.now)
	if a.opts.Beside || a.cfg.MetricsAddr == "" {
		return nil
	}
	return a.metrics.Listen(a.cfg.MetricsAddr)
}

// folder holds the SQLite file; empty on Postgres.
func (a *App) folder() string {
	path, ok := a.cfg.SQLitePath()
	if !ok {
		return ""
	}
	return filepath.Dir(path)
}

func (a *App) feeds() []metrics.Feed {
	return []metrics.Feed{feedOf(a.Markets.Exchange.Feed()), feedOf(a.News.Exchange.Feed())}
}

func feedOf[T any](f *signal.Feed[T]) metrics.Feed {
	s := f.Current()
	return metrics.Feed{Name: f.Name(), AsOf: s.AsOf, Records: len(s.Records), Stale: f.Stale()}
}

// monitor is nil where nobody is to be told.
func (a *App) monitor() *alert.Monitor {
	if a.cfg.AlertWebhookURL == "" {
		return nil
	}
	o := alert.Options{
		DB: a.DB, Log: a.Log, Now: a.now, Webhook: string(a.cfg.AlertWebhookURL), BaseURL: a.cfg.BaseURL, Feeds: a.feeds,
	}
	if folder := a.folder(); folder != "" {
		o.Disk = func() (metrics.Disk, error) { return metrics.DiskOf(folder) }
	}
	return alert.New(o)
}

// buildSignals connects the sources to the feeds, and what follows from a reading.
func (a *App) buildSignals(ctx context.Context) error {
	a.Settlement = settlement.New(settlement.Options{
		DB: a.DB, Interval: a.cfg.MarketsInterval, Now: a.now,
		Winner: func(ctx context.Context, m *market.Market) (int, bool, error) { return a.Markets.Source.Winner(ctx, m) },
	})
	a.Markets = &ingest.Markets{
		Source: upstream.Markets(&a.cfg, a.Log, a.now, fetch.Options{Wrap: a.tracing.Transport}),
		DB:     a.DB, Interval: a.cfg.MarketsInterval, Now: a.now, Log: a.Log,
		Exchange: signal.NewExchange(signal.NewFeed(api.MarketCodec(), a.now), a.DB, a.cache, a.Log),
		Watch:    a.Settlement.Unsettled,
		After:    []func(context.Context, []market.Market) error{a.Settlement.AfterMarkets},
	}
	a.News = &ingest.News{
		Source: a.newsSource(), DB: a.DB, Interval: a.cfg.NewsInterval, Now: a.now, Log: a.Log,
		Exchange: signal.NewExchange(signal.NewFeed(api.NewsCodec(), a.now), a.DB, a.cache, a.Log),
	}
	if _, err := a.Markets.Exchange.Restore(ctx); err != nil {
		return fmt.Errorf("restore markets: %w", err)
	}
	if _, err := a.News.Exchange.Restore(ctx); err != nil {
		return fmt.Errorf("restore news: %w", err)
	}
	a.worker = worker.New(a.DB, a.Log, a.now, a.jobs()...)
	return nil
}

func (a *App) newsSource() source.NewsSource {
	return source.NewChain(a.Log, a.now, upstream.News(&a.cfg, a.Log, a.now, fetch.Options{Wrap: a.tracing.Transport})...)
}

// jobs are what the worker runs, each on one node at a time.
func (a *App) jobs() []worker.Job {
	every := func(name string, interval time.Duration, run func(context.Context) error) worker.Job {
		return worker.Job{Name: name, Interval: interval, Run: func(ctx context.Context) (time.Duration, error) { return 0, run(ctx) }}
	}
	jobs := []worker.Job{
		{Name: "markets", Interval: a.cfg.MarketsInterval, Run: a.Markets.Tick, Planned: a.Markets.Planned},
		{Name: "news", Interval: a.cfg.NewsInterval, Run: a.News.Tick, Planned: a.News.Planned},
		every("leaderboard", 2*time.Second, a.buildBoards),
		every("assignments", time.Minute, a.assign),
		{Name: "activity", Interval: time.Minute, Run: a.countActivity},
		every("upkeep", 10*time.Minute, a.prune),
	}
	if monitor := a.monitor(); monitor != nil {
		jobs = append(jobs, every("alerts", alert.Interval, monitor.Tick))
	}
	for i := range jobs {
		jobs[i].Run = a.tracing.Task(jobs[i].Name, jobs[i].Run)
		jobs[i] = a.metrics.Job(jobs[i])
	}
	return jobs
}

// buildBoards brings the boards up to date, and tells how long it took when there was
// something to build.
func (a *App) buildBoards(ctx context.Context) error {
	start := time.Now()
	built, err := a.Boards.Tick(ctx)
	if built && err == nil {
		a.metrics.LeaderboardBuilt(time.Since(start))
	}
	return err
}

// countActivity counts for the admins' table of agents, at most a twentieth of the
// time.
func (a *App) countActivity(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	err := admin.CountActivity(ctx, a.DB, a.now())
	return max(time.Minute, 20*time.Since(begin)), err
}

// assign closes the assignments that are due and, once a day, chooses new ones.
func (a *App) assign(ctx context.Context) error {
	var store assignment.Store
	_, closeErr := store.CloseDue(ctx, a.DB, a.now())
	_, chooseErr := store.ChooseDaily(ctx, a.DB, a.now())
	return errors.Join(closeErr, chooseErr)
}

func (a *App) prune(ctx context.Context) error {
	return retention.Run(ctx, a.DB, a.publisher, a.now)
}

func (a *App) buildServer() {
	edge := &api.API{
		Config: &a.cfg, DB: a.DB, Now: a.now, Identity: a.identity, Usage: a.usage,
		Publisher: a.publisher, Leaderboard: a.leaderboard,
		Intelligence: &api.Intelligence{Markets: a.Markets.Exchange.Feed(), News: a.News.Exchange.Feed()},
	}
	site := web.New(web.Dependencies{
		Config: &a.cfg, Version: version.API, DB: a.DB, Now: a.now, Identity: a.identity, Leaderboard: a.leaderboard,
		Markets: a.Markets.Exchange.Feed(), News: a.News.Exchange.Feed(),
		Text: edge.Text, Sample: a.ShowsSample,
	})
	a.server = httpserver.New(httpserver.Options{
		Config: &a.cfg, Version: version.API, Logger: a.Log, Now: a.now, Redis: a.cache.Redis(),
		Authenticate: a.authenticate, Health: a.health(), Observe: a.observe, Tracer: a.tracing.Tracer(), RenderError: site.RenderError,
	})
	a.generation.OnTexts(func() { a.leaderboard.Forget(); site.Forget() })
	edge.Register(a.server)
	site.Register(a.server)
	a.desk().Register(a.server)
	mcp.New(mcp.Dependencies{Config: &a.cfg, Version: version.API}).Register(a.server)
}

// desk is the admin pages.
func (a *App) desk() *webadmin.Desk {
	return webadmin.New(webadmin.Dependencies{
		Config: &a.cfg, Version: version.API, DB: a.DB, Now: a.now, Log: a.Log, Usage: a.usage, Settlement: a.Settlement,
		Recheck: a.generation.Check, People: a.identity.People(), CacheKind: string(a.cache.Kind), PingCache: a.cache.Ping, Holder: a.worker.Holder(), Sample: a.ShowsSample,
		Feeds: []webadmin.Feed{
			deskFeed(a.Markets.Exchange.Feed(), a.Markets.Tick),
			deskFeed(a.News.Exchange.Feed(), a.News.Tick),
		},
	})
}

func deskFeed[T any](f *signal.Feed[T], tick func(context.Context) (time.Duration, error)) webadmin.Feed {
	return webadmin.Feed{
		Name: f.Name(), Tick: tick, Stale: f.Stale,
		AsOf: func() time.Time { return f.Current().AsOf }, Count: func() int { return len(f.Current().Records) },
	}
}

// ShowsSample reports whether the database holds the demo's sample world.
func (a *App) ShowsSample() bool { return a.sample.Load() }

// MarkSample makes every page say that it shows sample data.
func (a *App) MarkSample() { a.sample.Store(true) }

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
		DatabaseKind: string(a.DB.Kind), PingDatabase: a.DB.PingContext,
		CacheKind: string(a.cache.Kind), PingCache: a.cache.Ping,
		Feeds: func() (markets, items httpserver.Feed) {
			return feedHealth(a, a.Markets.Exchange.Feed()), feedHealth(a, a.News.Exchange.Feed())
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
	state, _, err := ingest.State(ctx, a.DB.Reader, f.Name())
	if err != nil {
		a.Log.Warn("state of a feed not read", "feed", f.Name(), "error", err)
		return h
	}
	h.LastError = state.LastError
	return h
}
