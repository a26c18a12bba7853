// Package tracing sends OpenTelemetry traces when the standard OTEL_* variables ask
// for it. Otherwise Start gives nil, whose methods hand everything back as it came:
// nothing is measured, and nothing is in anybody's way.
//
// A trace begins with a request or with a run of a job; queries and calls of upstreams
// are recorded inside one only. No argument of a query, no header, no address's query
// and no text of an error is recorded.
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
	// flushTimeout is how long a stop waits for what is not sent yet.
	flushTimeout = 3 * time.Second
	// complainEvery is how often a collector that cannot be reached is logged.
	complainEvery = time.Minute
)

// Tracing sends spans. nil is off.
type Tracing struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

// Wanted tells whether the environment asks for traces: OTEL_TRACES_EXPORTER is otlp,
// or is unset and an endpoint is given, and OTEL_SDK_DISABLED is not true. The error
// is one line that names the variable at fault.
func Wanted() (bool, error) {
	const general, traces = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	exporter := strings.TrimSpace(os.Getenv("OTEL_TRACES_EXPORTER"))
	switch {
	case strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true"), exporter == "none":
		return false, nil
	case exporter == "" && os.Getenv(general) == "" && os.Getenv(traces) == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not known here: set otlp or none", exporter)
	}
	for _, name := range []string{general, traces} {
		u, err := url.Parse(os.Getenv(name))
		if os.Getenv(name) != "" && (err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "") {
			return false, fmt.Errorf("%s: not an http(s) address", name) // without the value: it may hold a secret
		}
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		if protocol := os.Getenv(name); protocol != "" && protocol != "http/protobuf" {
			return false, fmt.Errorf(
				"%s: %q is not spoken here: set http/protobuf, on port 4318 of most collectors", name, protocol,
			)
		}
	}
	return true, nil
}

// Start begins to send spans; nil when the environment does not ask for it. A
// collector that cannot be reached is no error: spans are then dropped.
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
		resource.WithFromEnv(), // last, so that OTEL_SERVICE_NAME wins
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// The SDK knows one place for its errors, for the whole process.
	otel.SetErrorHandler(complaints(log))
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Tracing{provider: provider, tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(version))}, nil
}

// complaints logs what the SDK cannot do, at most once in complainEvery.
func complaints(log *slog.Logger) otel.ErrorHandlerFunc {
	var last atomic.Int64
	return func(err error) {
		now := time.Now().UnixNano()
		if before := last.Load(); now-before >= int64(complainEvery) && last.CompareAndSwap(before, now) {
			log.Warn("traces are not sent", "error", err)
		}
	}
}

// Stop sends what is left, for three seconds at most.
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

// Tracer makes spans; nil when tracing is off.
func (t *Tracing) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.tracer
}

// Hook records queries; nil when tracing is off.
func (t *Tracing) Hook() bun.QueryHook {
	if t == nil {
		return nil
	}
	return queries{t.tracer}
}

// Transport records the calls that go through next, inside a trace only. Upstreams
// are not told of the trace.
func (t *Tracing) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return client{t.tracer, next}
}

// Task records each run of a job as a trace of its own.
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
