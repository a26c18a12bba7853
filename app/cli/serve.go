package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

type serveCommand struct {
	config.Config
	NoWorker   bool `help:"Don't run the worker in this process."`
	Demo       bool `help:"Serve a sample world with a key to try, and open registration."`
	DemoPublic bool `help:"Let the demo listen on addresses other than loopback."`
}

// Run serves HTTP until ctx ends. It also runs the worker, unless NoWorker is set.
func (s *serveCommand) Run(ctx context.Context) (err error) {
	cfg := s.Config
	if s.Demo {
		if !cfg.Loopback() && !s.DemoPublic {
			return fmt.Errorf("ADDR: the demo hands out keys, so it listens only on loopback addresses, not on %q; add --demo-public to allow this address", cfg.Addr)
		}
		cfg.Registration = "open"
		cfg.ArchiveURL = demoArchive(&cfg)
	}
	collectOften()
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		return fmt.Errorf("ADDR: cannot listen on %s: %w", cfg.Addr, errors.Unwrap(err))
	}
	defer ln.Close()
	if cfg.BaseURL == "" {
		cfg.Addr = ln.Addr().String() // the system has chosen a port for 0
	}
	ready := func() error { return nil }
	waiting := func() { ready = httpserver.AnswerStarting(ln.(*net.TCPListener), &cfg) }
	a, err := app.New(ctx, cfg, app.Options{OwnProcess: true, Worker: !s.NoWorker, Log: os.Stderr, Waiting: waiting})
	if failed := ready(); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if s.Demo {
		if err := openDemo(ctx, a, os.Stdout); err != nil {
			return err
		}
	} else {
		markLive(ctx, a)
	}
	fmt.Printf("Pulsecast listens on %s://%s\n", cfg.Scheme(), ln.Addr())
	return a.Run(ctx, ln)
}

// markLive keeps the demo out of a database that is started without it. The service also starts if the database accepts
// no writes.
func markLive(ctx context.Context, a *app.App) {
	if a.ShowsSample() {
		a.Log.Warn("this database holds the demo's sample data, marked as such everywhere")
		return
	}
	if err := demo.MarkLive(ctx, a.DB, time.Now()); err != nil {
		a.Log.Warn("the database isn't marked against the demo's sample data", "error", err)
	}
}

// collectOften makes the garbage collector run once 60 % of what is in use has been allocated, not 100 %, unless GOGC is
// set. Under full load that takes 21 MiB less memory; see docs/decisions/0011-speed.md.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(60)
	}
}

// demoArchive returns ARCHIVE_URL. If it has its default, demoArchive returns a folder beside the SQLite file.
func demoArchive(cfg *config.Config) string {
	path, embedded := cfg.SQLitePath()
	if !embedded || cfg.ArchiveURL != config.Default().ArchiveURL {
		return cfg.ArchiveURL
	}
	return "file://" + filepath.Join(filepath.Dir(path), "archive")
}

type workCommand struct{ config.Config }

// Run runs only the worker, until ctx ends.
func (w *workCommand) Run(ctx context.Context) (err error) {
	a, err := app.New(ctx, w.Config, app.Options{Worker: true, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	markLive(ctx, a)
	return a.Work(ctx)
}
