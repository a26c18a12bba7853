package api_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestFullDisk checks what happens when SQLite may not grow. Unlike TestFullFileSystem, it needs no root. Publishing is
// refused as unavailable with Retry-After, health says degraded, and reading still works. Once there is room, the
// refused request with its key is published once.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := start(t, backends[0])
	key := s.register(t, "Ada")
	var pages int
	if err := s.DB.NewRaw("PRAGMA page_count").Scan(t.Context(), &pages); err != nil {
		t.Fatal(err)
	}
	limit := func(pages int) {
		t.Helper()
		if _, err := s.DB.ExecContext(t.Context(), fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	databaseIs := func(want bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); ; {
			health := s.do(t, call{path: "/api/health"})
			database, _ := health.json["database"].(map[string]any)
			if health.status == 200 && database["ok"] == want {
				if !want && health.json["status"] != "degraded" {
					t.Errorf("status %v", health.json["status"])
				}
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("health says %v, want %t", database, want)
			}
		}
	}
	tries, horizon := 0, time.Now().AddDate(0, 1, 0).UTC()
	publish := func() answer {
		header := map[string]string{"Idempotency-Key": fmt.Sprint("try-", tries)}
		return s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, header: header, body: map[string]any{
			"title": "Will it fit?", "thesis": strings.Repeat("long ", 2000), "confidence": 0.5, "horizonAt": horizon,
		}})
	}
	limit(pages)
	databaseIs(true)
	refused := publish()
	for ; refused.status == 200 && tries < 50; refused = publish() { // uses up the free pages
		tries++
	}
	if refused.status != 503 || refused.json["code"] != "unavailable" || refused.header.Get("Retry-After") == "" {
		t.Fatalf("%d %v", refused.status, refused.json)
	}
	databaseIs(false)
	if list := s.do(t, call{path: "/api/predictions"}); list.status != 200 {
		t.Errorf("reading: %d", list.status)
	}
	limit(1 << 20)
	databaseIs(true)
	published := publish()
	if published.status != 200 {
		t.Errorf("with room, the refused key again: %d %v", published.status, published.json)
	}
	if again := publish(); !reflect.DeepEqual(again.json["prediction"], published.json["prediction"]) {
		t.Errorf("the same key again: %v, want %v", again.json, published.json)
	}
}

