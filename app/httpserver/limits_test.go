package httpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/problem"
)

// clock is a time that moves only when a test moves it.
type clock struct{ ns atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.ns.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.ns.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.ns.Add(int64(d)) }

func perMinute(n int) config.Rate { return config.Rate{N: n, Per: time.Minute} }

func limitRoutes(s *Server) {
	s.App.Get("/api/signals", s.Limits.Snapshot(), ok)
	s.App.Get("/api/list", s.OptionalAgent(), s.Limits.Reads(), ok)
	s.App.Post("/api/publish", s.RequireAgent(), s.Limits.Writes(), ok)
}

func TestLimitsInProcess(t *testing.T) {
	t.Parallel()
	clk := newClock()
	n := run(t, func(o *Options) {
		o.Now = clk.now
		o.Config.TrustedProxies = "127.0.0.1"
		o.Config.RateLimitReads = perMinute(3)
		o.Config.RateLimitWrites = perMinute(2)
		o.Config.RateLimitSnapshot = config.Rate{N: 2, Per: time.Second}
	}, limitRoutes)
	from := func(addr string) string { return "X-Forwarded-For: " + addr }
	const key = "Authorization: Bearer good"
	steps := []struct {
		method, path      string
		headers           []string
		status            int
		limit, retryAfter string
	}{
		{"GET", "/api/list", []string{from("192.0.2.1")}, 200, `"reads";r=2;t=20`, ""},
		{"HEAD", "/api/list", []string{from("192.0.2.1")}, 200, `"reads";r=1;t=20`, ""},
		{"GET", "/api/list", []string{from("192.0.2.1")}, 200, `"reads";r=0;t=20`, ""},
		{"GET", "/api/list", []string{from("192.0.2.1")}, 429, `"reads";r=0;t=20`, "20"},
		{"GET", "/api/list", []string{from("192.0.2.2")}, 200, `"reads";r=2;t=20`, ""},
		{"GET", "/api/list", []string{from("192.0.2.1"), key}, 200, `"reads";r=2;t=20`, ""}, // a key is not its address
		{"GET", "/api/list", []string{from("192.0.2.9"), key}, 200, `"reads";r=1;t=20`, ""},
		{"GET", "/api/list", []string{from("2001:db8:0:1::1")}, 200, `"reads";r=2;t=20`, ""},
		{"GET", "/api/list", []string{from("2001:db8:0:1:ffff::2")}, 200, `"reads";r=1;t=20`, ""}, // same /64
		{"GET", "/api/list", []string{from("2001:db8:0:2::1")}, 200, `"reads";r=2;t=20`, ""},
		{"POST", "/api/publish", []string{key}, 200, `"writes";r=1;t=30`, ""},
		{"POST", "/api/publish", []string{key}, 200, `"writes";r=0;t=30`, ""},
		{"POST", "/api/publish", []string{key}, 429, `"writes";r=0;t=30`, "30"},
		{"GET", "/api/signals", []string{from("192.0.2.1")}, 200, "", ""},
		{"GET", "/api/signals", []string{from("192.0.2.1")}, 200, "", ""},
		{"GET", "/api/signals", []string{from("192.0.2.1")}, 429, `"snapshot";r=0;t=1`, "1"},
		{"GET", "/api/signals", []string{from("192.0.2.2")}, 200, "", ""},
	}
	for i, s := range steps {
		r := n.do(t, s.method, s.path, s.headers...)
		if r.StatusCode != s.status || r.Header.Get("RateLimit") != s.limit || r.Header.Get("Retry-After") != s.retryAfter {
			t.Errorf("step %d: %d, RateLimit %s, Retry-After %s: %s", i, r.StatusCode, r.Header.Get("RateLimit"), r.Header.Get("Retry-After"), r.body)
		}
		checkFields(t, r.Header)
		if s.status == 429 && r.code(t) != "rate_limited" {
			t.Errorf("step %d: %s", i, r.body)
		}
		if policy := r.Header.Get("RateLimit-Policy"); strings.HasPrefix(s.limit, `"reads"`) && policy != `"reads";q=3;w=60` {
			t.Errorf("step %d: RateLimit-Policy %s", i, policy)
		}
	}
	clk.advance(20 * time.Second)
	if r := n.do(t, "GET", "/api/list", from("192.0.2.1")); r.StatusCode != 200 {
		t.Errorf("after the time it named: %d", r.StatusCode)
	}
	if r := n.do(t, "GET", "/api/list", from("192.0.2.1")); r.StatusCode != 429 {
		t.Errorf("one more: %d", r.StatusCode)
	}
}

