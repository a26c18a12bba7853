package api

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/pulsecast/pulsecast/app/answer"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/httpserver"
)

// TestWarmPathAllocatesLittle checks the allocations of the whole chain, from the parsed request to the
// response, for a list from the cache and for a signal list.
func TestWarmPathAllocatesLittle(t *testing.T) {
	s := httpserver.New(httpserver.Options{Config: &config.Config{BaseURL: "http://pulse.test", EdgeFilter: "on", LogFormat: "off"}})
	a := &API{Now: time.Now, Changes: generation.NewWatcher(nil, slog.Default()), Intelligence: intelligence()}
	a.admit = s.Admit
	a.answers = answer.NewCache(answer.Options{Side: a.Changes.Side, Now: a.Now, Bounds: answerBounds})
	loads := 0
	s.App.Get("/api/predictions", s.OptionalAgent(), s.Limits.Reads(), cached(a, operation[predictionsQuery]{
		parse: parsePredictions, topics: recordTopics, cost: costOfPredictions,
		read: func(context.Context, predictionsQuery) (any, error) {
			loads++
			return strings.Repeat("x", 2000), nil
		},
	}))
	s.App.Get("/api/intelligence/markets", s.EdgeFilter(), s.Limits.Snapshot(), a.Intelligence.ListMarkets)
	s.Direct("/api/intelligence/markets", direct(a.Intelligence.Markets.Form))
	s.App.Handler() // builds the routes
	handle := s.App.Server().Handler
	for uri, most := range map[string]float64{
		"/api/intelligence/markets": 1, "/api/intelligence/markets?limit=50": 1, "/api/predictions": 6, "/api/predictions?limit=24": 6,
	} {
		for _, coding := range []string{"identity", "gzip"} {
			var fctx fasthttp.RequestCtx
			var req fasthttp.Request
			req.Header.SetMethod("GET")
			req.SetRequestURI(uri)
			req.Header.SetUserAgent("Forecaster/2.4")
			req.Header.Set("Accept-Encoding", coding)
			fctx.Init(&req, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 4711}, nil)
			n := testing.AllocsPerRun(200, func() {
				fctx.Response.Reset()
				fctx.ResetUserValues()
				handle(&fctx)
			})
			if fctx.Response.StatusCode() != 200 || n > most {
				t.Errorf("%s in %s: %v allocations, at most %v; status %d", uri, coding, n, most, fctx.Response.StatusCode())
			}
		}
	}
	if loads != 1 {
		t.Errorf("%d loads", loads)
	}
}
