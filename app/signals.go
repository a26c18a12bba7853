package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/api"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/source/fetch"
	"github.com/pulsecast/pulsecast/app/source/hackernews"
	"github.com/pulsecast/pulsecast/app/source/polymarket"
	"github.com/pulsecast/pulsecast/app/source/reddit"
	"github.com/pulsecast/pulsecast/app/worker"
)

// buildSignals connects the sources to the feeds, and what follows from a reading.
func (a *App) buildSignals(ctx context.Context) error {
	upstream := polymarket.New(polymarket.Config{
		GammaURL: a.cfg.PolymarketURL, ClobURL: a.cfg.PolymarketClobURL,
		Fetch: fetch.New(fetch.Options{UserAgent: userAgent(&a.cfg), Wrap: a.tracing.Transport}), Logger: a.log, Now: a.now,
	})
	a.settlement = settlement.New(settlement.Options{
		DB: a.db, Interval: a.cfg.MarketsInterval, MinLiquidity: float64(a.cfg.RankedMinLiquidity), Now: a.now,
		Winner: func(ctx context.Context, m *market.Market) (int, bool, error) { return a.markets.Source.Winner(ctx, m) },
	})
	a.markets = &ingest.Markets{
		Source: upstream, DB: a.db, Interval: a.cfg.MarketsInterval, Now: a.now, Log: a.log,
		Exchange: signal.NewExchange(signal.NewFeed(api.MarketCodec(), a.now), a.db, a.cache, a.log),
		Watch:    a.settlement.Unsettled,
		After:    []func(context.Context, []market.Market) error{a.settlement.AfterMarkets},
	}
	a.news = &ingest.News{
		Source: a.newsSource(), DB: a.db, Interval: a.cfg.NewsInterval, Now: a.now, Log: a.log,
		Exchange: signal.NewExchange(signal.NewFeed(api.NewsCodec(), a.now), a.db, a.cache, a.log),
	}
	if _, err := a.markets.Exchange.Restore(ctx); err != nil {
		return fmt.Errorf("restore markets: %w", err)
	}
	if _, err := a.news.Exchange.Restore(ctx); err != nil {
		return fmt.Errorf("restore news: %w", err)
	}
	a.worker = worker.New(a.db, a.log, a.now, a.jobs()...)
	return nil
}

// newsSource is the chain of design: Reddit's API when there are credentials, its
// feeds, Hacker News.
func (a *App) newsSource() source.NewsSource {
	return source.NewChain(a.log, a.now, newsMembers(&a.cfg, a.log, a.now, fetch.Options{Wrap: a.tracing.Transport})...)
}

// newsMembers are the news sources in order of preference, read as with says.
func newsMembers(cfg *config.Config, log *slog.Logger, now func() time.Time, with fetch.Options) []source.Member {
	agent := reddit.UserAgent(Version, cfg.RedditUser)
	with.UserAgent = agent
	client := fetch.New(with)
	with.UserAgent = userAgent(cfg)
	var members []source.Member
	if cfg.RedditClientID != "" {
		members = append(members, source.Member{Name: reddit.NameOAuth, Source: reddit.NewOAuth(reddit.OAuthConfig{
			AuthURL: cfg.RedditAuthURL, APIURL: cfg.RedditAPIURL,
			ClientID: cfg.RedditClientID, ClientSecret: string(cfg.RedditClientSecret),
			UserAgent: agent, Over18: cfg.RedditOver18, Fetch: client, Logger: log, Now: now,
		})})
	}
	return append(members,
		source.Member{Name: reddit.NameAtom, Source: reddit.NewAtom(reddit.AtomConfig{
			URL: cfg.RedditRSSURL, UserAgent: agent, Fetch: client, Logger: log, Now: now,
		})},
		source.Member{Name: hackernews.Name, Source: hackernews.New(hackernews.Config{
			URL: cfg.HackerNewsURL, Fetch: fetch.New(with), Logger: log, Now: now,
		})})
}

func userAgent(cfg *config.Config) string { return "pulsecast/" + Version + " (" + cfg.BaseURL + ")" }

// jobs are what the worker runs, each on one node at a time.
func (a *App) jobs() []worker.Job {
	every := func(name string, interval time.Duration, run func(context.Context) error) worker.Job {
		return worker.Job{Name: name, Interval: interval, Run: func(ctx context.Context) (time.Duration, error) { return 0, run(ctx) }}
	}
	jobs := []worker.Job{
		{Name: "markets", Interval: a.cfg.MarketsInterval, Run: a.markets.Tick, Planned: a.markets.Planned},
		{Name: "news", Interval: a.cfg.NewsInterval, Run: a.news.Tick, Planned: a.news.Planned},
		every("leaderboard", 2*time.Second, a.buildBoards),
		every("assignments", time.Minute, a.assign),
		{Name: "activity", Interval: time.Minute, Run: a.countActivity},
		every("upkeep", 10*time.Minute, a.upkeep),
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
	built, err := a.builder.Tick(ctx)
	if built && err == nil {
		a.metrics.LeaderboardBuilt(time.Since(start))
	}
	return err
}

// countActivity counts for the admins' table of agents, at most a twentieth of the
// time.
func (a *App) countActivity(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	err := admin.CountActivity(ctx, a.db, a.now())
	return max(time.Minute, 20*time.Since(begin)), err
}

// assign closes the assignments that are due and, once a day, chooses new ones.
func (a *App) assign(ctx context.Context) error {
	var store assignment.Store
	_, closeErr := store.CloseDue(ctx, a.db, a.now())
	_, chooseErr := store.ChooseDaily(ctx, a.db, a.now())
	return errors.Join(closeErr, chooseErr)
}