// checkFields fails unless RateLimit and RateLimit-Policy are lists of strings with integer
// parameters (draft-ietf-httpapi-ratelimit-headers-11), about the same policy.
func checkFields(t *testing.T, h http.Header) {
	t.Helper()
	if h.Get("RateLimit") == "" {
		return
	}
	limit, policy := oneItem(t, h["Ratelimit"]), oneItem(t, h["Ratelimit-Policy"])
	if limit.Value != policy.Value || limit.Value == "" {
		t.Errorf("the limit %v is of another policy than %v", limit.Value, policy.Value)
	}
	remaining, quota := parameter(t, limit, "r"), parameter(t, policy, "q")
	next, window := parameter(t, limit, "t"), parameter(t, policy, "w")
	if remaining < 0 || remaining >= quota || next < 0 || next > window || window < 1 {
		t.Errorf("%v does not fit %v", h["Ratelimit"], h["Ratelimit-Policy"])
	}
	if wait, err := strconv.ParseInt(cmp.Or(h.Get("Retry-After"), "86400"), 10, 64); err != nil || wait < next {
		t.Errorf("Retry-After %d is before t=%d", wait, next)
	}
}

func oneItem(t *testing.T, field []string) httpsfv.Item {
	t.Helper()
	list, err := httpsfv.UnmarshalList(field)
	if err != nil || len(list) != 1 {
		t.Fatalf("%q: %v", field, err)
	}
	item, ok := list[0].(httpsfv.Item)
	if _, text := item.Value.(string); !ok || !text {
		t.Fatalf("%q is no string", field)
	}
	return item
}

func parameter(t *testing.T, item httpsfv.Item, name string) int64 {
	t.Helper()
	value, _ := item.Params.Get(name)
	n, ok := value.(int64)
	if !ok {
		t.Errorf("%v: %s is %v", item.Value, name, value)
	}
	return n
}

func TestLimitsOff(t *testing.T) {
	t.Parallel()
	n := run(t, nil, limitRoutes) // the zero Rate is off
	for range 5 {
		if r := n.do(t, "GET", "/api/list"); r.StatusCode != 200 || r.Header.Get("RateLimit") != "" || r.Header.Get("RateLimit-Policy") != "" {
			t.Fatalf("%d %v", r.StatusCode, r.Header)
		}
	}
	if err := n.Limits.Failure(context.Background(), netip.Addr{}); err != nil {
		t.Error(err)
	}
}

func TestFailuresNeverBlockAValidKey(t *testing.T) {
	t.Parallel()
	clk := newClock()
	n := run(t, func(o *Options) {
		o.Now = clk.now
		o.Config.RateLimitFailures = perMinute(3)
	}, func(s *Server) {
		limitRoutes(s)
		s.App.Get("/api/filtered", s.EdgeFilter(), ok)
	})
	steps := []struct {
		path, bearer string
		status       int
	}{
		{"/api/list", "bad", 401}, {"/api/list", "good", 200}, {"/api/list", "disabled", 403}, {"/api/list", "down", 503},
		{"/api/filtered", "bad", 403}, // a guess through the edge filter is a failed credential too
		{"/api/list", "worse", 401}, {"/api/list", "bad", 429}, {"/api/filtered", "bad", 200},
		{"/api/list", "good", 200}, {"/api/list", "", 200},
	}
	for i, s := range steps {
		var headers []string
		if s.bearer != "" {
			headers = append(headers, "Authorization: Bearer "+s.bearer)
		}
		if s.path == "/api/filtered" && s.status == 403 {
			headers = append(headers, "User-Agent: curl/8.5")
		}
		if r := n.do(t, "GET", s.path, headers...); r.StatusCode != s.status {
			t.Errorf("step %d: %d, want %d: %s", i, r.StatusCode, s.status, r.body)
		}
	}
	clk.advance(20 * time.Second)
	if r := n.do(t, "GET", "/api/list", "Authorization: Bearer bad"); r.StatusCode != 401 {
		t.Errorf("after a while: %d", r.StatusCode)
	}
}

