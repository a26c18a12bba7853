package api_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// outageWait is longer than any request takes, unless it hangs.
const outageWait = time.Minute

// startOutageBench is startBench with a private Postgres.
func startOutageBench(t *testing.T, settings ...string) (*bench, *dbtest.Postgres) {
	t.Helper()
	server := dbtest.StartPostgres(t, settings...)
	return startBenchAt(t, server.URL("postgres")), server
}

func startBenchAt(t *testing.T, address string, change ...func(*config.Config)) *bench {
	t.Helper()
	b := &bench{}
	b.fill()
	cfg := configure(t, backends[0], append(change, func(c *config.Config) { c.DatabaseURL = address })...)
	b.service = run(t, cfg, app.Options{Now: b.now, Log: &b.logged}, func(a *app.App) { a.Markets.Source = b })
	b.tick(t)
	return b
}

// asked is a request of the matrix with its expected status.
type asked struct {
	call
	want int
	// stale is whether the answer must be the last good copy and say so.
	stale bool
}

// get sends a request whose answer may be a page.
func (s *service) get(t testing.TB, c call) (res *http.Response, body string) {
	t.Helper()
	client := http.Client{Timeout: outageWait}
	res, err := client.Do(s.request(t, c))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(raw)
}

// matrix returns the requests that are sent in every outage that also stops reading.
func matrix(key, id string) []asked {
	tool, agent := map[string]string{"User-Agent": "curl/8.5"}, map[string]string{"Idempotency-Key": "outage"}
	list := []asked{
		{call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil), header: agent}, 503, false},
		{call{method: "POST", path: "/api/predictions/batch", bearer: key, body: map[string]any{"predictions": []any{forecast(nil)}}}, 503, false},
		{call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}, 503, false},
		{call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Late"}}, 503, false},
		{call{path: "/api/agents/me/updates", bearer: key}, 503, false},
		{call{path: "/api/predictions", bearer: key}, 503, false},
		{call{path: "/api/predictions?limit=7"}, 503, false}, // not in memory
		{call{path: "/api/predictions", bearer: "not a bearer"}, 401, false},
		{call{path: "/api/intelligence/markets"}, 200, false},
		{call{path: "/api/intelligence/markets", header: tool}, 403, false},
		{call{path: "/api/intelligence/markets", header: tool, bearer: key}, 200, false},
		{call{path: "/api/intelligence/markets", header: tool, bearer: "garbage"}, 403, false},
		{call{path: "/api/intelligence/events", header: tool, bearer: key}, 503, false},
		{call{path: "/livez"}, 200, false},
		{call{path: "/readyz"}, 200, false},
		{call{path: "/api/health"}, 200, false},
		{call{path: "/api/openapi.json"}, 200, false},
		{call{path: "/docs"}, 200, false},
		{call{path: "/method"}, 200, false},
		{call{path: "/predictions?limit=7&q=never"}, 503, false},
		{call{path: "/admin"}, 200, false}, // the sign-in form
	}
	for _, path := range readPaths(id) {
		list = append(list, asked{call{path: path}, 200, true})
	}
	for _, path := range []string{"/leaderboard", "/agents/ada"} {
		list = append(list, asked{call{path: path, header: map[string]string{"Accept": "text/markdown"}}, 200, true})
	}
	return list
}

// readPaths returns the lists and pages that are read before an outage.
func readPaths(id string) []string {
	return append(slices.Collect(maps.Values(storedReads(id))), "/", "/leaderboard", "/markets", "/markets/rain", "/events/weather", "/agents/ada",
		"/predictions", "/predictions/"+id, "/assignments", "/predictions.atom", "/sitemap.xml")
}

func (a asked) name() string {
	return fmt.Sprintf("%s %s %s", a.method, a.path, a.header["User-Agent"])
}

func (b *bench) check(t *testing.T, a asked, before map[string]string) {
	t.Helper()
	res, body := b.get(t, a.call)
	name := a.name()
	if res.StatusCode != a.want {
		t.Errorf("%s: %d, want %d: %.300s", name, res.StatusCode, a.want, body)
		return
	}
	if res.StatusCode == 503 && (res.Header.Get("Retry-After") == "" || strings.HasPrefix(a.path, "/api/") && !strings.Contains(body, `"code":"unavailable"`)) {
		t.Errorf("%s: Retry-After %q, %.300s", name, res.Header.Get("Retry-After"), body)
	}
	marked := strings.Contains(res.Header.Get("Cache-Status"), "; ttl=-") && res.Header.Get("Age") != "" && res.Header.Get("Cache-Control") == "no-store"
	if marked != a.stale && a.path != "/method" { // its figures are cached for longer
		t.Errorf("%s: stale %t, want %t: %v", name, marked, a.stale, res.Header)
	}
	if !a.stale {
		return
	}
	if kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";"); kind == "text/html" || kind == "text/markdown" {
		if strings.Count(body, "This page may be out of date.") != 1 {
			t.Errorf("%s doesn't say that it is stale", name)
		}
	} else if body != before[a.path] {
		t.Errorf("%s differs from the copy before the outage: %.300s", name, body)
	}
}

