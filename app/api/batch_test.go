package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/market"
)

// batchOf returns the body of a batch of n predictions, with dryRun if it is set.
func batchOf(n int, change map[string]any) map[string]any {
	items := make([]any, n)
	for i := range items {
		items[i] = forecast(map[string]any{"title": fmt.Sprintf("Number %d?", i)})
	}
	body := map[string]any{"predictions": items}
	for name, value := range change {
		body[name] = value
	}
	return body
}

func (s *service) batch(t *testing.T, key string, body any, header ...string) answer {
	t.Helper()
	c := call{method: "POST", path: "/api/predictions/batch", bearer: key, body: body, header: map[string]string{}}
	for i := 0; i < len(header); i += 2 {
		c.header[header[i]] = header[i+1]
	}
	return s.do(t, c)
}

// TestBatch checks that results are in the order of the items, and that a bad item fails alone.
func TestBatch(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		dated := sibling("cup", "red", 0.4, 1000)
		dated.ClosesAt = time.Now().AddDate(0, 0, 9).UTC().Truncate(time.Second)
		undated := sibling("cup", "blue", 0.4, 1000)
		undated.ClosesAt = time.Time{}
		s.observe(t, []market.Market{dated, undated})
		on := func(id string) map[string]any {
			return map[string]any{"marketId": id, "thesis": "Because.", "confidence": 0.5}
		}
		titled := on("blue")
		titled["horizonAt"] = forecast(nil)["horizonAt"]
		misspelled, dry := forecast(map[string]any{"horizon_at": "x"}), forecast(map[string]any{"dryRun": true})
		body := map[string]any{"mood": "sunny", "predictions": []any{
			on("red"), on("blue"), titled, 7, misspelled, dry, forecast(map[string]any{"mood": "sunny"}), forecast(map[string]any{"title": ""}),
			forecast(map[string]any{"reveal": ""}),
		}}
		want := []struct {
			status int
			says   string
		}{
			{200, `"title":"Will red win?"`}, {422, "is required for market blue, which has no scheduled close"}, {200, "your 2nd on this event"},
			{422, "must hold objects, got a number"}, {422, "did you mean horizonAt?"}, {422, "belongs beside predictions"},
			{200, `Unknown field \"mood\"`}, {422, `"field":"title"`}, {422, `"field":"reveal"`},
		}
		for _, header := range [][]string{nil, {"Idempotency-Key", "k"}, {"Idempotency-Key", "k"}} {
			body["dryRun"] = header == nil
			a := s.batch(t, key, body, header...).fine()
			if a.count("results") != len(want) || !strings.Contains(a.text("warnings", 0), `"mood"`) {
				t.Fatalf("%s", a.raw)
			}
			for i, w := range want {
				result, err := json.Marshal(a.at("results", i))
				if err != nil {
					t.Fatal(err)
				}
				if a.text("results", i, "status") != fmt.Sprint(w.status) || !strings.Contains(string(result), w.says) ||
					(a.at("results", i, "prediction") == nil) != (w.status != 200) || (a.at("results", i, "error") == nil) != (w.status == 200) {
					t.Errorf("%d: want %d and %s in %s", i, w.status, w.says, result)
				}
			}
			if got := a.text("results", 0, "prediction", "horizonAt"); got != dated.ClosesAt.Format(time.RFC3339) {
				t.Errorf("horizon %s", got)
			}
		}
		if n := s.do(t, call{path: "/api/predictions"}).fine().count("predictions"); n != 3 {
			t.Errorf("%d stored", n)
		}
		body["predictions"] = []any{on("red")}
		s.batch(t, key, body, "Idempotency-Key", "k").refused(422, "idempotency_mismatch")
	})
}

func TestBatchRefusesAsAWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		for _, c := range []struct {
			body          any
			status        int
			code, teaches string
		}{
			{map[string]any{}, 422, "invalid_request", "predictions is required"},
			{map[string]any{"predictions": []any{}}, 422, "invalid_request", "predictions is empty"},
			{map[string]any{"predictions": map[string]any{}}, 422, "invalid_request", "must be an array"},
			{batchOf(101, nil), 422, "invalid_request", "at most 100 items, got 101"},
			{batchOf(1, map[string]any{"dry_run": true}), 422, "invalid_request", "did you mean dryRun?"},
			{batchOf(1, map[string]any{"dryRun": "yes"}), 422, "invalid_request", "must be true or false"},
			{`[]`, 400, "invalid_json", "one JSON object"},
			{`{"predictions":[{"title":"a","title":"b"}]}`, 400, "invalid_json", "twice"},
			{`{"predictions":["` + strings.Repeat("x", 1<<20) + `"]}`, 413, "payload_too_large", "1048576 bytes. Send a shorter one"},
		} {
			if detail := s.batch(t, key, c.body).refused(c.status, c.code); !strings.Contains(detail, c.teaches) {
				t.Errorf("want %q in %q", c.teaches, detail)
			}
		}
		s.batch(t, "", batchOf(1, nil)).refused(401, "missing_credentials")
		s.do(t, call{method: "POST", path: "/api/predictions/batch?dry_run=true", bearer: key, body: batchOf(1, nil)}).refused(400, "invalid_parameter")
		large := batchOf(90, nil)
		for _, item := range large["predictions"].([]any) {
			item.(map[string]any)["thesis"] = strings.Repeat("x", 10_000)
		}
		a := s.batch(t, key, large).fine()
		if a.count("results") != 90 || a.text("results", 89, "status") != "200" {
			t.Errorf("%.500s", a.raw)
		}
	})
}

