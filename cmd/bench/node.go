package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// node is our program, running as a server.
type node struct {
	*run.Process
	bench *bench
	lines []string // output lines until it was ready
}

// settings leave only the work itself to measure: no limits, no access log, no upstream that
// answers, and no tick of a source during a measurement.
var settings = []string{
	"ADDR=127.0.0.1:0", "LOG_FORMAT=off", "DRAIN=0",
	"RATE_LIMIT_READS=off", "RATE_LIMIT_WRITES=off", "RATE_LIMIT_FAILURES=off", "RATE_LIMIT_SNAPSHOT=off",
	"REGISTRATION_RATE=off", "REGISTRATION_CEILING=off",
	"MARKETS_INTERVAL=24h", "NEWS_INTERVAL=24h",
	"POLYMARKET_URL=http://127.0.0.1:9", "POLYMARKET_CLOB_URL=http://127.0.0.1:9", "REDDIT_AUTH_URL=http://127.0.0.1:9",
	"REDDIT_API_URL=http://127.0.0.1:9", "REDDIT_RSS_URL=http://127.0.0.1:9", "GDELT_URL=http://127.0.0.1:9", "HACKERNEWS_URL=http://127.0.0.1:9",
}

// serve starts our program on a database and waits until it is ready.
func (b *bench) serve(ctx context.Context, databaseURL string, flags ...string) (*node, error) {
	return b.serveWith(ctx, settings, databaseURL, flags...)
}

// serveWith is serve with other settings.
func (b *bench) serveWith(ctx context.Context, settings []string, databaseURL string, flags ...string) (*node, error) {
	env := append([]string{"DATABASE_URL=" + databaseURL}, settings...)
	p, out, err := run.Start(ctx, b.dir, run.Command{Name: "pulsecast", Program: b.Binary, Args: append([]string{"serve"}, flags...), Env: env})
	if err != nil {
		return nil, err
	}
	n := &node{Process: p, bench: b}
	address, lines, err := p.UntilSaid(ctx, out, "Pulsecast listens on http://")
	if err != nil {
		p.Stop()
		return nil, err
	}
	n.Address, n.lines = address, lines
	return n, nil
}

// want returns a request to the node.
func (n *node) want(path, contains string) want {
	return want{address: n.Address, path: path, contains: contains}
}

// signals returns the request for the signal list, which every page is compared with.
func (n *node) signals() want { return n.want("/api/intelligence/markets", `"markets":[{"id"`) }

// get returns a contender that requests w from the node.
func (n *node) get(name string, w want) contender {
	return contender{name, func(ctx context.Context) (sample, error) { return n.bench.wrk(ctx, w) }}
}

// settle waits until the signal list has not changed for two seconds, because the first tick of the
// sources comes only after the start.
func (n *node) settle(ctx context.Context) error {
	last, since := "", time.Now()
	for began := time.Now(); time.Since(began) < time.Minute; {
		a, err := n.signals().fetch(ctx)
		if err != nil {
			return err
		}
		if tag := a.header.Get("ETag"); tag == "" || tag != last {
			last, since = tag, time.Now()
		} else if time.Since(since) > 2*time.Second {
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the signal list still changes one minute after the start")
}

// sealed waits until the node has sealed all days of the sample world. Otherwise the nodes of all copies would do
// that during the first measurements.
func (n *node) sealed(ctx context.Context) error {
	newest := time.Now().UTC().Add(-20*time.Minute).AddDate(0, 0, -1).Format(time.DateOnly)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		if _, err := n.want("/api/data?limit=1", `"day":"`+newest+`"`).fetch(ctx); err == nil {
			return nil
		} else if ctx.Err() != nil {
			return fmt.Errorf("wait for the archive: %w", err)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("wait for the archive: %w", err)
		}
	}
}

// warm requests each path a few times, so that caches are filled and code is in memory.
func (n *node) warm(ctx context.Context, paths ...want) error {
	for range 20 {
		for _, w := range paths {
			if _, err := w.fetch(ctx); err != nil {
				return fmt.Errorf("warm %s: %w", n.Name, err)
			}
		}
	}
	return nil
}

// databaseName returns the name of a group's database on Postgres.
func databaseName(parts ...string) string { return "bench_" + strings.Join(parts, "_") }
