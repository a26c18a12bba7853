package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/source/sourcetest"
)

// upstream stands in for every source of the program.
type upstream struct {
	*sourcetest.Server
	URL string
}

func newUpstream(t testing.TB) *upstream {
	t.Helper()
	u := &upstream{Server: sourcetest.New()}
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	u.URL = server.URL
	return u
}

// settings returns settings that make the program use u for each source.
func (u *upstream) settings() []string {
	settings := []string{"REDDIT_CLIENT_ID=recorded", "REDDIT_CLIENT_SECRET=recorded"}
	for _, name := range []string{
		"POLYMARKET_URL", "POLYMARKET_CLOB_URL", "REDDIT_AUTH_URL", "REDDIT_API_URL", "REDDIT_RSS_URL", "GDELT_URL", "HACKERNEWS_URL",
	} {
		settings = append(settings, name+"="+u.URL)
	}
	return settings
}

// until repeats a request until the answer is right. It fails the test with the last answer.
func (p *process) until(path, key string, right func(answer map[string]any) bool) map[string]any {
	p.t.Helper()
	deadline := time.After(2 * time.Minute) // far more than needed, because the machine may be busy
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		_, answer := p.call("GET", path, key, nil)
		if right(answer) {
			return answer
		}
		select {
		case <-deadline:
			p.t.Fatalf("%s still answers %v\n%s", path, answer, p.out)
		case <-tick.C:
		}
	}
}

func dig(v any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			list, _ := v.([]any)
			if step >= len(list) {
				return nil
			}
			v = list[step]
		}
	}
	return v
}

// startWorker runs a worker and returns a function that stops it like an operator.
func startWorker(t testing.TB, settings []string) (stop func()) {
	t.Helper()
	cmd, out := command(t, settings, "worker"), &buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the worker ended with %v:\n%s", err, out)
		}
	})
	t.Cleanup(stop)
	return stop
}

