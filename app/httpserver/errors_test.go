package httpserver

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/pulsecast/pulsecast/app/problem"
)

func TestErrorsBecomeProblems(t *testing.T) {
	t.Parallel()
	cause := errors.New("the secret cause")
	tests := []struct {
		name   string
		err    error
		status int
		code   string
		level  string
		header string // "Name: value" of a required header
	}{
		{"refusal", problem.InvalidParameter("limit", "must be 1..100"), 400, "invalid_parameter", "INFO", ""},
		{"wrapped", errors.Join(errors.New("outer"), problem.New(problem.CodeMarketClosed, "Too late.")), 409, "market_closed", "INFO", ""},
		{"challenge", problem.InvalidCredentials("").With(cause), 401, "invalid_credentials", "INFO", `WWW-Authenticate: Bearer realm="pulsecast", error="invalid_token", error_description="The access token is unknown, expired or revoked"`},
		{"wait rounds up", problem.RateLimited("Slower.", 2100*time.Millisecond), 429, "rate_limited", "INFO", "Retry-After: 3"},
		{"down", problem.Unavailable("Later.", time.Second).With(cause), 503, "unavailable", "ERROR", "Retry-After: 1"},
		{"unknown", cause, 500, "internal", "ERROR", ""},
		{"fiber 400", fiber.NewError(400, "the secret cause"), 400, "invalid_request", "INFO", ""},
		{"fiber 502", fiber.NewError(502, "the secret cause"), 500, "internal", "ERROR", ""},
		{"fiber 413", fiber.ErrRequestEntityTooLarge, 413, "payload_too_large", "INFO", ""},
	}
	n := run(t, nil, func(s *Server) {
		for _, tt := range tests {
			s.App.Get("/api/"+strings.ReplaceAll(tt.name, " ", "-"), func(c *fiber.Ctx) error {
				c.Set("ETag", `"half"`)
				c.Set("Cache-Control", "public, max-age=60")
				_ = c.SendString("half an answer")
				return tt.err
			})
		}
	})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := n.do(t, "GET", "/api/"+strings.ReplaceAll(tt.name, " ", "-")+"?token=hush")
			if r.StatusCode != tt.status || r.code(t) != tt.code {
				t.Errorf("got %d %s", r.StatusCode, r.body)
			}
			if strings.Contains(r.body, "secret") || strings.Contains(r.body, "half") || r.Header.Get("ETag") != "" {
				t.Errorf("leaks: %s, ETag %s", r.body, r.Header.Get("ETag"))
			}
			if name, value, wants := strings.Cut(tt.header, ": "); wants && r.Header.Get(name) != value {
				t.Errorf("%s: %q", name, r.Header.Get(name))
			}
			e := n.logs.entry(t, r.Header.Get("X-Request-Id"))
			if e["level"] != tt.level || e["code"] != tt.code || e["route"] != "/api/"+strings.ReplaceAll(tt.name, " ", "-") {
				t.Errorf("log %v", e)
			}
			if p := problem.As(tt.err); p.Cause != nil && e["cause"] != p.Cause.Error() {
				t.Errorf("log cause %v", e["cause"])
			}
		})
	}
	t.Cleanup(func() { // after the parallel cases
		if logs := n.logs.text(); strings.Contains(logs, "hush") || !strings.Contains(logs, "/api/refusal") {
			t.Errorf("want a log without the query, got: %s", logs)
		}
	})
}

