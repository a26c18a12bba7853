package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/contract/contracttest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// backend is one combination of database and cache. Each API test runs on every backend.
type backend struct {
	name  string
	kind  database.Kind
	redis bool
}

var backends = []backend{
	{"sqlite and memory", database.SQLite, false},
	{"postgres and redis", database.Postgres, true},
}

// service is the whole app on a loopback port.
type service struct {
	*app.App
	t    testing.TB
	base string
}

// each runs a test against the whole app on every backend, in parallel.
func each(t *testing.T, test func(t *testing.T, s *service), change ...func(*config.Config)) {
	t.Helper()
	for _, b := range backends {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, b, change...))
		})
	}
}

// start runs the app with no upstream: every source address refuses connections.
func start(t testing.TB, b backend, change ...func(*config.Config)) *service {
	t.Helper()
	return run(t, configure(t, b, change...), app.Options{})
}

// configure returns the settings of a test's app.
func configure(t testing.TB, b backend, change ...func(*config.Config)) config.Config {
	t.Helper()
	cfg := config.Default()
	cfg.Addr, cfg.DatabaseURL = "127.0.0.1:0", dbtest.URL(t, b.kind)
	if b.redis {
		if cfg.RedisURL = os.Getenv("TEST_REDIS_URL"); cfg.RedisURL == "" {
			t.Skip("TEST_REDIS_URL is not set: run the suite with make test, which starts a private Redis")
		}
	}
	for _, source := range []*string{&cfg.PolymarketURL, &cfg.PolymarketClobURL, &cfg.RedditAuthURL, &cfg.RedditAPIURL, &cfg.RedditRSSURL, &cfg.GDELTURL, &cfg.HackerNewsURL} {
		*source = "http://127.0.0.1:9"
	}
	cfg.LogFormat, cfg.Registration, cfg.Drain = "off", "open", 0
	cfg.RateLimitReads, cfg.RateLimitWrites, cfg.RateLimitFailures, cfg.RateLimitSnapshot = config.Rate{}, config.Rate{}, config.Rate{}, config.Rate{}
	cfg.RateLimitReadsAddress, cfg.RateLimitWritesAddress = config.Rate{}, config.Rate{}
	cfg.RegistrationRate, cfg.RegistrationCeiling = config.Rate{}, config.Rate{}
	for _, c := range change {
		c(&cfg)
	}
	return cfg
}

// run starts the app after its preparation. The apps of one test share their keys in Redis.
func run(t testing.TB, cfg config.Config, opts app.Options, prepare ...func(*app.App)) *service {
	t.Helper()
	opts.CachePrefix = cachePrefix(t)
	opts.RedisPatience = 20 * time.Second // on a busy machine too
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = ln.Addr().String()
	a, err := app.New(t.Context(), cfg, opts)
	if err != nil {
		t.Fatal(errors.Join(err, ln.Close()))
	}
	for _, p := range prepare {
		p(a)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, ln) }()
	stop := sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error("run:", err)
		}
		if err := a.Close(); err != nil {
			t.Error("close:", err)
		}
	})
	t.Cleanup(stop)
	return &service{App: a, t: t, base: "http://" + ln.Addr().String()}
}

// cachePrefixes are the prefixes of keys in Redis by test.
var cachePrefixes sync.Map

// cachePrefix returns the prefix of a test's keys in Redis. A test that runs again gets another one, because Redis still
// has the counts of the first run.
func cachePrefix(t testing.TB) string {
	prefix, _ := cachePrefixes.LoadOrStore(t, "test:"+rand.Text()+":")
	return prefix.(string)
}

// call is one request.
type call struct {
	method, path string // GET by default
	body         any    // a string is sent as it is, anything else as JSON
	bearer       string
	header       map[string]string
}

// answer is one response, checked against openapi.yaml.
type answer struct {
	t      testing.TB
	status int
	header http.Header
	raw    []byte
	json   map[string]any
}