// mcpList calls a tool that lists predictions.
var mcpList = call{
	method: "POST", path: "/mcp/public", header: map[string]string{"Accept": "application/json, text/event-stream"},
	body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": "listPredictions", "arguments": map[string]any{}}},
}

// TestOutages checks that each request gets its expected answer while the database fails in various ways.
// Publishing is refused as unavailable, and earlier reads are answered from the last good copy. Both work
// again after the outage.
func TestOutages(t *testing.T) {
	t.Parallel()
	b, server := startOutageBench(t, "max_connections=30", "superuser_reserved_connections=0")
	key := b.register(t, "Ada")
	b.register(t, "Bea")
	id := b.publish(t, key, "rain", nil)
	var full []*sql.Conn
	for _, outage := range []struct {
		name       string
		begin, end func()
	}{
		{"frozen", server.Freeze, server.Thaw},
		{"killed", func() { server.Stop(dbtest.Kill) }, server.Start},
		{"stopped and slow to start", func() { server.Stop(dbtest.Fast) }, server.StartSlowly},
		{"out of connections", func() { full = takeConnections(t, server, 30) }, func() {
			for _, c := range full {
				_ = c.Close()
			}
		}},
	} {
		t.Run(outage.name, func(t *testing.T) { // one after the other: they share the server
			before := map[string]string{}
			for _, path := range append(readPaths(id), "/method") {
				res, body := b.get(t, call{path: path})
				if before[path] = body; res.StatusCode != 200 || res.Header.Get("Cache-Status") != "" {
					t.Fatalf("%s before the outage: %d %v", path, res.StatusCode, res.Header)
				}
			}
			if _, text := b.get(t, mcpList); !strings.Contains(text, `\"predictions\"`) || strings.Contains(text, "last good copy") {
				t.Errorf("a tool before the outage: %s", text)
			}
			b.ahead.Add(int64(time.Minute)) // so that no copy is current
			outage.begin()
			var all sync.WaitGroup
			for _, a := range matrix(key, id) { // at once: the outage isn't known yet
				all.Go(func() { b.check(t, a, before) })
			}
			all.Wait()
			for _, a := range matrix(key, id) { // one after the other: the outage is known
				b.check(t, a, before)
			}
			if _, text := b.get(t, mcpList); !strings.Contains(text, "This answer is the last good copy, made ") || strings.Contains(text, `"isError":true`) {
				t.Errorf("a tool doesn't say that its answer is stale: %s", text)
			}
			if _, health := b.get(t, call{path: "/api/health"}); !strings.Contains(health, `"status":"degraded"`) {
				t.Errorf("health: %s", health)
			}
			outage.end()
			began := time.Now()
			idempotency := map[string]string{"Idempotency-Key": strings.ReplaceAll(outage.name, " ", "-")}
			b.until(t, "publishing works", func() bool {
				res, _ := b.get(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil), header: idempotency})
				if res.StatusCode != 200 && res.StatusCode != 503 {
					t.Fatalf("during the recovery: %d", res.StatusCode)
				}
				return res.StatusCode == 200
			})
			t.Logf("back after %s", time.Since(began))
			b.until(t, "reading is current", func() bool {
				res, _ := b.get(t, call{path: "/api/predictions"})
				return res.StatusCode == 200 && res.Header.Get("Cache-Status") == ""
			})
			b.until(t, "health knows", func() bool {
				_, health := b.get(t, call{path: "/api/health"})
				return strings.Contains(health, `"database":{"ok":true`)
			})
		})
	}
}

func (b *bench) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(outageWait); !done(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %s", what, outageWait)
		}
	}
}

