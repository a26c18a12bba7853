// Package tracing sends OpenTelemetry traces if the standard OTEL_* variables ask for them. Otherwise
// Start returns nil. The methods of a nil *Tracing record nothing and return their arguments unchanged.
//
// A trace begins with a request or with a run of a job. Queries and calls of sources are recorded only
// inside a trace. No query arguments, headers, query strings of addresses or error texts are recorded.
package tracing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

const (
	scope = "github.com/pulsecast/pulsecast"
	// flushTimeout is how long Stop waits for unsent spans.
	flushTimeout = 3 * time.Second
	// complainEvery is the minimum time between two log entries about an unreachable collector.
	complainEvery = time.Minute
)

// Tracing sends spans. A nil *Tracing is off.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted reports whether the environment asks for traces: OTEL_TRACES_EXPORTER is otlp, or it is
// unset and an endpoint is set, and OTEL_SDK_DISABLED is not true. An error is one line that names
// the variable to change.
func Wanted() (bool, error) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	exporter := strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER"))
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return false, nil
	case exporter == "" && os.Getenv(general) == "" && os.Getenv(traces) == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not supported; set otlp or none", exporter)
	}
	for _, name := range []string{general, traces} {
		u, err := url.Parse(os.Getenv(name))
		if os.Getenv(name) != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
			return false, fmt.Errorf("%s: not an http(s) address", name) // without the value, which may contain a secret
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := os.Getenv(name); protocol != "" && protocol != "http/protobuf" {
			return false, fmt.Errorf(
				"%s: %q is not supported; set http/protobuf, on port 4318 of most collectors", name, protocol,
			)
		}
	}
	return true, nil
}

// Start starts sending spans. It returns nil if the environment doesn't ask for traces. An
// unreachable collector is not an error; its spans are dropped.
func Start(ctx context.Context, log *slog.Logger, version string) (*Tracing, error) {
	if wanted, err := Wanted(); err != nil || !wanted {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_*: %w", err)
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName("pulsecast"), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithHost(),
		resource.WithFromEnv(), // last, so that OTEL_SERVICE_NAME has priority
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// The SDK has one error handler for the whole process.
	otel.SetErrorHandler(complaints(log))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(version))}, nil
}

// complaints returns a handler that logs errors of the SDK, at most once per complainEvery.
func complaints(log *slog.Logger) otel.ErrorHandlerFunc {
	var last atomic.Int64
	return func(err error) {
		now := time.Now().UnixNano()
		if before := last.Load(); now-before >= int64(complainEvery) && last.CompareAndSwap(before, now) {
			log.Warn("traces are not sent", "error", err)
		}
	}
}

// Stop sends unsent spans, for at most three seconds.
func (t *Tracing) Stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := t.provider.Shutdown(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop tracing: %w", err)
	}
	return nil
}

// Tracer returns the tracer, nil if tracing is off.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Hook returns a hook that records queries, nil if tracing is off.
func (t *Tracing) Hook() bun.QueryHook {
	if t == nil {
		return nil
	}
	return queries{t.tracer}
}

// Transport returns a transport that records calls through next inside a trace. It sends no trace
// headers.
func (t *Tracing) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return client{t.tracer, next}
}

// Task returns run with a trace for each run of the job.
func (t *Tracing) Task(
	name string, run func(context.Context) (time.Duration, error),
) func(context.Context) (time.Duration, error) {
	if t == nil {
		return run
	}
	return func(ctx context.Context) (time.Duration, error) {
		ctx, span := t.tracer.Start(ctx, "job "+name)
		defer span.End()
		next, err := run(ctx)
		if err != nil {
			fail(span, err)
		}
		return next, err
	}
}