func (s *service) do(t testing.TB, c call) answer {
	t.Helper()
	req := s.request(t, c)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{t: t, status: res.StatusCode, header: res.Header, raw: raw}
	if strings.HasSuffix(res.Header.Get("Content-Type"), "json") && len(raw) > 0 {
		if err := json.Unmarshal(raw, &a.json); err != nil {
			t.Fatalf("%s %s: %v in %s", req.Method, c.path, err, raw)
		}
	}
	if req.Method != http.MethodHead { // an answer without its body
		matchesContract(t, req, res, raw)
	}
	return a
}

func (s *service) request(t testing.TB, c call) *http.Request {
	t.Helper()
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		packed, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		body = bytes.NewReader(packed)
	}
	method := c.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.base+c.path, body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "pulsecast-tests/1.0 (https://example.org)")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	for name, value := range c.header {
		if value == "" {
			req.Header.Del(name)
			continue
		}
		req.Header.Set(name, value)
	}
	return req
}

// matchesContract fails the test if an answer doesn't match openapi.yaml.
func matchesContract(t testing.TB, req *http.Request, res *http.Response, raw []byte) {
	t.Helper()
	if err := contracttest.Check(req, res, raw); err != nil {
		t.Error(err)
	}
}

// refused fails unless the answer is this problem, and returns its detail.
func (a answer) refused(status int, code string) string {
	a.t.Helper()
	detail, _ := a.json["detail"].(string)
	if a.status != status || a.json["code"] != code || a.json["ok"] != false || detail == "" || a.json["requestId"] == "" {
		a.t.Errorf("want %d %s, got %d %s", status, code, a.status, a.raw)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		a.t.Errorf("a refusal of type %q", got)
	}
	if header, wait := a.header.Get("Retry-After"), a.json["retryAfter"]; (header != "" || wait != nil) && header != fmt.Sprint(wait) {
		a.t.Errorf("Retry-After: %q, but retryAfter is %v", header, wait)
	}
	return detail
}

// fine fails unless the answer is a success.
func (a answer) fine() answer {
	a.t.Helper()
	if a.status != http.StatusOK || (a.json != nil && a.json["ok"] != true) {
		a.t.Fatalf("got %d %s", a.status, a.raw)
	}
	return a
}

// at returns a value inside the answer, as in at("predictions", 0, "title").
func (a answer) at(path ...any) any {
	a.t.Helper()
	var v any = a.json
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, ok := v.(map[string]any)
			if !ok {
				a.t.Fatalf("no %q in %s", step, a.raw)
			}
			v = m[step]
		case int:
			list, ok := v.([]any)
			if !ok || step >= len(list) {
				a.t.Fatalf("no item %d of %v in %s", step, path, a.raw)
			}
			v = list[step]
		}
	}
	return v
}

func (a answer) text(path ...any) string {
	a.t.Helper()
	return fmt.Sprint(a.at(path...))
}

func (a answer) count(path ...any) int {
	a.t.Helper()
	list, ok := a.at(path...).([]any)
	if !ok {
		a.t.Fatalf("no list at %v in %.300s", path, a.raw)
	}
	return len(list)
}

// register makes an agent and returns its key.
func (s *service) register(t testing.TB, name string) string {
	t.Helper()
	return s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": name, "model": "m-1"}}).fine().text("apiKey")
}

// forecast is a valid request body with changes; a nil value removes a field.
func forecast(changes map[string]any) map[string]any {
	body := map[string]any{
		"title": "Will the sun rise?", "thesis": "It always did.", "confidence": 0.72,
		"horizonAt": time.Now().AddDate(0, 1, 0).UTC().Truncate(24 * time.Hour).Format(time.RFC3339), // the same on each call
		"category":  "general", "evidence": []any{map[string]any{"title": "Almanac", "url": "https://example.org/almanac"}},
	}
	maps.Copy(body, changes)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == nil })
	return body
}
