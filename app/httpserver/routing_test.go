package httpserver

import (
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/config"
)

func TestRouting(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/predictions", ok)
		s.App.Post("/api/predictions", ok)
		s.App.Get("/api/predictions/:id", ok)
		s.App.Post("/api/session", ok)
		s.App.Get("/markets", ok)
	})
	tests := []struct {
		method, path string
		status       int
		allow, code  string
	}{
		{"GET", "/api/predictions", 200, "", ""},
		{"HEAD", "/api/predictions", 200, "", ""},
		{"GET", "/api/predictions/", 200, "", ""}, // one slash more is the same path
		{"GET", "/api/Predictions", 404, "", "not_found"},
		{"GET", "/api/predictions/x/y", 404, "", "not_found"},
		{"GET", "/api", 404, "", "not_found"},
		{"GET", "/api/nothing", 404, "", "not_found"},
		{"POST", "/api/nothing", 404, "", "not_found"},
		{"OPTIONS", "/api/nothing", 404, "", "not_found"},
		{"BREW", "/api/nothing", 404, "", "not_found"},
		{"PUT", "/api/predictions", 405, "GET, HEAD, POST, OPTIONS", "method_not_allowed"},
		{"DELETE", "/api/predictions/1", 405, "GET, HEAD, OPTIONS", "method_not_allowed"},
		{"GET", "/api/session", 405, "POST, OPTIONS", "method_not_allowed"},
		{"HEAD", "/api/session", 405, "POST, OPTIONS", ""},
		{"BREW", "/api/predictions", 405, "GET, HEAD, POST, OPTIONS", "method_not_allowed"},
		{"TRACE", "/api/predictions", 405, "GET, HEAD, POST, OPTIONS", "method_not_allowed"},
		{"OPTIONS", "/api/predictions", 204, "GET, HEAD, POST, OPTIONS", ""},
		{"OPTIONS", "/markets", 204, "GET, HEAD, OPTIONS", ""},
		{"POST", "/livez", 405, "GET, HEAD, OPTIONS", "method_not_allowed"},
		{"GET", "/mcp/x", 404, "", "not_found"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			t.Parallel()
			r := n.do(t, tt.method, tt.path)
			if r.StatusCode != tt.status || r.Header.Get("Allow") != tt.allow {
				t.Errorf("got %d, Allow %q: %s", r.StatusCode, r.Header.Get("Allow"), r.body)
			}
			if tt.code != "" {
				if got := r.code(t); got != tt.code {
					t.Errorf("code %s", got)
				}
			}
			if tt.code == "method_not_allowed" && !strings.Contains(r.body, tt.method+" is not offered") {
				t.Errorf("detail does not name %s: %s", tt.method, r.body)
			}
			if tt.method == "HEAD" && r.body != "" {
				t.Errorf("HEAD has a body: %q", r.body)
			}
		})
	}
}

func TestHeadTellsTheLengthOfGet(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/x", func(c *fiber.Ctx) error { return c.SendString(strings.Repeat("x", 5000)) })
	})
	if r := n.do(t, "HEAD", "/api/x"); r.ContentLength != 5000 || r.body != "" {
		t.Errorf("length %d, body of %d", r.ContentLength, len(r.body))
	}
}

func TestCrossOrigin(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/x", ok)
		s.App.Post("/api/x", ok)
		s.App.Get("/page", ok)
	})
	preflight := n.do(t, "OPTIONS", "/api/x", "Origin: https://elsewhere.test",
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: idempotency-key")
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin":  "*",
		"Access-Control-Allow-Methods": "GET, HEAD, POST, OPTIONS",
		"Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, " +
			"MCP-Protocol-Version, Range, User-Agent",
		"Access-Control-Max-Age":           "86400",
		"Access-Control-Allow-Credentials": "",
	} {
		if got := preflight.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if preflight.StatusCode != 204 || preflight.body != "" {
		t.Errorf("preflight %d %q", preflight.StatusCode, preflight.body)
	}
	exposed := "Accept-Ranges, Age, Allow, Cache-Status, Content-Disposition, Content-Range, " +
		"ETag, Link, Location, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-Request-Id"
	if got := n.do(t, "GET", "/api/x").Header.Get("Access-Control-Expose-Headers"); got != exposed {
		t.Errorf("exposes %q, want %q", got, exposed)
	}
	for path, want := range map[string]string{"/api/x": "*", "/api/none": "*", "/page": "", "/none": "", "/livez": ""} {
		r := n.do(t, "GET", path, "Origin: https://elsewhere.test")
		if got := r.Header.Get("Access-Control-Allow-Origin"); got != want {
			t.Errorf("%s: Access-Control-Allow-Origin %q, want %q", path, got, want)
		}
	}
}

func TestPreflightsAreLimited(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) {
		o.Config.RateLimitSnapshot = config.Rate{N: 3, Per: time.Hour}
	}, func(s *Server) { s.App.Post("/api/x", s.RequireAgent(), s.Limits.Writes(), ok) })
	preflight := func() reply {
		return n.do(t, "OPTIONS", "/api/x", "Origin: https://elsewhere.test", "Access-Control-Request-Method: POST")
	}
	for i := range 3 {
		if r := preflight(); r.StatusCode != 204 {
			t.Errorf("preflight %d: %d", i, r.StatusCode)
		}
	}
	r := preflight()
	if r.StatusCode != 429 || r.code(t) != "rate_limited" || r.Header.Get("Retry-After") == "" || r.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("one too many: %d %v", r.StatusCode, r.Header)
	}
}
