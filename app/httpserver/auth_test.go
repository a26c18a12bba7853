package httpserver

import (
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	n := run(t, nil, func(s *Server) {
		who := func(c *fiber.Ctx) error {
			if p := PrincipalOf(c); p != nil {
				return c.SendString(p.AgentID().String())
			}
			return c.SendString("nobody")
		}
		s.App.Get("/api/required", s.RequireAgent(), who)
		s.App.Get("/api/optional", s.OptionalAgent(), who)
	})
	good := agentID.String()
	tests := []struct {
		name               string
		authorization      []string
		required, optional string // the body of a 200, else the code
	}{
		{"none", nil, "missing_credentials", "nobody"},
		{"good", []string{"Bearer good"}, good, good},
		{"scheme in any case", []string{"bEARER good"}, good, good},
		{"more spaces", []string{"Bearer   good"}, good, good},
		{"unknown", []string{"Bearer bad"}, "invalid_credentials", "invalid_credentials"},
		{"empty header", []string{""}, "invalid_credentials", "invalid_credentials"},
		{"no scheme", []string{"good"}, "invalid_credentials", "invalid_credentials"},
		{"no token", []string{"Bearer"}, "invalid_credentials", "invalid_credentials"},
		{"other scheme", []string{"Basic Z29vZDo="}, "invalid_credentials", "invalid_credentials"},
		{"two tokens", []string{"Bearer good good"}, "invalid_credentials", "invalid_credentials"},
		{"two in one header", []string{"Bearer good, Bearer good"}, "invalid_credentials", "invalid_credentials"},
		{"two headers", []string{"Bearer good", "Bearer good"}, "invalid_credentials", "invalid_credentials"},
		{"disabled", []string{"Bearer disabled"}, "agent_disabled", "agent_disabled"},
		{"provider down", []string{"Bearer down"}, "unavailable", "unavailable"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var headers []string
			for _, a := range tt.authorization {
				headers = append(headers, "Authorization: "+a)
			}
			for path, want := range map[string]string{"/api/required": tt.required, "/api/optional": tt.optional} {
				r := n.do(t, "GET", path, headers...)
				got := r.body
				if r.StatusCode != 200 {
					got = r.code(t)
				}
				if got != want {
					t.Errorf("%s: got %s, want %s", path, got, want)
				}
				challenge := r.Header.Get("WWW-Authenticate")
				if (r.StatusCode == 401) != strings.HasPrefix(challenge, "Bearer ") {
					t.Errorf("%d with WWW-Authenticate %q", r.StatusCode, challenge)
				}
				if got == "missing_credentials" && !strings.Contains(r.body, "POST http://pulse.test/api/agents") {
					t.Errorf("%s doesn't say how to get a key", r.body)
				}
			}
		})
	}
}
