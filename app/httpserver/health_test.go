package httpserver

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/signal"
)

func TestHealthBody(t *testing.T) {
	t.Parallel()
	clk := newClock()
	fresh := func(name, source string, count int) monitor.Feed {
		return monitor.Feed{Status: signal.Status{Name: name, AsOf: clk.now().Add(-30 * time.Second), Records: count, Source: source}}
	}
	var markets, news monitor.Feed
	var warnings []string
	var database, writes, cache error
	adjust := func(o *Options) {
		o.Now = clk.now
		o.Health = HealthSource{
			DatabaseKind: "postgres", PingDatabase: func(context.Context) error { return database },
			TryDatabase: func(context.Context) error { return writes },
			CacheKind:   "redis", PingCache: func(context.Context) error { return cache },
			Feeds:    func(context.Context) []monitor.Feed { return []monitor.Feed{markets, news} },
			Warnings: func() []string { return warnings },
		}
	}
	body := func(status, db, cache, markets, news string) string {
		return `{"ok":true,"status":"` + status + `","version":"0.1.0","uptimeSeconds":0,` +
			`"database":{"ok":` + db + `,"kind":"postgres"},"cache":{"ok":` + cache + `,"kind":"redis"},` +
			`"signals":{"markets":` + markets + `,"news":` + news + `},"warnings":[]}`
	}
	const (
		goodMarkets = `{"asOf":"2026-11-21T11:59:30Z","ageSeconds":30,"stale":false,"count":40,"source":"polymarket","lastError":null}`
		goodNews    = `{"asOf":"2026-11-21T11:59:30Z","ageSeconds":30,"stale":false,"count":60,"source":"reddit","lastError":null}`
	)
	tests := []struct {
		name string
		set  func()
		want string
	}{
		{"all well", func() {}, body("ok", "true", "true", goodMarkets, goodNews)},
		{"an error, still fresh", func() { markets.Readings.LastError = "http_429" },
			body("ok", "true", "true", strings.Replace(goodMarkets, "null", `"http_429"`, 1), goodNews)},
		{"before the first snapshot", func() { news = monitor.Feed{Status: signal.Status{Name: "news", Stale: true}} },
			body("degraded", "true", "true", goodMarkets, `{"asOf":null,"ageSeconds":null,"stale":true,"count":0,"source":null,"lastError":null}`)},
		{"no database", func() { database = errors.New("the secret cause") }, body("degraded", "false", "true", goodMarkets, goodNews)},
		{"a full disk", func() { writes = errors.New("the secret cause") }, body("degraded", "false", "true", goodMarkets, goodNews)},
		{"a warning", func() { warnings = []string{"no audience"} },
			strings.Replace(body("ok", "true", "true", goodMarkets, goodNews), "[]", `["no audience"]`, 1)},
		{"no cache", func() { cache = errors.New("the secret cause") }, body("degraded", "true", "false", goodMarkets, goodNews)},
	}
	for _, tt := range tests { // in turn: they share the variables above
		markets, news, warnings = fresh("markets", "polymarket", 40), fresh("news", "reddit", 60), nil
		database, writes, cache = nil, nil, nil
		tt.set()
		n := run(t, adjust, func(s *Server) { s.App.Get("/api/health", s.Health) })
		if r := n.do(t, "GET", "/api/health"); r.StatusCode != 200 || r.body != tt.want {
			t.Errorf("%s: %d\ngot  %s\nwant %s", tt.name, r.StatusCode, r.body, tt.want)
		}
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := run(t, func(o *Options) {
			o.Health = HealthSource{DatabaseKind: string(db.Kind), PingDatabase: db.PingContext}
		}, nil)
		for _, path := range []string{"/livez", "/readyz"} {
			if r := n.do(t, "GET", path); r.StatusCode != 200 || r.body != `{"ok":true}` {
				t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
			}
		}
	})
	t.Run("down", func(t *testing.T) {
		t.Parallel()
		n := run(t, func(o *Options) {
			o.Health.PingDatabase = func(context.Context) error { return errors.New("the secret cause") }
		}, nil)
		if r := n.do(t, "GET", "/livez"); r.StatusCode != 200 {
			t.Errorf("/livez: %d", r.StatusCode)
		}
		r := n.do(t, "GET", "/readyz")
		if r.StatusCode != 503 || r.code(t) != "unavailable" || strings.Contains(r.body, "secret") {
			t.Errorf("/readyz: %d %s", r.StatusCode, r.body)
		}
		if e := n.logs.entry(t, r.Header.Get("X-Request-Id")); e["cause"] != "the secret cause" {
			t.Errorf("log %v", e)
		}
	})
	t.Run("hanging", func(t *testing.T) {
		t.Parallel()
		n := run(t, func(o *Options) {
			o.Health.PingDatabase = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		}, nil)
		if r := n.do(t, "GET", "/readyz"); r.StatusCode != 503 {
			t.Errorf("/readyz: %d", r.StatusCode)
		}
	})
	t.Run("draining", func(t *testing.T) {
		t.Parallel()
		n := run(t, nil, nil)
		n.draining.Store(true)
		if r := n.do(t, "GET", "/readyz"); r.StatusCode != 503 {
			t.Errorf("/readyz: %d", r.StatusCode)
		}
	})
}

func TestHealthSparesTheDatabase(t *testing.T) {
	t.Parallel()
	var pings atomic.Int32
	n := run(t, func(o *Options) {
		o.Health.PingDatabase = func(context.Context) error { pings.Add(1); return nil }
	}, func(s *Server) { s.App.Get("/api/health", s.Health) })
	began := time.Now()
	for range 50 {
		n.do(t, "GET", "/api/health")
		n.do(t, "GET", "/readyz")
	}
	if most := int32(1 + time.Since(began)/probeKeeps); pings.Load() < 1 || pings.Load() > most {
		t.Errorf("%d pings for 100 questions, want at most %d", pings.Load(), most)
	}
}
