package app_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

var metricsAt = regexp.MustCompile(`serving metrics" address=(\S+)`)

// TestMetricsOfTheWholeProgram checks that the program counts what it does, serves the metrics only
// on METRICS_ADDR, and names no agent in them.
func TestMetricsOfTheWholeProgram(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.SetMarket("m1", nil)
	settings := []string{
		"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "POLYMARKET_URL=" + u.URL, "POLYMARKET_CLOB_URL=" + u.URL,
		"REGISTRATION=open", "METRICS_ADDR=127.0.0.1:0", usualCollection,
	}
	p := startProcess(t, settings, "serve")
	p.until("/api/intelligence/markets", "", func(a map[string]any) bool { return dig(a, "markets", 0, "id") == "m1" })
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada"})
	key, _ := made["apiKey"].(string)
	p.call("GET", "/api/stats", key, nil)
	p.call("GET", "/api/stats", "pc_wrong", nil)
	if status, _ := p.call("GET", "/metrics", "", nil); status != 404 {
		t.Errorf("GET /metrics on the public address: got %d", status)
	}
	found := metricsAt.FindStringSubmatch(p.out.String())
	if found == nil {
		t.Fatalf("no address in the log:\n%s", p.out)
	}
	wanted := []string{
		`pulsecast_http_requests_total{method="POST",route="/api/agents",status="2xx"} 1`,
		`pulsecast_http_requests_total{method="GET",route="/api/stats",status="2xx"} 1`,
		`pulsecast_http_requests_total{method="GET",route="/api/stats",status="4xx"} 1`,
		`pulsecast_http_requests_total{method="GET",route="unmatched",status="4xx"} 1`,
		`pulsecast_http_refusals_total{code="invalid_credentials"} 1`,
		`pulsecast_job_runs_total{result="ok",task="markets"} 1`,
		`pulsecast_job_runs_total{result="ok",task="settlement"} 1`,
		`pulsecast_job_runs_total{result="refused",task="news"} 1`,
		`pulsecast_snapshot_records{feed="markets"} 1`, `pulsecast_snapshot_stale{feed="news"} 1`,
		`pulsecast_database_up 1`, `pulsecast_build_info{`, `go_sql_open_connections{db_name="writer"} 1`, `go_gc_gogc_percent 60`,
	}
	// A job is counted when it has ended, a moment after its results are visible.
	text, missing := "", wanted
	for deadline := time.Now().Add(time.Minute); len(missing) > 0 && time.Now().Before(deadline); {
		text = scrape(t, "http://"+found[1]+"/metrics")
		missing = slices.DeleteFunc(slices.Clone(wanted), func(line string) bool { return strings.Contains(text, "\n"+line) })
	}
	if len(missing) > 0 {
		t.Errorf("no %q", missing)
	}
	if agent, _ := dig(made, "agent", "id").(string); agent == "" || strings.Contains(text, agent) || strings.Contains(text, "Ada") {
		t.Error("the metrics name an agent")
	}
	if t.Failed() {
		t.Log(text)
	}
	if code := p.stop(syscall.SIGTERM); code != 0 {
		t.Errorf("a clean stop: exit code %d:\n%s", code, p.out)
	}
}

func TestAMetricsAddressInUseStopsTheStart(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	settings := []string{"METRICS_ADDR=" + ln.Addr().String(), "DATABASE_URL=" + dbtest.URL(t, database.SQLite)}
	for _, args := range []string{"serve", "worker"} {
		out, err := command(t, settings, args).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "pulsecast: METRICS_ADDR: cannot listen on "+ln.Addr().String()) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v\n%s", args, err, out)
		}
	}
	if out, err := command(t, settings, "agent", "list").CombinedOutput(); err != nil {
		t.Errorf("a command beside the server failed: %v\n%s", err, out)
	}
}

// TestAlertsOfTheWholeProgram checks that a burst of sign-ups is reported once, even over a
// restart, and once more when it is over.
func TestAlertsOfTheWholeProgram(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			heard := make(chan map[string]any, 10)
			room := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var m map[string]any
				if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
					t.Error(err)
				}
				if strings.HasPrefix(m["alert"].(string), "source_") { // the sources of this test never answer
					return
				}
				heard <- m
			}))
			t.Cleanup(room.Close)
			next := func(p *process, state string) {
				t.Helper()
				select {
				case m := <-heard:
					since, _ := m["since"].(string)
					if _, err := time.Parse(time.RFC3339, since); err != nil || m["alert"] != "sign_ups" || m["state"] != state || !strings.Contains(m["text"].(string), p.base) {
						t.Errorf("heard %v, want %s", m, state)
					}
				case <-time.After(30 * time.Second):
					t.Fatalf("nothing heard; want %s\n%s", state, p.out)
				}
			}
			url := dbtest.URL(t, kind)
			db, err := database.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			for range 30 {
				id, at := database.NewID(time.Now()), database.Stored(time.Now())
				exec("INSERT INTO agents (id, handle, name, kind, status, sample, created_at) VALUES (?, ?, 'x', 'agent', 'active', FALSE, ?)", id, id.String(), at)
			}
			settings := []string{"DATABASE_URL=" + url, "ALERT_WEBHOOK_URL=" + room.URL}
			p := startProcess(t, settings, "serve")
			next(p, "firing")
			p.stop(syscall.SIGTERM)
			exec("DELETE FROM agents WHERE kind = 'agent'")
			p = startProcess(t, settings, "serve")
			next(p, "resolved") // the restart repeated no message
			var rows int
			p.until("/api/health", "", func(map[string]any) bool {
				err := db.Reader.NewRaw("SELECT COUNT(*) FROM alerts WHERE name = 'sign_ups'").Scan(t.Context(), &rows)
				return err == nil && rows == 0
			})
		})
	}
}

func scrape(t *testing.T, address string) string {
	t.Helper()
	res, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