// TestFullFileSystem fills the disk of a database. Publishing is refused as unavailable, health says degraded and an
// alert is sent. Everything works again once there is room. Then each acknowledged prediction is stored once, and no
// prediction is half stored.
//
// If the disk of Postgres holds only the tables, Postgres refuses statements that need room. If it holds everything,
// Postgres stops because it can't write its log.
func TestFullFileSystem(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size  int // of the disk, in MiB
		begin func(t *testing.T, d *dbtest.Disk) (address string, fill, free func())
	}{
		"sqlite": {32, func(t *testing.T, d *dbtest.Disk) (string, func(), func()) {
			return "sqlite://" + filepath.Join(d.Dir, "pulsecast.db"), d.Fill, d.Free
		}},
		"postgres tables": {64, func(t *testing.T, d *dbtest.Disk) (string, func(), func()) {
			return dbtest.StartPostgres(t).CreateDatabaseOn(d), d.Fill, d.Free
		}},
		"postgres": {192, func(t *testing.T, d *dbtest.Disk) (string, func(), func()) {
			server := dbtest.StartPostgresIn(t, d.Dir)
			free := func() {
				d.Free()
				if !server.Running() { // a service manager would start it too
					server.Start()
				}
			}
			return server.URL("postgres"), func() { d.Fill(); exhaustLog(t, server) }, free
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			disk, err := dbtest.MountDisk(t, c.size)
			if err != nil {
				t.Skipf("NEED_ROOT is not set, and a full disk can't be tried here: %v", err)
			}
			address, fill, free := c.begin(t, disk)
			var alerts heard
			b := startBenchAt(t, address, alerts.listen(t))
			key := b.register(t, "Ada")
			acknowledged := map[string]bool{}
			n := 0
			publish := func() int {
				n++
				title := fmt.Sprintf("Will number %d fit?", n)
				res, body := b.get(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{
					"marketId": nil, "title": title, "thesis": strings.Repeat(rand.Text(), 300), "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
				})})
				switch res.StatusCode {
				case 200:
					acknowledged[title] = true
				case 503:
					if res.Header.Get("Retry-After") == "" || !strings.Contains(body, `"code":"unavailable"`) {
						t.Errorf("Retry-After %q: %.300s", res.Header.Get("Retry-After"), body)
					}
				default:
					t.Errorf("%d: %.300s", res.StatusCode, body)
				}
				return res.StatusCode
			}
			health := func(want string) {
				t.Helper()
				b.until(t, "health says "+want, func() bool {
					_, text := b.get(t, call{path: "/api/health"})
					return strings.Contains(text, want)
				})
			}
			if publish() != 200 {
				t.Fatal("the first publication failed")
			}
			fill()
			b.until(t, "publishing is refused", func() bool { return publish() == 503 })
			health(`"status":"degraded"`)
			if res, _ := b.get(t, call{path: "/readyz"}); res.StatusCode != 200 {
				t.Errorf("readyz: %d", res.StatusCode)
			}
			b.until(t, "an alert is sent", func() bool {
				b.ahead.Add(int64(time.Second)) // it is sent after 15 s
				return alerts.has("firing")
			})
			free()
			b.until(t, "publishing works", func() bool { return publish() == 200 })
			health(`"database":{"ok":true`)
			b.until(t, "the alert is over", func() bool { return alerts.has("resolved") })
			var titles []string
			if err := b.DB.NewRaw("SELECT p.title FROM predictions AS p JOIN results AS r ON r.agent_id = p.agent_id AND r.id = p.id").Scan(t.Context(), &titles); err != nil {
				t.Fatal(err)
			}
			missing := len(acknowledged)
			for _, title := range titles {
				if acknowledged[title] {
					missing--
				}
			}
			var others int // rows that are in only one of the two tables
			if err := b.DB.NewRaw("SELECT (SELECT count(*) FROM predictions) + (SELECT count(*) FROM results) - 2 * ?", len(titles)).Scan(t.Context(), &others); err != nil {
				t.Fatal(err)
			}
			if slices.Sort(titles); missing != 0 || others != 0 || len(slices.Compact(titles)) != len(titles) {
				t.Errorf("%d of %d acknowledged predictions are missing, %d rows are half stored; there are %d", missing, len(acknowledged), others, len(titles))
			}
		})
	}
}

// exhaustLog makes Postgres begin new log files until there is no room for another one.
func exhaustLog(t *testing.T, server *dbtest.Postgres) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), outageWait)
	defer cancel()
	conn, err := pgx.Connect(ctx, server.URL("postgres"))
	for err == nil {
		_, err = conn.Exec(ctx, "CREATE TEMPORARY TABLE IF NOT EXISTS t (n int); DROP TABLE t; SELECT pg_switch_wal()")
	}
	if ctx.Err() != nil {
		t.Fatal("Postgres doesn't run out of room for its log")
	}
}

// heard is an alert webhook that keeps the requests it receives.
type heard struct {
	mu    sync.Mutex
	texts []string
}

func (h *heard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var text strings.Builder
	_ = r.Write(&text)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.texts = append(h.texts, text.String())
	w.WriteHeader(http.StatusNoContent)
}

// listen starts the webhook and returns the setting that makes the service send alerts to it.
func (h *heard) listen(t *testing.T) func(*config.Config) {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return func(c *config.Config) { c.AlertWebhookURL = config.Secret(server.URL) }
}

// has reports whether an alert about the database has come with this state, "firing" or "resolved".
func (h *heard) has(state string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.texts, func(text string) bool {
		return strings.Contains(text, `"alert":"database"`) && strings.Contains(text, `"state":"`+state+`"`)
	})
}
