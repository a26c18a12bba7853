package httpserver

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
			DatabaseKind: "postgres", Database: func() error { return database },
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
	for _, tt := range tests { // one after the other: they share the variables above
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
	for name, c := range map[string]struct {
		database    func() error
		draining    bool
		status      int
		live, ready string
	}{
		"well":     {func() error { return nil }, false, 200, `{"ok":true}`, `{"ok":true,"status":"ok"}`},
		"down":     {func() error { return errors.New("the secret cause") }, false, 200, `{"ok":true}`, `{"ok":true,"status":"degraded"}`},
		"draining": {nil, true, 503, `{"ok":true}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := run(t, func(o *Options) { o.Health = HealthSource{Database: c.database} }, nil)
			n.draining.Store(c.draining)
			if r := n.do(t, "GET", "/livez"); r.StatusCode != 200 || r.body != c.live {
				t.Errorf("/livez: %d %s", r.StatusCode, r.body)
			}
			r := n.do(t, "GET", "/readyz")
			if r.StatusCode != c.status || c.ready != "" && r.body != c.ready {
				t.Errorf("/readyz: %d %s", r.StatusCode, r.body)
			}
			if c.status == 503 && (r.code(t) != "unavailable" || r.Header.Get("Retry-After") == "") {
				t.Errorf("/readyz: %v %s", r.Header, r.body)
			}
		})
	}
}

// TestHealthWaitsForNothing checks that a request doesn't wait for a cache, a write or feeds that hang, and
// that one check serves all requests.
func TestHealthWaitsForNothing(t *testing.T) {
	t.Parallel()
	var asked, feeds atomic.Int32
	release := make(chan struct{})
	hang := func(ctx context.Context) error {
		if asked.Add(1) > 2 { // the first check is done
			<-release
			return errors.New("it hung")
		}
		return nil
	}
	n := run(t, func(o *Options) {
		o.Health = HealthSource{TryDatabase: hang, PingCache: hang, Feeds: func(context.Context) []monitor.Feed {
			if feeds.Add(1) > 1 { // the first read is done
				<-release
			}
			return nil
		}}
	}, func(s *Server) {
		s.App.Get("/api/health", s.Health)
		s.health.feeds.keeps = 0
	})
	for range 20 {
		if r := n.do(t, "GET", "/api/health"); r.StatusCode != 200 || !strings.Contains(r.body, `"database":{"ok":true`) {
			t.Errorf("%d %s", r.StatusCode, r.body)
		}
	}
	if feeds.Load() != 2 {
		t.Errorf("the feeds were read %d times at once", feeds.Load()-1)
	}
	close(release)
	for deadline := time.Now().Add(20 * time.Second); ; {
		if r := n.do(t, "GET", "/api/health"); strings.Contains(r.body, `"database":{"ok":false`) && strings.Contains(r.body, `"cache":{"ok":false`) {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the failure is not reported: %s", r.body)
		}
	}
}
