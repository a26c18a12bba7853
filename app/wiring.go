package app

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/compat/metaculus"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/mcp"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/reddit"
	"github.com/pulsecast/pulsecast/app/source/upstream"
	"github.com/pulsecast/pulsecast/app/update"
	"github.com/pulsecast/pulsecast/app/version"
	"github.com/pulsecast/pulsecast/app/web"
	webadmin "github.com/pulsecast/pulsecast/app/web/admin"
	"github.com/pulsecast/pulsecast/app/worker"
)

func (a *App) buildDomain() {
	thresholds := leaderboard.ThresholdsOf(&a.cfg)
	a.usage = agent.NewUsage(a.DB, a.Log, a.now)
	a.Boards = leaderboard.NewBuilder(a.DB, thresholds, a.now)
	a.Boards.Records = a.archive != nil
	a.consensus = leaderboard.NewConsensusCounter(a.DB, a.now)
	a.leaderboard = leaderboard.NewStore(thresholds, a.now)
	a.publisher = prediction.NewPublisher(a.DB, a.now, signal.StaleIntervals*a.cfg.MarketsInterval, a.cfg.BaseURL)
	a.publisher.MinLiquidity = float64(a.cfg.RankedMinLiquidity)
	a.publisher.Seed = a.opts.Seed
	a.generation = agent.NewGeneration(a.DB.Reader, a.Log)
	a.changes = generation.NewWatcher(a.DB.Reader, a.Log)
	if a.DB.Replica != nil {
		a.changes.AddReplica(a.DB, a.cfg.ReplicaMaxLag)
	}
	a.names = agent.NewNames(a.cfg.OperatorName, a.cfg.BaseURL, leaderboard.RankedLike)
	a.identity = identity.New(identity.Options{
		Config: &a.cfg, DB: a.DB, Names: a.names, Generation: a.generation, Usage: a.usage, Log: a.Log, Now: a.now, Wrap: a.tracing.Transport,
	})
}

// buildOperations builds the worker and what operators watch. It listens on METRICS_ADDR and tries
// BACKUP_DIR, so that a wrong setting stops the start.
func (a *App) buildOperations(ctx context.Context) error {
	if err := a.checkBackups(ctx); err != nil {
		return err
	}
	a.monitor = a.newMonitor()
	a.metrics = metrics.New(
		metrics.Options{Version: version.Build(), DB: a.DB, Now: a.now, Monitor: a.monitor, Usage: a.usage.Waiting, Replica: a.changes.Replica},
	)
	a.serverErrors = alert.NewErrorCounter(a.DB, a.Log, a.now)
	if a.cfg.AlertWebhookURL != "" {
		a.outage = alert.NewOutage(alert.OutageOptions{
			Log: a.Log, Now: a.now, Webhook: string(a.cfg.AlertWebhookURL), BaseURL: a.cfg.BaseURL, Check: a.checkDatabase,
		})
	}
	a.worker = worker.New(a.DB, a.Log, a.now, a.jobs()...)
	if a.opts.Beside || a.cfg.MetricsAddr == "" {
		return nil
	}
	return a.metrics.Listen(a.cfg.MetricsAddr)
}

// checkBackups checks that this node can make the scheduled backups. A node without a worker only warns if no other node
// has ever made one.
func (a *App) checkBackups(ctx context.Context) error {
	s := a.backups()
	if s == nil || a.opts.Beside {
		return nil
	}
	if a.opts.Worker {
		return s.Check(ctx)
	}
	state, err := backup.ReadState(ctx, a.DB.Reader)
	if err == nil && state.Since.IsZero() {
		a.Log.Warn("BACKUP_EVERY is set, but this node runs no worker and no other node has made a backup yet: set it on a node with a worker too")
	}
	return err
}

// checkDatabase returns why the database can't be read or written, or nil if it can.
func (a *App) checkDatabase(ctx context.Context) error {
	if err := a.DB.Breaker.Err(); err != nil {
		return err
	}
	return a.publisher.TryWrite(ctx)
}

// newMonitor returns a monitor of the feeds and, on SQLite, of the disk with the database.
func (a *App) newMonitor() *monitor.Monitor {
	o := monitor.Options{
		DB: a.DB, Now: a.now, BackupEvery: a.cfg.BackupEvery, Archived: a.archive != nil, Feeds: []monitor.Snapshots{a.Markets.Replicator.Feed(), a.News.Replicator.Feed()},
	}
	if path, ok := a.cfg.SQLitePath(); ok {
		o.Disk = func() (monitor.Disk, error) { return monitor.DiskOf(filepath.Dir(path)) }
	}
	return monitor.New(o)
}