// takeConnections takes all n connections that a server allows. It ends the connections of others.
func takeConnections(t *testing.T, server *dbtest.Postgres, n int) []*sql.Conn {
	t.Helper()
	db, err := sql.Open("pgx", server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	var mine []*sql.Conn
	for deadline := time.Now().Add(outageWait); time.Now().Before(deadline); {
		conn, err := db.Conn(t.Context())
		if err == nil {
			mine = append(mine, conn)
			continue
		}
		var ended int
		err = mine[0].QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE backend_type = 'client backend' AND client_port IS NOT NULL AND pid <> ALL ($1)`, pids(t, mine)).Scan(&ended)
		if err != nil {
			t.Fatal(err)
		}
		if ended == 0 && len(mine) == n { // no other connection is being opened
			return mine
		}
	}
	t.Fatal("connections of others are left")
	return nil
}

func pids(t *testing.T, conns []*sql.Conn) []int32 {
	t.Helper()
	list := make([]int32, len(conns))
	for i, c := range conns {
		if err := c.QueryRowContext(t.Context(), "SELECT pg_backend_pid()").Scan(&list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

// TestRetryAfterALostCommit checks that a publication can be retried if its connection ends before, during
// or after the commit. The same request with the same key succeeds at once, and there is one prediction for
// each key.
func TestRetryAfterALostCommit(t *testing.T) {
	t.Parallel()
	b, server := startOutageBench(t)
	key := b.register(t, "Ada")
	killer, err := sql.Open("pgx", server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer killer.Close()
	ctx, cancel := context.WithCancel(t.Context())
	var killing sync.WaitGroup
	killing.Go(func() { // end every connection that is writing, at any stage
		for ctx.Err() == nil {
			// Not with ctx: Postgres would still end connections after a cancelled statement has returned.
			_, _ = killer.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE pid <> pg_backend_pid() AND backend_xid IS NOT NULL`)
			_, _ = killer.ExecContext(t.Context(), "SELECT pg_sleep(random() / 50)")
		}
	})
	body := forecast(nil)
	send := func(n int) (*http.Response, string) {
		return b.get(t, call{method: "POST", path: "/api/predictions", bearer: key, body: body,
			header: map[string]string{"Idempotency-Key": fmt.Sprint(n)}})
	}
	var answers []string
	lost := 0
	for n := 0; n < 40 || lost == 0 && n < 1000; n++ { // until one is interrupted
		answers = append(answers, "")
		res, body := send(n)
		switch res.StatusCode {
		case 200:
			answers[n] = body
		case 503:
			lost++
		default:
			t.Errorf("%d: %.300s", res.StatusCode, body)
		}
	}
	all := len(answers)
	cancel()
	killing.Wait()
	b.until(t, "the database is back", func() bool { return b.DB.Breaker.Err() == nil })
	for n := range all {
		if res, body := send(n); res.StatusCode != 200 || answers[n] != "" && body != answers[n] {
			t.Errorf("repeated %d: %d %.300s", n, res.StatusCode, body)
		}
	}
	var stored int
	if err := killer.QueryRowContext(t.Context(), "SELECT count(*) FROM predictions").Scan(&stored); err != nil || stored != all {
		t.Errorf("%d predictions for %d keys, %v", stored, all, err)
	}
	if lost == 0 {
		t.Error("no publication was interrupted")
	}
	t.Logf("%d of %d interrupted", lost, all)
}

// TestReadOnlyPostgres checks that with a read-only database, such as a standby, the service refuses to
// store and still answers all reads.
func TestReadOnlyPostgres(t *testing.T) {
	t.Parallel()
	b := startBench(t, backends[1])
	key := b.register(t, "Ada")
	b.publish(t, key, "rain", nil)
	admin := b.DB.DB
	set := func(value string) {
		t.Helper()
		var name string
		if err := admin.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
			t.Fatal(err)
		}
		statement := fmt.Sprintf("BEGIN READ WRITE; ALTER DATABASE %s SET default_transaction_read_only = %s; COMMIT", name, value)
		if _, err := admin.DB.ExecContext(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		// Open sessions keep their old setting.
		_, _ = admin.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()`)
		_, _ = admin.ExecContext(t.Context(), "SELECT pg_terminate_backend(pg_backend_pid())")
	}
	write := func() int {
		res, body := b.get(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil)})
		if res.StatusCode != 200 && (res.StatusCode != 503 || res.Header.Get("Retry-After") == "") {
			t.Errorf("%d %v %.300s", res.StatusCode, res.Header, body)
		}
		return res.StatusCode
	}
	set("on")
	b.until(t, "writing is refused", func() bool { return write() == 503 })
	b.until(t, "health knows", func() bool {
		_, health := b.get(t, call{path: "/api/health"})
		return strings.Contains(health, `"database":{"ok":false`)
	})
	b.until(t, "reading works", func() bool {
		res, _ := b.get(t, call{path: "/api/predictions?limit=3"})
		return res.StatusCode == 200 && res.Header.Get("Cache-Status") == ""
	})
	set("off")
	b.until(t, "writing works", func() bool { return write() == 200 })
	b.until(t, "health is well", func() bool {
		_, health := b.get(t, call{path: "/api/health"})
		return strings.Contains(health, `"database":{"ok":true`)
	})
}