func TestBucketsAreBounded(t *testing.T) {
	t.Parallel()
	b := newBuckets()
	now := newClock().now().UnixNano()
	rate := perMinute(1)
	for i := range 3 * bucketShards * shardSize {
		addr := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
		if v := b.take(addrKey(addr), rate, now, 1); !v.ok {
			t.Fatalf("%s was refused its first request", addr)
		}
	}
	for i := range b.shards {
		if n := len(b.shards[i].spent); n == 0 || n > shardSize {
			t.Fatalf("shard %d holds %d", i, n)
		}
	}
}

func TestBucketTakeDoesNotAllocate(t *testing.T) {
	b := newBuckets()
	key, now := addrKey(netip.MustParseAddr("2001:db8::1")), time.Now().UnixNano()
	if n := testing.AllocsPerRun(100, func() { now += 1e9; b.take(key, perMinute(100), now, 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func redisClient(t *testing.T) redis.UniversalClient {
	t.Helper()
	address := os.Getenv("TEST_REDIS_URL")
	if address == "" {
		t.Skip("TEST_REDIS_URL is not set; run make test")
	}
	opts, err := redis.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	c := redis.NewClient(opts)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestLimitsAddUpOverNodes(t *testing.T) {
	t.Parallel()
	rdb, prefix := redisClient(t), "test:"+uuid.NewString()+":"
	adjust := func(o *Options) {
		o.Redis = rdb
		o.Config.RateLimitReads = perMinute(4)
		o.Config.RateLimitFailures = perMinute(2)
	}
	routes := func(s *Server) {
		s.Limits.prefix, s.Limits.patience = prefix, 20*time.Second // on a busy machine too
		limitRoutes(s)
	}
	nodes := []*node{run(t, adjust, routes), run(t, adjust, routes)}
	for i := range 6 {
		r := nodes[i%2].do(t, "GET", "/api/list")
		want, status := fmt.Sprintf(`"reads";r=%d;`, max(3-i, 0)), 200
		if i >= 4 {
			status = 429
		}
		if r.StatusCode != status || !strings.HasPrefix(r.Header.Get("RateLimit"), want) {
			t.Errorf("request %d: %d, RateLimit %s", i, r.StatusCode, r.Header.Get("RateLimit"))
		}
		if wait := r.Header.Get("Retry-After"); status == 429 && wait != "15" {
			t.Errorf("Retry-After %q", wait)
		}
	}
	for i, want := range []int{401, 401, 429} {
		if r := nodes[i%2].do(t, "GET", "/api/list", "Authorization: Bearer bad"); r.StatusCode != want {
			t.Errorf("failure %d: %d", i, r.StatusCode)
		}
	}
	if r := nodes[0].do(t, "GET", "/api/list", "Authorization: Bearer good"); r.StatusCode != 200 {
		t.Errorf("a valid key: %d %s", r.StatusCode, r.body)
	}
	if keys := rdb.Keys(t.Context(), "rate:"+prefix+"*").Val(); len(keys) != 3 {
		t.Errorf("keys %v", keys)
	} else if ttl := rdb.TTL(t.Context(), keys[0]).Val(); ttl <= 0 || ttl > 2*time.Minute {
		t.Errorf("key lives %s", ttl)
	}
}

// TestEndedRequestBlamesNoRedis checks that a request that ended early is counted in this process, and that
// the next request asks Redis again.
func TestEndedRequestBlamesNoRedis(t *testing.T) {
	t.Parallel()
	var logs strings.Builder
	l := newLimits(&config.Config{RateLimitReads: perMinute(10)}, redisClient(t), slog.New(slog.NewTextHandler(&logs, nil)), newClock().now)
	l.prefix, l.patience = "test:"+uuid.NewString()+":", 20*time.Second
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	key := addrKey(netip.MustParseAddr("192.0.2.1"))
	if v := l.take(ended, &l.reads, key, 1); !v.ok || v.remaining != 9 {
		t.Errorf("%+v", v)
	}
	if v := l.take(t.Context(), &l.reads, key, 3); v.remaining != 7 || logs.Len() > 0 {
		t.Errorf("the next one wasn't counted in Redis: %+v, %s", v, logs.String())
	}
}

func TestLimitsWithoutRedisCountPerProcess(t *testing.T) {
	t.Parallel()
	down := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = down.Close() })
	clk := newClock()
	n := run(t, func(o *Options) {
		o.Redis, o.Now = down, clk.now
		o.Config.RateLimitReads = perMinute(2)
	}, limitRoutes)
	warnings := func() int { return strings.Count(n.logs.text(), "redis does not answer") }
	for i, want := range []int{200, 200, 429} {
		if r := n.do(t, "GET", "/api/list"); r.StatusCode != want {
			t.Errorf("request %d: %d", i, r.StatusCode)
		}
		clk.advance(2 * time.Second) // so that Redis is asked again
	}
	if got := warnings(); got != 1 {
		t.Errorf("%d warnings within a minute", got)
	}
	clk.advance(time.Minute)
	if n.do(t, "GET", "/api/list"); warnings() != 2 {
		t.Errorf("%d warnings after a minute", warnings())
	}
}

// attempts counts the commands that a client sends to Redis, and keeps the longest time that it may wait
// for an answer.
type attempts struct {
	count   atomic.Int32
	longest atomic.Int64
}

func (a *attempts) DialHook(next redis.DialHook) redis.DialHook { return next }

func (a *attempts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (a *attempts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if strings.HasPrefix(cmd.Name(), "eval") { // a command other than those that begin a connection
			a.count.Add(1)
		}
		if until, ok := ctx.Deadline(); !ok || time.Until(until) > time.Duration(a.longest.Load()) {
			a.longest.Store(int64(time.Until(until)))
		}
		return next(ctx, cmd)
	}
}

// TestFrozenRedis checks that a Redis that accepts connections but doesn't answer is asked by one request
// in a second, for 50 ms at most. The other requests are counted in this process.
func TestFrozenRedis(t *testing.T) {
	t.Parallel()
	server := cachetest.StartRedis(t)
	shared, err := cache.Open(server.URL(), "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = shared.Close() })
	var asked attempts
	shared.Redis().AddHook(&asked)
	clk := newClock()
	l := newLimits(&config.Config{RateLimitReads: perMinute(1000)}, shared.Redis(), slog.New(slog.DiscardHandler), clk.now)
	l.patience = 20 * time.Second
	one := func() {
		if v := l.take(t.Context(), &l.reads, bucketKey{}, 1); !v.ok {
			t.Errorf("refused: %+v", v)
		}
	}
	one()
	if asked.count.Load() == 0 {
		t.Fatal("Redis wasn't asked")
	}
	asked.longest.Store(0)
	l.patience = redisPatience
	server.Freeze()
	for range 3 {
		before := asked.count.Load()
		var all sync.WaitGroup
		for range 100 {
			all.Go(one)
		}
		all.Wait()
		n, longest := asked.count.Load()-before, time.Duration(asked.longest.Load())
		if n < 1 || longest > 50*time.Millisecond {
			t.Errorf("asked %d times, for up to %s", n, longest)
		}
		clk.advance(redisRest)
	}
	before := asked.count.Load()
	for range 100 {
		one()
	}
	if n := asked.count.Load() - before; n != 1 {
		t.Errorf("%d of 100 consecutive requests asked the frozen Redis, want 1", n)
	}
	server.Thaw()
	clk.advance(redisRest)
	l.patience = 20 * time.Second
	before = asked.count.Load()
	for range 10 {
		one()
	}
	if n := asked.count.Load() - before; n < 10 {
		t.Errorf("%d of 10 requests asked Redis after it came back", n)
	}
}

func TestFailureTellsWhenToComeBack(t *testing.T) {
	t.Parallel()
	l := newLimits(&config.Config{RateLimitFailures: perMinute(1)}, nil, nil, newClock().now)
	addr := netip.MustParseAddr("192.0.2.1")
	if err := l.Failure(context.Background(), addr); err != nil {
		t.Fatal(err)
	}
	p, isProblem := errors.AsType[*problem.Error](l.Failure(context.Background(), addr))
	if !isProblem || p.Status != 429 || p.RetryAfter != time.Minute || !strings.Contains(p.Detail, "1/min failed credentials from this address. Wait 60 s") {
		t.Errorf("%+v", p)
	}
}
