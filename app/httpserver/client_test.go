package httpserver

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
)

func whoami(c *fiber.Ctx) error { return c.SendString(ClientAddr(c).String()) }

func TestClientAddress(t *testing.T) {
	t.Parallel()
	routes := func(s *Server) { s.App.Get("/api/me", whoami) }
	behind := run(t, func(o *Options) { o.Config.TrustedProxies = "127.0.0.1, 10.0.0.0/8, fd00::/8" }, routes)
	direct := run(t, nil, routes)
	tests := []struct {
		name    string
		headers []string
		want    string
	}{
		{"no proxy header", nil, "127.0.0.1"},
		{"one hop", []string{"203.0.113.7"}, "203.0.113.7"},
		{"an entry written by the client is ignored", []string{"1.1.1.1, 203.0.113.7"}, "203.0.113.7"},
		{"trusted hops are skipped", []string{"1.1.1.1, 203.0.113.7, 10.1.2.3, 127.0.0.1"}, "203.0.113.7"},
		{"several headers are one list", []string{"1.1.1.1, 203.0.113.7", "10.1.2.3"}, "203.0.113.7"},
		{"all trusted: the leftmost", []string{"10.9.9.9, 10.1.2.3"}, "10.9.9.9"},
		{"IPv6", []string{"2001:db8::1, fd00::2"}, "2001:db8::1"},
		{"with ports", []string{"203.0.113.7:4711, [fd00::2]:80"}, "203.0.113.7"},
		{"mapped IPv4", []string{"::ffff:203.0.113.7"}, "203.0.113.7"},
		{"garbage ends the walk", []string{"203.0.113.7, unknown, 10.1.2.3"}, "10.1.2.3"},
		{"only garbage", []string{"unknown"}, "127.0.0.1"},
		{"empty", []string{""}, "127.0.0.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			for _, h := range tt.headers {
				headers = append(headers, "X-Forwarded-For: "+h)
			}
			if got := behind.do(t, "GET", "/api/me", headers...).body; got != tt.want {
				t.Errorf("behind a proxy: %s, want %s", got, tt.want)
			}
			if got := direct.do(t, "GET", "/api/me", headers...).body; got != "127.0.0.1" {
				t.Errorf("without a trusted proxy: %s", got)
			}
		})
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	behind := run(t, func(o *Options) { o.Config.TrustedProxies = "127.0.0.0/8" }, nil)
	direct := run(t, nil, nil)
	made := regexp.MustCompile(`^[0-9a-f]{24}$`)
	for name, tt := range map[string]struct {
		id    string
		taken bool
	}{
		"well-formed": {"aB3_-" + strings.Repeat("x", 59), true},
		"too long":    {strings.Repeat("x", 65), false},
		"odd":         {"a b", false},
		"quoted":      {`a"b`, false},
		"empty":       {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := behind.do(t, "GET", "/livez", "X-Request-Id: "+tt.id).Header.Get("X-Request-Id")
			if (got == tt.id) != tt.taken || (!tt.taken && !made.MatchString(got)) {
				t.Errorf("from a proxy: %q became %q", tt.id, got)
			}
			if got := direct.do(t, "GET", "/livez", "X-Request-Id: "+tt.id).Header.Get("X-Request-Id"); !made.MatchString(got) {
				t.Errorf("from a client: %q became %q", tt.id, got)
			}
		})
	}
}

func TestAccessLog(t *testing.T) {
	t.Parallel()
	seen := make(chan Observation, 1)
	n := run(t, func(o *Options) { o.Observe = func(ob Observation) { seen <- ob } }, func(s *Server) {
		s.App.Get("/api/things/:id", s.RequireAgent(), ok)
	})
	r := n.do(t, "GET", "/api/things/7?key=hush", "Authorization: Bearer good")
	e := n.logs.entry(t, r.Header.Get("X-Request-Id"))
	for key, want := range map[string]any{
		"level": "INFO", "method": "GET", "route": "/api/things/:id", "status": 200.0,
		"bytes": float64(len(r.body)), "agent_id": agentID.String(), "remote": "127.0.0.1",
	} {
		if e[key] != want {
			t.Errorf("%s is %v, want %v", key, e[key], want)
		}
	}
	if _, timed := e["duration"].(float64); !timed {
		t.Errorf("no duration in %v", e)
	}
	if logs := n.logs.text(); strings.Contains(logs, "hush") || strings.Contains(logs, "good") {
		t.Errorf("secrets in the log: %s", logs)
	}
	if ob := <-seen; ob.Route != "/api/things/:id" || ob.Status != 200 || ob.Principal.AgentID() != agentID || ob.Bytes != len(r.body) {
		t.Errorf("observed %+v", ob)
	}
	quiet := run(t, func(o *Options) { o.Config.LogFormat = "off" }, nil)
	if quiet.do(t, "GET", "/livez"); quiet.logs.text() != "" {
		t.Errorf("LOG_FORMAT=off logs %s", quiet.logs.text())
	}
}