// TestFromSignalToScore follows one prediction through the whole program: a market is read,
// predicted, priced, settled and scored, and the agent appears on the board. On SQLite one process does all of this. On
// Postgres the first reading is that of a command, a worker follows, and another command settles.
func TestFromSignalToScore(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			u := newUpstream(t)
			u.SetMarket("m1", nil)
			u.SetMarket("m2", map[string]any{"bestBid": 0.58, "bestAsk": 0.62, "liquidityNum": 5000})
			u.SetMarket("m3", map[string]any{"bestAsk": 0.62, "liquidityNum": 500})
			posts := []byte(`[{"id": "n1", "subreddit": "technology", "title": "It happened", "created_utc": 1790000000}]`)
			if _, err := u.Load(fstest.MapFS{"posts.json": {Data: posts}}, time.Now()); err != nil {
				t.Fatal(err)
			}
			settings := append(u.settings(), "DATABASE_URL="+dbtest.URL(t, kind), "REGISTRATION=open", "MARKETS_INTERVAL=1s")
			serve, settle := []string{"serve"}, func() {}
			if kind == database.Postgres {
				if out := must(t, settings, "ingest"); !strings.Contains(out, "markets  3 from polymarket (read)") || !strings.Contains(out, "news     1 from reddit (read)") {
					t.Error(out)
				}
				stop := startWorker(t, settings)
				serve = append(serve, "--no-worker")
				settle = func() {
					stop()
					if out := must(t, settings, "settle"); !strings.Contains(out, "settled; 0 markets are waiting") {
						t.Error(out)
					}
				}
			}
			p := startProcess(t, settings, serve...)
			p.until("/api/intelligence/markets", "", func(a map[string]any) bool { return dig(a, "markets", 0, "id") == "m1" })
			_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
			key, _ := made["apiKey"].(string)
			u.throughBook(p, key)
			_, published := p.call("POST", "/api/predictions", key, map[string]any{
				"title": "m1?", "thesis": "I know.", "confidence": 0.7, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": "m1",
			})
			if dig(published, "readAs") != "70 % that Yes; the market says 60 %" || dig(published, "prediction", "baseline") != nil {
				t.Fatalf("published %v", published)
			}
			u.SetMarket("m1", map[string]any{"outcomePrices": `["0.65", "0.35"]`})
			path := fmt.Sprint("/api/predictions/", dig(published, "prediction", "id"))
			based := p.until(path, "", func(a map[string]any) bool { return dig(a, "prediction", "baseline") != nil })
			for name, want := range map[string]any{"probability": 0.65, "before": 0.6, "after": 0.65, "previous": nil} {
				if got := dig(based, "prediction", "baseline", name); got != want {
					t.Errorf("baseline %s is %v, want %v", name, got, want)
				}
			}
			if dig(based, "prediction", "weight") != 1.0 || dig(based, "prediction", "liveEdge") == nil {
				t.Errorf("weight and live edge: %v", based)
			}
			u.SetMarket("m1", map[string]any{
				"closed": true, "outcomePrices": `["0.9999992", "0.0000008"]`, "umaResolutionStatus": "resolved",
				"closedTime": time.Now().Add(time.Second).UTC().Format("2006-01-02 15:04:05+00"),
			})
			settle()
			settled := p.until(path, "", func(a map[string]any) bool { return dig(a, "prediction", "status") == "resolved" })
			for name, want := range map[string]any{"edge": 3.25, "brier": 0.09} {
				got, _ := dig(settled, "prediction", "scores", name).(float64)
				if diff := got - want.(float64); diff > 1e-9 || diff < -1e-9 {
					t.Errorf("%s is %v, want %v", name, got, want)
				}
			}
			if dig(settled, "prediction", "resolution", "outcome") != "Yes" || dig(settled, "prediction", "resolution", "value") != 1.0 {
				t.Errorf("resolution %v", settled)
			}
			stats := p.until("/api/stats", key, func(a map[string]any) bool { return dig(a, "stats", "predictions", "resolved") == 1.0 })
			if dig(stats, "stats", "provisional") != true || dig(stats, "stats", "progress", "events", "need") != 30.0 {
				t.Errorf("stats %v", stats)
			}
			p.until("/api/leaderboard", "", func(a map[string]any) bool {
				rows, _ := a["leaderboard"].([]any)
				for i := range rows {
					if dig(rows, i, "agent", "handle") == "ada" {
						return dig(rows, i, "provisional") == true && dig(rows, i, "rank") == nil && dig(rows, i, "reason") != nil
					}
				}
				return false
			})
			if status, refused := p.call("POST", "/api/predictions", key, map[string]any{
				"title": "m1?", "thesis": "Late.", "confidence": 0.99, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": "m1",
			}); status != 409 || refused["code"] != "market_closed" {
				t.Errorf("publishing on the closed market: %d %v", status, refused)
			}
		})
	}
}

// throughBook follows order books through the whole program: that of m2, and that of m3, which has
// no bids and too little liquidity.
func (u *upstream) throughBook(p *process, key string) {
	p.t.Helper()
	said := func(id string) (map[string]any, string) {
		_, published := p.call("POST", "/api/predictions", key, map[string]any{
			"title": id + "?", "thesis": "I know.", "confidence": 0.7, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": id,
		})
		return published, fmt.Sprint("/api/predictions/", dig(published, "prediction", "id"))
	}
	thin, thinPath := said("m3")
	if warnings := fmt.Sprint(dig(thin, "warnings")); dig(thin, "readAs") != "70 % that Yes; the market says 60 % (bid 0, ask 0.62)" || !strings.Contains(warnings, "Too little liquidity: this market reports 500 US dollars. Below 1000") {
		p.t.Errorf("publishing on the thin market: got %v", thin)
	}
	published, path := said("m2")
	if dig(published, "readAs") != "70 % that Yes; the market says 60 % (bid 0.58, ask 0.62)" || strings.Contains(fmt.Sprint(dig(published, "warnings")), "iquidity") {
		p.t.Errorf("published %v", published)
	}
	based := p.until(path, "", func(a map[string]any) bool { return dig(a, "prediction", "baseline") != nil })
	for name, want := range map[string]any{"probability": 0.62, "before": 0.6, "after": 0.6, "beforeBid": 0.58, "afterAsk": 0.62, "medianBid": 0.58, "medianAsk": 0.62} {
		if got := dig(based, "prediction", "baseline", name); got != want {
			p.t.Errorf("baseline %s is %v, want %v", name, got, want)
		}
	}
	_, shown := p.call("GET", "/api/intelligence/markets/m2", "", nil)
	if dig(shown, "market", "bestBid") != 0.58 || dig(shown, "history", 0, "bid") != 0.58 || dig(shown, "history", 0, "ask") != 0.62 {
		p.t.Errorf("market %v", shown)
	}
	if _, found := p.call("GET", thinPath, "", nil); dig(found, "prediction", "baseline") != nil {
		p.t.Errorf("the prediction on the thin market has a baseline: %v", found)
	}
}