// TestMissedDeadline checks that an error after the deadline becomes a 503. Postgres reports the deadline
// in its own words ("canceling statement due to user request"), which is no fault of the code.
func TestMissedDeadline(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/late", func(c *fiber.Ctx) error {
			of(c.Context()).deadline = time.Now().Add(-time.Millisecond)
			return errors.New("canceling statement due to user request")
		})
		s.App.Get("/api/refused-late", func(c *fiber.Ctx) error {
			of(c.Context()).deadline = time.Now().Add(-time.Millisecond)
			return problem.InvalidParameter("limit", "must be 1..100")
		})
		s.App.Get("/api/broken-late", func(c *fiber.Ctx) error {
			of(c.Context()).deadline = time.Now().Add(-time.Millisecond)
			panic("a fault")
		})
	})
	for path, code := range map[string]string{"/api/late": "unavailable", "/api/refused-late": "invalid_parameter", "/api/broken-late": "internal"} {
		r := n.do(t, "GET", path)
		if r.code(t) != code || (code == "unavailable" && (r.StatusCode != 503 || r.Header.Get("Retry-After") != "1")) {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}

func TestProblemIsWrittenInOrder(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/x", func(*fiber.Ctx) error {
			return problem.InvalidRequest(problem.Field{Field: "name", Message: "must be <here>"})
		})
	})
	r := n.do(t, "GET", "/api/x")
	want := `{"ok":false,"type":"http://pulse.test/docs/errors#error-invalid_request","title":"Invalid request","status":422,` +
		`"detail":"Nothing was stored. name must be <here>.","code":"invalid_request",` +
		`"errors":[{"field":"name","message":"must be <here>"}],"requestId":"` + r.Header.Get("X-Request-Id") + `"}`
	if r.body != want {
		t.Errorf("got  %s\nwant %s", r.body, want)
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	t.Parallel()
	n := run(t, func(o *Options) {
		o.RenderError = func(*fiber.Ctx, *problem.Error, string) error { panic("renderer broke") }
	}, func(s *Server) {
		s.App.Get("/api/x", func(*fiber.Ctx) error { panic("handler broke") })
	})
	for path, cause := range map[string]string{"/api/x": "panic: handler broke", "/page": "panic: renderer broke"} {
		r := n.do(t, "GET", path)
		if r.StatusCode != 500 || r.code(t) != "internal" || strings.Contains(r.body, "broke") {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
		e := n.logs.entry(t, r.Header.Get("X-Request-Id"))
		if e["level"] != "ERROR" || e["cause"] != cause || !strings.Contains(e["stack"].(string), "errors_test.go") {
			t.Errorf("log %v", e)
		}
	}
}

func TestPagesGetPages(t *testing.T) {
	t.Parallel()
	render := func(c *fiber.Ctx, p *problem.Error, id string) error {
		if strings.HasPrefix(c.Path(), "/broken") {
			_ = c.SendString("half a page")
			return errors.New("template broke")
		}
		c.Type("html", "utf-8")
		return c.SendString("<h1>" + p.Title + "</h1>" + id)
	}
	n := run(t, func(o *Options) { o.RenderError = render }, nil)
	r := n.do(t, "GET", "/nothing")
	if r.StatusCode != 404 || r.body != "<h1>Not found</h1>"+r.Header.Get("X-Request-Id") ||
		r.Header.Get("Content-Type") != "text/html; charset=utf-8" || r.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("page: %d %v %s", r.StatusCode, r.Header, r.body)
	}
	r = n.do(t, "GET", "/broken")
	if r.StatusCode != 404 || !strings.HasPrefix(r.body, "Not found. ") || r.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("fallback: %d %s", r.StatusCode, r.body)
	}
	if e := n.logs.entry(t, r.Header.Get("X-Request-Id")); !strings.Contains(e["cause"].(string), "template broke") {
		t.Errorf("log %v", e)
	}
	if r = n.do(t, "GET", "/apix"); r.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("/apix is not under /api, but got %s", r.Header.Get("Content-Type"))
	}
}

// TestLateAnswerInWords checks that a reader of a page isn't told about a header that only programs send.
func TestLateAnswerInWords(t *testing.T) {
	t.Parallel()
	late := func(*fiber.Ctx) error { return context.DeadlineExceeded }
	broken := func(*fiber.Ctx) error { return errors.New("broke") }
	n := run(t, nil, func(s *Server) {
		s.App.Get("/api/late", late)
		s.App.Get("/api/broken", broken)
		s.App.Get("/late", late)
		s.App.Get("/broken", broken)
	})
	for path, status := range map[string]int{"/late": 503, "/broken": 500} {
		if r := n.do(t, "GET", "/api"+path); r.StatusCode != status || !strings.Contains(r.body, "Idempotency-Key") {
			t.Errorf("/api%s: %d %s", path, r.StatusCode, r.body)
		}
		if r := n.do(t, "GET", path); r.StatusCode != status || strings.Contains(r.body, "Idempotency-Key") || !strings.Contains(r.body, "Try again") {
			t.Errorf("%s: %d %s", path, r.StatusCode, r.body)
		}
	}
}
