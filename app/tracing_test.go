package app_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// collector receives spans by OTLP over HTTP, as a real collector does.
type collector struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	raw     bytes.Buffer
	service string
	spans   map[string]*tracepb.Span // by id
	changed chan struct{}
}

func newCollector(t testing.TB) *collector {
	t.Helper()
	c := &collector{t: t, spans: map[string]*tracepb.Span{}, changed: make(chan struct{}, 1)}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var sent collectorpb.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &sent) != nil {
		c.t.Errorf("%s %s: %v", r.Method, r.URL, err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	for _, resource := range sent.ResourceSpans {
		for _, a := range resource.Resource.Attributes {
			if a.Key == "service.name" {
				c.service = a.Value.GetStringValue()
			}
		}
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans[string(span.SpanId)] = span
			}
		}
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// wait waits for a span of a name and returns the first one with all spans of its trace.
func (c *collector) wait(name string) (*tracepb.Span, []*tracepb.Span) {
	c.t.Helper()
	deadline := time.After(30 * time.Second)
	for {
		if one, all := c.find(name); one != nil {
			return one, all
		}
		select {
		case <-c.changed:
		case <-deadline:
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, span := range c.spans {
				c.t.Log(span.Name)
			}
			c.t.Fatalf("no span %q arrived", name)
		}
	}
}

func (c *collector) find(name string) (one *tracepb.Span, all []*tracepb.Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range c.spans {
		if span.Name == name {
			one = span
		}
	}
	for _, span := range c.spans {
		if one != nil && bytes.Equal(span.TraceId, one.TraceId) {
			all = append(all, span)
		}
	}
	return one, all
}

func attribute(span *tracepb.Span, key string) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return a.Value.GetStringValue()
		}
	}
	return ""
}

// TestTracesOfTheWholeProgram checks that a publish makes a trace of the request with its queries
// below it, and that the trace contains no secret and no text of the prediction.
func TestTracesOfTheWholeProgram(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c, u := newCollector(t), newUpstream(t)
			u.SetMarket("m1", nil)
			p := startProcess(t, []string{
				"DATABASE_URL=" + dbtest.URL(t, kind), "REGISTRATION=open", "LOG_FORMAT=json", "POLYMARKET_URL=" + u.URL, "POLYMARKET_CLOB_URL=" + u.URL,
				"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL, "OTEL_EXPORTER_OTLP_HEADERS=api-key=s3cret-header", "OTEL_SERVICE_NAME=pulse-under-test", "OTEL_BSP_SCHEDULE_DELAY=100",
			}, "serve")
			_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Ada Unspoken"})
			key, _ := made["apiKey"].(string)
			_, session := p.call("POST", "/api/session", "", map[string]any{"apiKey": key})
			token, _ := session["session"].(map[string]any)["token"].(string)
			status, published := p.call("POST", "/api/predictions", key, map[string]any{
				"title": "Will the unspoken title stay so?", "thesis": "An unspoken thesis.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
				"evidence": []map[string]any{{"title": "Unspoken evidence", "url": "https://unspoken.example/a"}},
			})
			if status != 200 {
				t.Fatalf("publish: %d %v", status, published)
			}
			p.call("GET", "/api/predictions?q=unspoken", token, nil)
			c.wait("GET /api/predictions")

			root, all := c.wait("POST /api/predictions")
			if root.Kind != tracepb.Span_SPAN_KIND_SERVER || len(root.ParentSpanId) != 0 || attribute(root, "pulsecast.agent_id") == "" {
				t.Errorf("the request's span: %v", root)
			}
			var names []string
			for _, span := range all {
				if span == root {
					continue
				}
				names = append(names, span.Name)
				if !bytes.Equal(span.ParentSpanId, root.SpanId) || span.Kind != tracepb.Span_SPAN_KIND_CLIENT || attribute(span, "db.system.name") == "" {
					t.Errorf("%s isn't a query below the request: %v", span.Name, span)
				}
			}
			for _, want := range []string{"BEGIN", "COMMIT", "INSERT predictions"} {
				if !slices.Contains(names, want) {
					t.Errorf("no query %s among %q", want, names)
				}
			}
			insert, _ := c.wait("INSERT predictions")
			if text := attribute(insert, "db.query.text"); !strings.Contains(text, "INSERT INTO predictions") || !strings.ContainsAny(text, "?$") {
				t.Errorf("got the query text %q", text)
			}

			_, tick := c.wait("job markets")
			if !slices.ContainsFunc(tick, func(s *tracepb.Span) bool {
				return s.Name == "GET 127.0.0.1" && attribute(s, "url.path") == "/markets/keyset"
			}) {
				t.Errorf("the tick of the markets has no call of its source: %v", tick)
			}
			if want := fmt.Sprintf(`"trace_id":"%x"`, root.TraceId); !strings.Contains(p.out.String(), want) {
				t.Errorf("the log doesn't contain %s", want)
			}
			if code := p.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("a clean stop: exit code %d", code)
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if c.service != "pulse-under-test" {
				t.Errorf("got the service name %q", c.service)
			}
			sent := strings.ToLower(c.raw.String())
			for _, secret := range []string{key, token, "unspoken", "bearer", "authorization", "s3cret"} {
				if secret == "" || strings.Contains(sent, strings.ToLower(secret)) {
					t.Errorf("the spans contain %q", secret)
				}
			}
		})
	}
}

