package httpserver

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/pulsecast/pulsecast/app/config"
)

// FuzzBearer checks that a bearer is one word.
func FuzzBearer(f *testing.F) {
	for _, seed := range []string{"Bearer pc_abc", "bearer  x==", "Basic x", "Bearer", "Bearer a b", "Bearer \x00", "Bearer =", strings.Repeat("Bearer ", 2000)} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		var h fasthttp.RequestHeader
		h.SetBytesV(fiber.HeaderAuthorization, value)
		token, sent := bearerOf(&h)
		if !sent {
			t.Error("a header that was sent is not seen")
		}
		if strings.ContainsAny(token, " ,") {
			t.Errorf("%q gives the bearer %q", value, token)
		}
	})
}

// FuzzTraceparent checks that the trace headers of a proxy give either a trace that can be passed on or
// none.
func FuzzTraceparent(f *testing.F) {
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, seed := range []string{valid, strings.ToUpper(valid), "ff" + valid[2:], valid + "-x", "00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01", "", "00", "\xff"} {
		f.Add(seed, "a=1,b=2")
	}
	f.Add(valid, "=,,a=\x00")
	f.Fuzz(func(t *testing.T, parent, state string) {
		var h fasthttp.RequestHeader
		h.Set("traceparent", parent)
		h.Set("tracestate", state)
		ctx := propagation.TraceContext{}.Extract(t.Context(), incoming{&h})
		span := trace.SpanContextFromContext(ctx)
		if !span.IsValid() {
			return
		}
		out := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(ctx, out)
		again := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(t.Context(), out))
		if !strings.Contains(parent, span.TraceID().String()) || again.TraceID() != span.TraceID() || strings.ContainsAny(out["tracestate"], "\r\n") {
			t.Errorf("%q, %q is passed on as %v", parent, state, out)
		}
	})
}

// FuzzNegotiate checks that the chosen coding was offered.
func FuzzNegotiate(f *testing.F) {
	for _, seed := range []string{"gzip", "br;q=1.0, gzip;q=0.5", "*", "identity;q=0, *;q=0", ";q=", ",,,", "gzip;q=0.0001", "gzip ; Q=1", "\x00"} {
		f.Add([]byte(seed))
	}
	offered := []string{"br", "zstd", "gzip"}
	f.Fuzz(func(t *testing.T, accept []byte) {
		if got := Negotiate(accept, offered...); got != "" && !slices.Contains(offered, got) {
			t.Errorf("%q chooses %q", accept, got)
		}
	})
}

// FuzzAccept checks that a page is refused in one of its two forms for every Accept header.
func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"", "text/html", "application/json", "application/problem+json;q=0.5, */*;q=0.1", "a/b;q=x", "*/", ";;,", "\x00"} {
		f.Add(seed)
	}
	app := fiber.New()
	f.Fuzz(func(t *testing.T, accept string) {
		c := app.AcquireCtx(&fasthttp.RequestCtx{})
		defer app.ReleaseCtx(c)
		c.Request().Header.Set(fiber.HeaderAccept, accept)
		prefersJSON(c)
	})
}

// FuzzForwardedFor checks that the server finds an address for every X-Forwarded-For header of a trusted
// proxy.
func FuzzForwardedFor(f *testing.F) {
	for _, seed := range []string{"203.0.113.1", "203.0.113.1, 10.0.0.1", "[2001:db8::1]:80", "unknown", ",,", "::ffff:1.2.3.4%eth0", "::%0", "\x00", "10.0.0.1:99999"} {
		f.Add([]byte(seed), []byte(seed))
	}
	cfg := config.Default()
	cfg.TrustedProxies = "10.0.0.0/8"
	s := New(Options{Config: &cfg})
	peer := netip.MustParseAddr("10.0.0.1")
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if got := s.clientBehind(peer, [][]byte{first, second}); !got.IsValid() || got.Zone() != "" {
			t.Errorf("%q and %q give %q", first, second, got)
		}
	})
}
