// Command recorded starts the service on a new temporary database. A server with recorded payloads replaces
// every source, so it needs no network.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/source/sourcetest"
)

// small is the folder of the small payloads in the source tree, from the root of the repository.
const small = "app/source"

func main() {
	addr := flag.String("addr", cmp.Or(os.Getenv("ADDR"), "127.0.0.1:8080"), "address to serve at, host:port; default: ADDR")
	payloads := flag.String("payloads", os.Getenv("UPSTREAM_SAMPLES"),
		"folder of recorded payloads; default: UPSTREAM_SAMPLES, else the small payloads beside the code")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *payloads, os.Stdout, os.Stderr); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "recorded:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends and removes the database then.
func run(ctx context.Context, addr, payloads string, out, log io.Writer) (err error) {
	if payloads == "" {
		payloads = small
		fmt.Fprintln(out, "UPSTREAM_SAMPLES is not set: using the small payloads beside the code.")
	}
	sources := sourcetest.New()
	got, err := sources.Load(os.DirFS(payloads), time.Now())
	if err != nil {
		return fmt.Errorf("read payloads: %w", err)
	}
	fmt.Fprintf(out, "Recorded: %d markets, %d events with tags, %d posts, with their dates moved to today.\n", got.Markets, got.Events, got.Posts)
	upstream, err := serve(ctx, sources)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pulsecast-recorded")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	defer ln.Close()
	cfg := configuration(ln.Addr().String(), upstream, "sqlite://"+filepath.Join(dir, "pulsecast.db"))
	cfg.ArchiveURL = "file://" + filepath.Join(dir, "archive")
	a, err := app.New(ctx, cfg, app.Options{Worker: true, Log: log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	fmt.Fprintf(out, "Database: %s\nPulsecast listens on http://%s\n", cfg.DatabaseURL, ln.Addr())
	return a.Run(ctx, ln)
}

// configuration returns a configuration with every source at one address. Registration is open, so that a
// visitor can get a key.
func configuration(addr, upstream, database string) config.Config {
	cfg := config.Default()
	cfg.Addr, cfg.DatabaseURL, cfg.Registration, cfg.Drain = addr, database, "open", 0
	cfg.PolymarketURL, cfg.PolymarketClobURL = upstream, upstream
	cfg.RedditAuthURL, cfg.RedditAPIURL, cfg.RedditRSSURL = upstream, upstream, upstream
	cfg.GDELTURL, cfg.HackerNewsURL = upstream, upstream
	cfg.RedditClientID, cfg.RedditClientSecret = "recorded", "recorded"
	return cfg
}

// serve answers on a free port of this machine until ctx ends.
func serve(ctx context.Context, h http.Handler) (url string, err error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	go func() { _ = server.Serve(ln) }()
	return "http://" + ln.Addr().String(), nil
}