// alerts returns nil if no webhook is configured.
func (a *App) alerts() *alert.Watcher {
	if a.cfg.AlertWebhookURL == "" {
		return nil
	}
	return alert.New(alert.Options{
		DB: a.DB, Log: a.Log, Now: a.now, Webhook: string(a.cfg.AlertWebhookURL), BaseURL: a.cfg.BaseURL, Monitor: a.monitor,
	})
}

// settle does the work of settlement that follows a reading of markets.
func (a *App) settle(ctx context.Context, observed []market.Market) error {
	return a.metrics.Task(ctx, "settlement", func() error { return a.Settlement.AfterMarkets(ctx, observed) })
}

// buildSignals connects the sources to the feeds, and the feeds to the work that follows a reading.
func (a *App) buildSignals(ctx context.Context) error {
	a.Settlement = settlement.New(settlement.Options{
		DB: a.DB, Interval: a.cfg.MarketsInterval, MinLiquidity: float64(a.cfg.RankedMinLiquidity), Now: a.now,
		Winner: func(ctx context.Context, m *market.Market) (int, bool, error) { return a.Markets.Source.Winner(ctx, m) },
	})
	a.publisher.DecidedWhileOpen = a.Settlement.DecidedWhileOpen
	a.Markets = &ingest.Markets{
		Source: upstream.Markets(&a.cfg, a.Log, a.now, fetch.Options{Wrap: a.tracing.Transport}),
		DB:     a.DB, Interval: a.cfg.MarketsInterval, Now: a.now, Log: a.Log,
		Replicator: signal.NewReplicator(signal.NewFeed(api.MarketCodec(), a.now), a.DB, a.cache, a.Log),
		Watch:      a.Settlement.Unsettled,
		Ended:      a.Settlement.Ended,
		After:      []func(context.Context, []market.Market) error{a.settle},
		Archive:    a.recorder(),
	}
	a.News = &ingest.News{
		Source: a.newsSource(), DB: a.DB, Interval: a.cfg.NewsInterval, Now: a.now, Log: a.Log,
		Replicator: signal.NewReplicator(signal.NewFeed(api.NewsCodec(), a.now), a.DB, a.cache, a.Log),
		Archive:    a.recorder(),
	}
	if _, err := a.Markets.Replicator.Restore(ctx); err != nil {
		return fmt.Errorf("restore markets: %w", err)
	}
	if _, err := a.News.Replicator.Restore(ctx); err != nil {
		return fmt.Errorf("restore news: %w", err)
	}
	return nil
}

// openArchive opens the archive without connecting to it, because it may be down when the service
// starts.
func (a *App) openArchive() (err error) {
	if a.archive, err = archive.OpenStorage(a.cfg.ArchiveURL); err != nil {
		return fmt.Errorf("ARCHIVE_URL: %w", err)
	}
	return nil
}

// recorder returns nil if there is no archive.
func (a *App) recorder() *archive.Recorder {
	if a.archive == nil {
		return nil
	}
	return archive.NewRecorder(a.now)
}

func (a *App) newsSource() source.NewsSource {
	members := upstream.News(&a.cfg, a.Log, a.now, fetch.Options{Wrap: a.tracing.Transport})
	a.posts = findPosts(members)
	a.recording = a.newRecording(members)
	return source.NewFallback(a.Log, members...)
}

// newRecording archives publishable news that the feed doesn't show at the moment. Reddit comes
// first in the feed, so the archive has its news whenever it can be read.
func (a *App) newRecording(members []source.Member) *ingest.Recording {
	released := a.cfg.Released()
	return &ingest.Recording{
		Sources: slices.DeleteFunc(slices.Clone(members), func(m source.Member) bool { return !released[m.Name] || strings.HasPrefix(m.Name, reddit.NameOAuth) }),
		Shown: func() string {
			current := a.News.Replicator.Feed().Current()
			if current.Sample {
				return ""
			}
			return current.Source
		},
		DB: a.DB, Archive: a.recorder(), Now: a.now, Log: a.Log,
	}
}

// findPosts returns the sources that can tell whether archived posts still exist. Reddit's API also
// knows the posts that were read from its feeds.
func findPosts(members []source.Member) map[string]archive.FindPosts {
	found := map[string]archive.FindPosts{}
	for _, m := range members {
		if s, ok := m.Source.(source.PostSource); ok {
			found[m.Name] = s.Posts
		}
	}
	if posts, ok := found[reddit.NameOAuth]; ok {
		found[reddit.NameAtom] = posts
	}
	return found
}

