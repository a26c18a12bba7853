package api_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestLockedTable checks the service while an ALTER TABLE or a LOCK TABLE locks the predictions. Publishing, and
// reads whose answers aren't in memory, are refused as unavailable well before the request's deadline. All other
// requests are answered. A publication that is repeated afterwards is stored once.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	for name, pooled := range map[string]bool{"direct": false, "pooled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := dbtest.URL(t, database.Postgres)
			address := direct
			if pooled {
				address = dbtest.StartPooler(t, direct, "transaction")
			}
			b := startBenchAt(t, address, func(c *config.Config) { c.LogFormat = "text" })
			key := b.register(t, "Ada")
			id := b.publish(t, key, "rain", nil)
			if res, _ := b.get(t, call{path: "/api/predictions"}); res.StatusCode != 200 {
				t.Fatal(res.StatusCode)
			}
			b.ahead.Add(int64(time.Minute)) // so that the copy is no longer fresh
			unlock := lockPredictions(t, direct)
			publish := call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil), header: map[string]string{"Idempotency-Key": "locked"}}
			var all sync.WaitGroup
			for _, c := range []struct {
				call
				want int
			}{
				{publish, 503},
				{call{method: "POST", path: "/api/predictions/batch", bearer: key, body: map[string]any{"predictions": []any{forecast(nil)}}}, 503},
				{call{path: "/api/predictions?limit=7"}, 503},
				{call{path: "/api/predictions/" + id}, 503},
				{call{path: "/predictions/" + id}, 503},
				{call{path: "/api/predictions"}, 200}, // the last good copy
				{call{path: "/api/intelligence/markets"}, 200},
				{call{path: "/api/health"}, 200},
			} {
				all.Go(func() {
					res, body := b.get(t, c.call)
					if res.StatusCode != c.want || (c.want == 503) != (res.Header.Get("Retry-After") != "") {
						t.Errorf("%s %s: %d, Retry-After %q: %.300s", c.method, c.path, res.StatusCode, res.Header.Get("Retry-After"), body)
					}
					if c.want == 503 && strings.HasPrefix(c.path, "/api/") && !strings.Contains(body, `"code":"unavailable"`) {
						t.Errorf("%s %s: %.300s", c.method, c.path, body)
					}
				})
			}
			all.Wait()
			// Nothing waits until the deadline of a request or of a batch. Without a place for its read, a page has no cause.
			if log := b.logged.text(); strings.Count(log, "lock timeout (SQLSTATE 55P03)") < 4 || strings.Contains(log, "deadline") {
				t.Errorf("the causes of the refusals: %s", log)
			}
			unlock()
			for range 2 {
				if res, body := b.get(t, publish); res.StatusCode != http.StatusOK {
					t.Errorf("publishing afterwards: %d %.300s", res.StatusCode, body)
				}
			}
			var stored int
			if err := b.DB.NewRaw("SELECT count(*) FROM predictions").Scan(t.Context(), &stored); err != nil || stored != 2 {
				t.Errorf("%d predictions are stored, want 2: %v", stored, err)
			}
		})
	}
}

// lockPredictions locks the table like an ALTER TABLE, until unlock is called.
func lockPredictions(t *testing.T, address string) (unlock func()) {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE predictions IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
	}
}