// TestCollectorInTrouble checks that the service isn't affected by a collector that is down or
// never answers, nor by spans that are unsent when the program stops.
func TestCollectorInTrouble(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hang }))
	t.Cleanup(hanging.CloseClientConnections)
	good := newCollector(t)
	for name, endpoint := range map[string]string{"down": "http://127.0.0.1:9", "hangs": hanging.URL, "well": good.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delay := "OTEL_BSP_SCHEDULE_DELAY=50"
			if name == "well" {
				delay = "OTEL_BSP_SCHEDULE_DELAY=3600000" // spans are only sent at the stop
			}
			p := startProcess(t, []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "OTEL_EXPORTER_OTLP_ENDPOINT=" + endpoint, delay}, "serve", "--no-worker")
			for range 20 {
				if status, answer := p.call("GET", "/api/leaderboard", "", nil); status != 200 {
					t.Fatalf("%d %v", status, answer)
				}
			}
			if code := p.stop(syscall.SIGTERM); code != 0 {
				t.Errorf("stop: exit code %d:\n%s", code, p.out)
			}
			if name == "well" {
				good.wait("GET /api/leaderboard")
			}
		})
	}
}

// TestTracingSettings checks that an invalid setting stops the start with one line.
func TestTracingSettings(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"OTEL_TRACES_EXPORTER=zipkin":                          "OTEL_TRACES_EXPORTER: ",
		"OTEL_EXPORTER_OTLP_ENDPOINT=s3cret":                   "OTEL_EXPORTER_OTLP_ENDPOINT: not an http(s) address",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=ftp://s3cret.test": "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: not an http(s) address",
	} {
		out, err := command(t, []string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite), setting}, "serve").CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "s3cret") {
			t.Errorf("%s: %v, %s", setting, err, out)
		}
	}
	c := newCollector(t)
	off := map[string][]string{
		"nothing":  nil,
		"disabled": {"OTEL_SDK_DISABLED=true", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
		"none":     {"OTEL_TRACES_EXPORTER=none", "OTEL_EXPORTER_OTLP_ENDPOINT=" + c.URL},
	}
	for _, name := range slices.Sorted(maps.Keys(off)) {
		p := startProcess(t, append(off[name], "DATABASE_URL="+dbtest.URL(t, database.SQLite), "LOG_FORMAT=json"), "serve", "--no-worker")
		p.call("GET", "/api/leaderboard", "", nil)
		p.stop(syscall.SIGTERM)
		if len(c.spans) != 0 || strings.Contains(p.out.String(), "trace_id") {
			t.Errorf("%s: %d spans, log %s", name, len(c.spans), p.out)
		}
	}
}