func (a *App) buildServer() {
	acts := moderation.New(moderation.Options{
		DB: a.DB, Now: a.now, Log: a.Log, Settlement: a.Settlement, Names: a.names, IdentityURL: a.cfg.IdentityURL, Recheck: a.Recheck,
	})
	groups := market.NewGroups(func() uint64 { return a.changes.Moves(generation.Markets) }, a.now)
	edge := &api.API{
		Config: &a.cfg, Log: a.Log, DB: a.DB, Now: a.now, Identity: a.identity, Usage: a.usage,
		Publisher: a.publisher, Leaderboard: a.leaderboard, Moderation: acts, Changes: a.changes, Groups: groups, Names: a.names, Release: a.catalogue(),
		Intelligence: &api.Intelligence{Markets: a.Markets.Replicator.Feed(), News: a.News.Replicator.Feed()},
	}
	site := web.New(web.Dependencies{
		Config: &a.cfg, Version: version.Build(), DB: a.DB, Now: a.now, Identity: a.identity, Leaderboard: a.leaderboard, Moderation: acts,
		Changes: a.changes, Groups: groups,
		Markets: a.Markets.Replicator.Feed(), News: a.News.Replicator.Feed(),
		Text: edge.Text, Sample: a.ShowsSample, Release: edge.Release,
		SignIn: oauth.New(oauth.Options{
			Config: &a.cfg, DB: a.DB, Generation: a.generation, Log: a.Log, Now: a.now, Transport: a.opts.ClientDocuments,
		}),
	})
	a.server = httpserver.New(httpserver.Options{
		Config: &a.cfg, Version: version.API, Logger: a.Log, Now: a.now, Redis: a.cache.Redis(), RedisPrefix: a.cache.Prefix, RedisPatience: a.opts.RedisPatience,
		Authenticate: a.authenticate, HowToGetKey: a.identity.HowToGetKey(), CredentialEpoch: a.generation.Epoch, CredentialHolds: a.generation.Holds,
		Health: a.health(), Observe: a.observe, Tracer: a.tracing.Tracer(), RenderError: site.RenderError,
		Places: a.readPlaces(), OwnProcess: a.opts.OwnProcess,
	})
	a.hub = update.NewHub(a.DB.Reader, a.Log, edge.UpdateEncoder())
	edge.Hub = a.hub
	a.changes.OnMoved(generation.Updates, a.hub.Wake)
	a.changes.OnMoved(generation.Texts, func() { a.leaderboard.Forget(); site.Forget() })
	edge.Register(a.server)
	(&metaculus.API{Config: &a.cfg, DB: a.DB, Now: a.now, Publisher: a.publisher}).Register(a.server)
	site.Register(a.server)
	a.adminSite(acts).Register(a.server)
	mcp.New(mcp.Dependencies{
		Config: &a.cfg, Version: version.Build(), Log: a.Log, DB: a.DB, Markets: a.Markets.Replicator.Feed(),
	}).Register(a.server)
}

// catalogue returns the catalogue of the archive's published files.
func (a *App) catalogue() *release.Catalogue {
	c := &release.Catalogue{DB: a.DB, Sources: a.cfg.Released()}
	if a.archive != nil {
		c.Storage = archive.NewBreaker(a.archive, a.Log)
	}
	return c
}

// readPlaces returns how many answers that are not in memory may be made at the same time. Half of
// the processors stay free for other work, also for a Postgres on the same machine. On Postgres, three
// of four connections stay free too.
func (a *App) readPlaces() int {
	places := runtime.GOMAXPROCS(0) / 2
	if a.DB.Kind == database.Postgres {
		places = min(places, a.DB.Reader.Stats().MaxOpenConnections/4)
	}
	return max(places, 1)
}

// adminSite returns the admin pages.
func (a *App) adminSite(acts *moderation.Service) *webadmin.Site {
	return webadmin.New(webadmin.Dependencies{
		Config: &a.cfg, Version: version.Build(), DB: a.DB, Now: a.now, Log: a.Log, Usage: a.usage, Settlement: a.Settlement,
		Moderation: acts, Monitor: a.monitor, People: a.identity.People(), CacheKind: string(a.cache.Kind), PingCache: a.cache.Ping,
		Holder: a.worker.Holder(), Sample: a.ShowsSample,
		Tick: map[string]func(context.Context) (time.Duration, error){"markets": a.byAdmin(a.Markets.Tick), "news": a.byAdmin(a.News.Tick)},
	})
}

