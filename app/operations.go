package app

import (
	"context"
	"errors"
	"path/filepath"

	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/signal"
)

// buildOperations makes what operators watch. The address of METRICS_ADDR is taken
// here, so that a bad one stops the start.
func (a *App) buildOperations() error {
	a.metrics = metrics.New(metrics.Options{Version: Version, DB: a.db, Now: a.now, Feeds: a.feeds, Usage: a.usage.Waiting, Folder: a.folder()})
	a.serverErrors = alert.NewTally(a.db, a.log, a.now)
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

func (a *App) startOperations() {
	a.serverErrors.Start()
	a.metrics.Start()
	if addr := a.metrics.Addr(); addr != "" {
		a.log.Info("serving metrics", "address", addr)
	}
}

func (a *App) stopOperations(ctx context.Context) error {
	return errors.Join(a.serverErrors.Stop(ctx), a.metrics.Stop(ctx))
}

// monitor is nil where nobody is to be told.
func (a *App) monitor() *alert.Monitor {
	if a.cfg.AlertWebhookURL == "" {
		return nil
	}
	o := alert.Options{
		DB: a.db, Log: a.log, Now: a.now, Webhook: string(a.cfg.AlertWebhookURL), BaseURL: a.cfg.BaseURL, Feeds: a.feeds,
	}
	if folder := a.folder(); folder != "" {
		o.Disk = func() (metrics.Disk, error) { return metrics.DiskOf(folder) }
	}
	return alert.New(o)
}

func (a *App) feeds() []metrics.Feed {
	return []metrics.Feed{feedOf(a.markets.Exchange.Feed()), feedOf(a.news.Exchange.Feed())}
}

func feedOf[T any](f *signal.Feed[T]) metrics.Feed {
	s := f.Current()
	return metrics.Feed{Name: f.Name(), AsOf: s.AsOf, Records: len(s.Records), Stale: f.Stale()}
}
