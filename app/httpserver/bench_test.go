package httpserver

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/config"
)

// BenchmarkSnapshotPath measures what httpserver adds to a handler that does nothing: a snapshot answer
// through the whole chain, without the network.
func BenchmarkSnapshotPath(b *testing.B) {
	body := bytes.Repeat([]byte("x"), 12_700)
	coding := []byte("gzip")
	handler := func(c *fiber.Ctx) error {
		resp := c.Response()
		resp.Header.SetContentEncodingBytes(coding)
		resp.SetBodyRaw(body)
		return nil
	}
	run := func(b *testing.B, adjust func(*Options)) {
		opts := testOptions(io.Discard)
		adjust(&opts)
		s := New(opts)
		s.App.Get("/api/intelligence/markets", s.EdgeFilter(), s.Limits.Snapshot(), handler)
		s.App.Handler() // builds the routes
		handle := s.App.Server().Handler
		var fctx fasthttp.RequestCtx
		var req fasthttp.Request
		req.Header.SetMethod("GET")
		req.SetRequestURI("/api/intelligence/markets?limit=24")
		req.Header.SetUserAgent("Forecaster/2.4 (+https://example.org)")
		fctx.Init(&req, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}, nil)
		b.ReportAllocs()
		for b.Loop() {
			fctx.Response.Reset()
			fctx.ResetUserValues()
			handle(&fctx)
		}
		if fctx.Response.StatusCode() != 200 {
			b.Fatalf("%d %s", fctx.Response.StatusCode(), fctx.Response.Body())
		}
	}
	b.Run("limits and log off", func(b *testing.B) {
		run(b, func(o *Options) { o.Config.LogFormat = "off" })
	})
	b.Run("limits on, log off", func(b *testing.B) {
		run(b, func(o *Options) {
			o.Config.LogFormat = "off"
			o.Config.RateLimitSnapshot = config.Rate{N: 1 << 29, Per: time.Second}
		})
	})
	b.Run("limits and log on", func(b *testing.B) {
		run(b, func(o *Options) {
			o.Logger = slog.New(slog.NewJSONHandler(io.Discard, nil))
			o.Config.RateLimitSnapshot = config.Rate{N: 1 << 29, Per: time.Second}
		})
	})
	b.Run("bare fiber", func(b *testing.B) {
		app := fiber.New(fiber.Config{DisableStartupMessage: true})
		app.Get("/api/intelligence/markets", handler)
		handle := app.Handler()
		var fctx fasthttp.RequestCtx
		var req fasthttp.Request
		req.SetRequestURI("/api/intelligence/markets?limit=24")
		fctx.Init(&req, nil, nil)
		b.ReportAllocs()
		for b.Loop() {
			fctx.Response.Reset()
			handle(&fctx)
		}
	})
}

func BenchmarkDefaultAgent(b *testing.B) {
	ua := []byte("Forecaster/2.4 (+https://example.org/forecaster)")
	b.ReportAllocs()
	for b.Loop() {
		defaultAgent(ua)
	}
}