// byAdmin makes a tick that an admin started wait for locks as long as a tick of the worker. Like the worker, it
// doesn't tick while this node's clock is off.
func (a *App) byAdmin(tick func(context.Context) (time.Duration, error)) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		if err := a.DB.CheckClock(ctx, a.now); err != nil {
			return 0, err
		}
		return tick(database.Patient(ctx))
	}
}

// ShowsSample reports whether the database holds the demo's sample world.
func (a *App) ShowsSample() bool { return a.sample.Load() }

// MarkSample makes every page say that it shows sample data.
func (a *App) MarkSample() { a.sample.Store(true) }

// authenticate returns a nil interface when there is no principal. A nil pointer in the interface
// would not compare equal to nil.
func (a *App) authenticate(ctx context.Context, bearer string, admit identity.Admit) (httpserver.Principal, error) {
	p, err := a.identity.Authenticate(ctx, bearer, admit)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// observe counts requests in all, and those of each agent.
func (a *App) observe(o httpserver.Observation) {
	a.metrics.Observe(o.Route, o.Method, o.Status, o.Code, o.Duration)
	if o.Stale {
		a.metrics.ObserveStale()
	}
	if o.Shed { // any visitor can cause these refusals
		a.metrics.ObserveShed()
	} else {
		a.serverErrors.Count(o.Status)
	}
	if o.Principal != nil {
		a.usage.Count(o.Principal.AgentID(), agent.Request{
			Method: o.Method, Route: o.Route, Status: o.Status, Code: o.Code, ID: o.RequestID,
		})
	}
}

func (a *App) health() httpserver.HealthSource {
	return httpserver.HealthSource{
		DatabaseKind: string(a.DB.Kind), Database: a.DB.Breaker.Err, TryDatabase: a.publisher.TryWrite,
		CacheKind: string(a.cache.Kind), PingCache: a.cache.Ping,
		Feeds:    a.feeds,
		Warnings: a.warnings,
	}
}

// warnings returns what operators should know about the identity provider, the database and its
// replica, the archive, the backups and the clock.
func (a *App) warnings() []string {
	s := a.identity.Status()
	list := slices.Clone(s.Warnings)
	if !s.OK {
		list = append(list, "the identity provider did not answer when it was last asked: "+s.LastError)
	}
	if !a.DB.LostWAL().IsZero() {
		list = append(list, lostWAL)
	}
	if r := a.changes.Replica(); r != nil && r.Warning() != "" {
		list = append(list, r.Warning())
	}
	list = append(list, a.archiveWarnings()...)
	list = append(list, a.backupWarnings()...)
	if b := a.DB.Breaker; b.ClockOff() {
		list = append(list, fmt.Sprintf(
			"the clock of this node is %s off the database's, so it runs no jobs: run an NTP client", b.ClockOffset().Abs().Round(time.Second)))
	}
	return list
}

// backupWarnings returns what is wrong with the scheduled backups. It returns nothing if the database
// doesn't answer, because health reports that separately.
func (a *App) backupWarnings() []string {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	b, scheduled, err := a.monitor.Backups(ctx)
	switch {
	case err != nil || !scheduled || !b.Troubled():
		return nil
	case b.At.IsZero() && !b.Failing():
		return []string{"no scheduled backup was ever made: check that a node with BACKUP_EVERY runs the worker"}
	}
	return []string{"no scheduled backup was made when it was due: the log says why"}
}

// archiveWarnings returns what is wrong with the archive. It returns nothing if the database
// doesn't answer.
func (a *App) archiveWarnings() []string {
	ctx, cancel := context.WithTimeout(context.Background(), healthTimeout)
	defer cancel()
	st, kept, err := a.monitor.Archive(ctx)
	if err != nil || !kept || !st.Troubled(a.now()) {
		return nil
	}
	return []string{st.Warning(a.now())}
}

// healthTimeout bounds each query that health makes about the backups and the archive.
const healthTimeout = 250 * time.Millisecond

// feeds returns the state of the feeds. If the database doesn't answer, their readings are missing.
func (a *App) feeds(ctx context.Context) []monitor.Feed {
	feeds, err := a.monitor.Feeds(ctx)
	if err != nil && !database.Unavailable(err) { // the breaker has logged that
		a.Log.Warn("state of the feeds not read", "error", err)
	}
	return feeds
}