// TestUpstreamInTrouble checks each kind of failing source: the last good snapshot is still served,
// becomes stale, and health names the error with one fixed word. Then the source recovers.
func TestUpstreamInTrouble(t *testing.T) {
	t.Parallel()
	text := func(status int, contentType, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	cases := []struct {
		name, word string // a word differs from the one before, so that it can be waited for
		answer     http.HandlerFunc
	}{
		{"422", "http_422", text(422, "application/json", `{"type":"validation error","error":"offset"}`)},
		{"HTML", "parse", text(200, "text/html", "<html>maintenance</html>")},
		{"empty page", "empty", text(200, "application/json", `{"markets":[]}`)},
		{"cut short", "parse", text(200, "application/json", `{"markets":[{"id":"m1"`)},
		{"forbidden", "http_403", text(403, "application/json", `{}`)},
	}
	u := newUpstream(t)
	u.SetMarket("m1", nil)
	settings := []string{"DATABASE_URL=" + dbtest.URL(t, "sqlite"), "POLYMARKET_URL=" + u.URL, "MARKETS_INTERVAL=1s"}
	p := startProcess(t, settings, "serve")
	first := func(a map[string]any) bool { return dig(a, "markets", 0, "id") == "m1" }
	p.until("/api/intelligence/markets", "", first)
	for _, c := range cases {
		u.BreakWith(c.answer)
		p.until("/api/health", "", func(a map[string]any) bool {
			return dig(a, "signals", "markets", "lastError") == c.word && dig(a, "signals", "markets", "count") == 1.0
		})
	}
	p.until("/api/intelligence/markets", "", func(a map[string]any) bool { return first(a) && a["stale"] == true })
	p.until("/api/health", "", func(a map[string]any) bool { return a["status"] == "degraded" && a["ok"] == true })

	// A restart without any upstream serves the last snapshot at once.
	p.stop(syscall.SIGTERM)
	again := startProcess(t, settings, "serve")
	if _, a := again.call("GET", "/api/intelligence/markets", "", nil); !first(a) {
		t.Errorf("after the restart: %v", a)
	}
	u.BreakWith(nil)
	again.until("/api/intelligence/markets", "", func(a map[string]any) bool { return first(a) && a["stale"] == false })
}

// TestHealthWarnsAboutKeys checks that health says what prevents keys from being checked, not only
// the log.
func TestHealthWarnsAboutKeys(t *testing.T) {
	t.Parallel()
	p := startProcess(t, []string{"DATABASE_URL=" + dbtest.URL(t, "sqlite"),
		"IDENTITY_URL=http://127.0.0.1:9", "IDENTITY_AUDIENCE=pulsecast"}, "serve")
	p.until("/api/health", "", func(a map[string]any) bool {
		warnings := fmt.Sprint(a["warnings"])
		return strings.Contains(warnings, "IDENTITY_CLIENT_ID is not set") && strings.Contains(warnings, "identity provider did not answer")
	})
}
