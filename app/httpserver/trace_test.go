package httpserver

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/pulsecast/pulsecast/app/problem"
)

// TestTraceOfARequest checks that the span is named after the route, is the parent of the handler's spans,
// and joins a trace only if a trusted proxy sent it.
func TestTraceOfARequest(t *testing.T) {
	t.Parallel()
	const theirs = "0af7651916cd43dd8448eb211c80319c"
	for name, proxies := range map[string]string{"a stranger": "", "a trusted proxy": "127.0.0.1"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spans := tracetest.NewSpanRecorder()
			tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans)).Tracer("test")
			inside := make(chan trace.SpanContext, 1)
			n := run(t, func(o *Options) { o.Config.TrustedProxies, o.Tracer = proxies, tracer }, func(s *Server) {
				s.App.Get("/api/things/:id", func(c *fiber.Ctx) error {
					inside <- trace.SpanContextFromContext(c.UserContext())
					return problem.Unavailable("The thing "+c.Params("id")+" can't be read.", 0)
				})
			})
			resp := n.do(t, "GET", "/api/things/hush?q=whisper", "traceparent: 00-"+theirs+"-b7ad6b7169203331-01", "Authorization: Bearer murmur")
			handler := <-inside
			if len(spans.Ended()) != 1 {
				t.Fatalf("%d spans", len(spans.Ended()))
			}
			span := spans.Ended()[0]
			if span.Name() != "GET /api/things/:id" || span.Status().Code != codes.Error || span.SpanContext().SpanID() != handler.SpanID() {
				t.Errorf("%q, %v, %v; the handler saw %v", span.Name(), span.Status(), span.SpanContext(), handler)
			}
			if joined := span.SpanContext().TraceID().String() == theirs; joined != (proxies != "") {
				t.Errorf("joined the caller's trace: %v", joined)
			}
			told := ""
			for _, a := range span.Attributes() {
				told += string(a.Key) + "=" + a.Value.String() + " "
			}
			for _, hidden := range []string{"hush", "whisper", "murmur"} {
				if strings.Contains(told+span.Status().Description, hidden) {
					t.Errorf("the span contains %s: %s", hidden, told)
				}
			}
			id := resp.Header.Get("X-Request-Id")
			if !strings.Contains(told, "pulsecast.request_id="+id) || n.logs.entry(t, id)["trace_id"] != span.SpanContext().TraceID().String() {
				t.Errorf("request %s: %s, log %v", id, told, n.logs.entry(t, id))
			}
		})
	}
}
