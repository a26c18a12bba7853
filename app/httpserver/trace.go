package httpserver

import (
	"context"

	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	requestIDKey = attribute.Key("pulsecast.request_id")
	agentIDKey   = attribute.Key("pulsecast.agent_id")
)

// traced is the span of a request with its context.
type traced struct {
	ctx  context.Context
	span trace.Span
}

// startTrace begins the span of a request. Only a trusted proxy may join the request to a trace. Otherwise
// any client could choose what is recorded.
func (s *Server) startTrace(h *fasthttp.RequestHeader, trusted bool) *traced {
	ctx := context.Background()
	if trusted {
		ctx = propagation.TraceContext{}.Extract(ctx, incoming{h})
	}
	ctx, span := s.opts.Tracer.Start(ctx, "request", trace.WithSpanKind(trace.SpanKindServer))
	return &traced{ctx, span}
}

// finishTrace ends the span. It doesn't record the query, the headers or the body.
func (r *request) finishTrace(fctx *fasthttp.RequestCtx) {
	span := r.traced.span
	defer span.End()
	if !span.IsRecording() {
		return
	}
	name, status := r.method, fctx.Response.StatusCode()
	if r.route != "" {
		name += " " + r.route
		span.SetAttributes(semconv.HTTPRoute(r.route))
	}
	span.SetName(name)
	span.SetAttributes(semconv.HTTPRequestMethodKey.String(r.method), semconv.HTTPResponseStatusCode(status), requestIDKey.String(string(r.id)))
	if r.principal != nil {
		span.SetAttributes(agentIDKey.String(r.principal.AgentID().String()))
	}
	if r.refusal != nil {
		span.SetAttributes(semconv.ErrorTypeKey.String(r.refusal.Code))
	}
	if status >= 500 {
		span.SetStatus(codes.Error, "")
	}
}

// incoming reads the trace headers of a request.
type incoming struct{ h *fasthttp.RequestHeader }

func (i incoming) Get(key string) string { return string(i.h.Peek(key)) }
func (i incoming) Set(string, string)    {} // nothing is written to a request
func (i incoming) Keys() []string        { return nil }