// TestBatchCountsAsItsItems checks that a batch with more items than the limit has left is refused as a
// whole.
func TestBatchCountsAsItsItems(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		db := s.DB
		made := s.register(t, "Ada") // counts against the address
		stored := func() (n int) {
			if err := db.NewRaw("SELECT COUNT(*) FROM predictions").Scan(t.Context(), &n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		detail := s.batch(t, made, batchOf(21, nil)).refused(422, "invalid_request") // and counts as one
		if !strings.Contains(detail, "at most 20 items") {
			t.Error(detail)
		}
		first := s.batch(t, made, batchOf(12, nil), "Idempotency-Key", "k").fine()
		if got := first.header.Get("RateLimit"); !strings.HasPrefix(got, `"writes";r=7;`) {
			t.Errorf("after 13: %s", got)
		}
		if again := s.batch(t, made, batchOf(12, nil), "Idempotency-Key", "k").fine(); string(again.raw) != string(first.raw) {
			t.Errorf("again: %s", again.raw)
		}
		s.batch(t, made, batchOf(12, map[string]any{"dryRun": true})).fine()
		a := s.batch(t, made, batchOf(6, nil))
		if detail := a.refused(429, "rate_limited"); !strings.Contains(detail, "4 publications are left of 20/h, and these are 6.") {
			t.Error(detail)
		}
		// One comes back every 180 s; the time since the first batch counts too.
		if wait, err := strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 1 || wait > 180 || stored() != 12 {
			t.Errorf("Retry-After %s, %d stored", a.header.Get("Retry-After"), stored())
		}
		detail = s.batch(t, made, batchOf(6, nil), "Idempotency-Key", "l").refused(429, "rate_limited")
		if !strings.Contains(detail, "3 publications are left of 20/h, and these are 6. No request with this Idempotency-Key was stored so far.") {
			t.Error(detail)
		}
		s.batch(t, made, batchOf(12, nil), "Idempotency-Key", "k").fine() // also while fewer are left
		s.batch(t, made, batchOf(2, nil)).fine()
		if stored() != 14 {
			t.Errorf("%d stored", stored())
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 20, Per: time.Hour} })
}

// bothAsk delays every transaction that publishes until two requests have looked for a stored answer and found none, or
// for a second, because a repeat that waits doesn't look.
type bothAsk struct {
	on    atomic.Bool
	asked atomic.Int64
	both  chan struct{}
}

func (b *bothAsk) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if b.on.Load() && strings.Contains(e.Query, "agent_tallies") {
		select {
		case <-b.both:
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
	}
	return ctx
}

func (b *bothAsk) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if strings.Contains(e.Query, "FROM idempotency_keys AS k") && b.asked.Add(1) == 2 {
		close(b.both)
	}
}

// TestBatchRepeatInFlight checks that a batch that is sent again while the first is being stored counts as one and
// gets the first one's answer: on one node whether or not the limit has enough left for both, and on another node.
func TestBatchRepeatInFlight(t *testing.T) {
	t.Parallel()
	for _, b := range backends {
		for name, c := range map[string]struct {
			limit, nodes int
			left         string // after the batch, its repeat and a dry run
		}{"enough for both": {40, 1, "26"}, "enough for one": {20, 1, "6"}, "two nodes": {40, 2, "26"}} {
			if c.nodes > 1 && !b.redis {
				continue
			}
			t.Run(b.name+", "+name, func(t *testing.T) {
				t.Parallel()
				delay := &bothAsk{both: make(chan struct{})}
				cfg := configure(t, b, func(cfg *config.Config) { cfg.RateLimitWrites = config.Rate{N: c.limit, Per: time.Hour} })
				options := app.Options{Queries: delay}
				s := run(t, cfg, options)
				nodes := []*service{s, s}
				if c.nodes > 1 {
					nodes[1] = run(t, cfg, options)
				}
				key := s.register(t, "Ada")
				delay.on.Store(true)
				var answers [2]answer
				var all sync.WaitGroup
				for i, node := range nodes {
					all.Go(func() { answers[i] = node.batch(t, key, batchOf(12, nil), "Idempotency-Key", "k") })
				}
				all.Wait()
				if one, two := answers[0].fine(), answers[1].fine(); string(one.raw) != string(two.raw) {
					t.Errorf("%.300s\n%.300s", one.raw, two.raw)
				}
				if n, err := s.DB.NewSelect().Table("predictions").Count(t.Context()); n != 12 || err != nil {
					t.Errorf("%d stored, %v", n, err)
				}
				after := s.batch(t, key, batchOf(1, map[string]any{"dryRun": true})).fine()
				if got := after.header.Get("RateLimit"); !strings.HasPrefix(got, `"writes";r=`+c.left+";") {
					t.Errorf("%s, want %s left", got, c.left)
				}
			})
		}
	}
}
