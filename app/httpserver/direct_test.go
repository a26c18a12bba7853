package httpserver

import (
	"maps"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pulsecast/pulsecast/app/config"
)

// seen is everything that a request leaves behind, without the values that differ in each request.
type seen struct {
	Status      int
	Header      http.Header
	Body        string
	Log         map[string]any
	Observation Observation
	Span        string
}

// TestDirectAnswersAreTheRouters checks that with and without a direct handler, a request gets the same
// status, headers and body, counts against the limit alike, and leaves the same log line, observation and
// span.
func TestDirectAnswersAreTheRouters(t *testing.T) {
	t.Parallel()
	const path = "/api/signals"
	respond := func(ctx *fasthttp.RequestCtx) {
		Respond(ctx, Representation{
			Body: []byte(strings.Repeat("signal ", 300)), ETag: `"one"`, ContentType: fiber.MIMEApplicationJSON, CacheControl: "public, max-age=5",
		})
	}
	directly := 0
	var mu sync.Mutex
	var observed Observation
	start := func(direct bool) (*node, *tracetest.SpanRecorder) {
		spans := tracetest.NewSpanRecorder()
		return run(t, func(o *Options) {
			now := time.Now()
			o.Now = func() time.Time { return now }
			o.Config.TrustedProxies, o.Config.RateLimitSnapshot = "127.0.0.1", config.Rate{N: 12, Per: time.Hour}
			o.Tracer = sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("test")
			o.Observe = func(seen Observation) {
				mu.Lock()
				defer mu.Unlock()
				seen.Duration, seen.RequestID = 0, nil
				observed = seen
			}
		}, func(s *Server) {
			s.App.Get(path, s.EdgeFilter(), s.Limits.Snapshot(), func(c *fiber.Ctx) error { respond(c.Context()); return nil })
			if direct {
				s.Direct(path, func(ctx *fasthttp.RequestCtx, query []byte) bool {
					if len(query) > 0 {
						return false
					}
					directly++
					respond(ctx)
					return true
				})
			}
		}), spans
	}
	router, routerSpans := start(false)
	direct, directSpans := start(true)
	ask := func(n *node, spans *tracetest.SpanRecorder, method, path string, headers ...string) seen {
		r := n.do(t, method, path, headers...)
		id := r.Header.Get("X-Request-Id")
		s := seen{Status: r.StatusCode, Header: r.Header, Body: strings.ReplaceAll(r.body, id, ""), Log: maps.Clone(n.logs.entry(t, id))}
		for _, varies := range []string{"time", "duration", "request_id", "trace_id"} {
			if _, ok := s.Log[varies]; !ok {
				t.Errorf("no %s in the log: %v", varies, s.Log)
			}
			delete(s.Log, varies)
		}
		s.Header.Del("Date")
		s.Header.Del("X-Request-Id")
		mu.Lock()
		s.Observation = observed
		mu.Unlock()
		ended := spans.Ended()
		span := ended[len(ended)-1]
		s.Span = span.Name()
		for _, a := range span.Attributes() {
			if a.Key != requestIDKey {
				s.Span += " " + string(a.Key) + "=" + a.Value.String()
			}
		}
		return s
	}
	for i, c := range []struct {
		method, path string
		headers      []string
	}{
		{"GET", path, nil},
		{"GET", path, []string{"Accept-Encoding: gzip;q=0", "X-Request-Id: mine"}},
		{"HEAD", path, nil},
		{"GET", path, []string{`If-None-Match: W/"one"`}},
		{"GET", path, []string{`If-None-Match: "two"`}},
		{"GET", path + "?q=x", nil},
		{"GET", path + "/", nil},
		{"POST", path, nil},
		{"OPTIONS", path, nil},
		{"BREW", path, nil},
		{"GET", path, []string{"User-Agent: curl/8.5"}},
		{"GET", path, []string{"User-Agent: curl/8.5", "Authorization: Bearer good"}},
		{"GET", path, []string{"Authorization: Bearer bad"}},
		{"GET", path, []string{"Content-Encoding: gzip"}},
		{"GET", path, []string{"X-Forwarded-For: 192.0.2.7"}},
		{"GET", path, nil},
		{"GET", path, nil},
		{"GET", path, nil}, // from here on the limit is spent
		{"GET", path, nil},
		{"HEAD", path, nil},
		{"GET", path, nil},
		{"GET", path, []string{"X-Forwarded-For: 192.0.2.7"}},
	} {
		want := ask(router, routerSpans, c.method, c.path, c.headers...)
		if got := ask(direct, directSpans, c.method, c.path, c.headers...); !reflect.DeepEqual(got, want) {
			t.Errorf("%d %s %s %q:\n got %+v\nwant %+v", i, c.method, c.path, c.headers, got, want)
		}
		if i == 20 && want.Status != http.StatusTooManyRequests {
			t.Errorf("the limit isn't spent: %+v", want)
		}
	}
	if directly < 8 {
		t.Errorf("%d requests were answered directly", directly)
	}
}
