package api_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
)

// TestExportHoldsEverything checks that the file has every prediction of its caller once, and none of other
// agents.
func TestExportHoldsEverything(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key, other := s.register(t, "Ada"), s.register(t, "Bob")
		want := map[string]bool{}
		for i := range 103 { // more than one page
			a := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(map[string]any{"title": fmt.Sprintf("=SUM(%d), \"quoted\"", i)})})
			want[a.fine().text("prediction", "id")] = true
		}
		s.do(t, call{method: "POST", path: "/api/predictions", bearer: other, body: forecast(nil)}).fine()

		a := s.do(t, call{path: "/api/agents/me/export", bearer: key})
		if a.status != http.StatusOK || !strings.Contains(a.header.Get("Content-Disposition"), "pulsecast-ada.jsonl") ||
			a.header.Get("Cache-Control") != "private, no-store" || a.header.Get("Link") != "" || strings.Contains(string(a.raw), key) {
			t.Errorf("%d, %v", a.status, a.header)
		}
		var kinds []string
		found := map[string]bool{}
		for line := range strings.Lines(string(a.raw)) {
			var row struct {
				Type       string
				Prediction struct{ ID string }
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			if len(kinds) == 0 || kinds[len(kinds)-1] != row.Type {
				kinds = append(kinds, row.Type)
			}
			if row.Type == "prediction" {
				found[row.Prediction.ID] = true
			}
		}
		if fmt.Sprint(kinds) != "[agent key prediction end]" || len(found) != len(want) {
			t.Errorf("%v, %d predictions", kinds, len(found))
		}

		a = s.do(t, call{path: "/api/agents/me/export?format=csv", bearer: key})
		rows, err := csv.NewReader(strings.NewReader(string(a.raw))).ReadAll()
		if err != nil || len(rows) != 104 || rows[0][0] != "id" {
			t.Fatalf("%v, %d rows", err, len(rows))
		}
		for _, row := range rows[1:] {
			if !want[row[0]] || !found[row[0]] || !strings.HasPrefix(row[2], "'=SUM(") {
				t.Errorf("row %q", row)
			}
			delete(want, row[0])
		}
		if len(want) != 0 {
			t.Errorf("%d are missing", len(want))
		}
		s.do(t, call{path: "/api/agents/me/export"}).refused(http.StatusUnauthorized, "missing_credentials")
		s.do(t, call{path: "/api/agents/me/export?format=xml", bearer: key}).refused(http.StatusBadRequest, "invalid_parameter")
		s.do(t, call{path: "/api/agents/me/export?cursor=x", bearer: key}).refused(http.StatusBadRequest, "invalid_parameter")
	})
}

// publishMany publishes n predictions of an agent.
func (s *service) publishMany(t *testing.T, key string, n int) {
	t.Helper()
	for ; n > 0; n -= 50 {
		var list []any
		for range min(n, 50) {
			list = append(list, forecast(nil))
		}
		s.do(t, call{method: "POST", path: "/api/predictions/batch", bearer: key, body: map[string]any{"predictions": list}}).fine()
	}
}

// TestExportCostsItsPages checks that an export costs the units of all its pages, and that it is refused before
// its first byte if fewer are left. A limit below its cost doesn't forbid it.
func TestExportCostsItsPages(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int][]string{
		60: {"42", "24", "6", "refused"}, // 10 units, and 4 for each of two pages
		12: {"0", "refused"},
	} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			each(t, func(t *testing.T, s *service) {
				key := s.register(t, "Ada")
				s.publishMany(t, key, 103)
				for i, left := range want {
					a := s.do(t, call{path: "/api/agents/me/export", bearer: key})
					if left == "refused" {
						a.refused(http.StatusTooManyRequests, "rate_limited")
						continue
					}
					if got := a.header.Get("RateLimit"); a.status != 200 || !strings.HasPrefix(got, `"reads";r=`+left+";") || !strings.Contains(string(a.raw), `{"type":"end"`) {
						t.Errorf("export %d: %d, RateLimit %s, want %s left", i, a.status, got, left)
					}
				}
			}, func(c *config.Config) { c.RateLimitReads = config.Rate{N: limit, Per: time.Hour} })
		})
	}
}

// pages is a hook that holds up the queries of exports' pages until goOn is closed.
type pages struct{ begun, goOn chan struct{} }

func (p *pages) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if strings.HasPrefix(e.Query, "SELECT") && strings.Contains(e.Query, "LIMIT 101") {
		p.begun <- struct{}{}
		<-p.goOn
	}
	return ctx
}

func (p *pages) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestExportsWaitInTheLane checks that an export takes a place in the lane while it reads a page, so that exports
// can't outweigh the other reads.
func TestExportsWaitInTheLane(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			hook := &pages{make(chan struct{}, 100), make(chan struct{})}
			s := run(t, configure(t, b), app.Options{Queries: hook})
			places := max(runtime.GOMAXPROCS(0)/2, 1)
			if b.kind == database.Postgres {
				places = min(places, 6)
			}
			var reads sync.WaitGroup
			release := sync.OnceFunc(func() { close(hook.goOn) })
			defer release()
			for i := range places {
				read, end := call{path: "/api/agents/me/export", bearer: s.register(t, fmt.Sprint("Ada ", i))}, `{"type":"end"`
				if i >= 2 { // no more exports read a page at a time
					read, end = call{path: fmt.Sprintf("/api/predictions?limit=100&agent=ada-%d", i)}, `"ok":true`
				}
				reads.Go(func() {
					if got := sent(s.request(t, read)); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, end) {
						t.Error(got)
					}
				})
				<-hook.begun
			}
			search := call{path: "/api/agents?q=word"}
			if detail := s.do(t, search).refused(http.StatusServiceUnavailable, "unavailable"); !strings.Contains(detail, "Too many slow answers") {
				t.Error(detail)
			}
			release()
			reads.Wait()
			s.do(t, search).fine()
		})
	}
}
