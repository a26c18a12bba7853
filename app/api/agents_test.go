package api_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		forged := key[:len(key)-1] + map[bool]string{true: "b", false: "a"}[key[len(key)-1] == 'a']
		protected := []call{{path: "/api/stats"}, {method: "POST", path: "/api/predictions", body: forecast(nil)}, {method: "PATCH", path: "/api/agents/me", body: "{}"}, {method: "DELETE", path: "/api/session"}}
		for _, c := range protected {
			a := s.do(t, c)
			if detail := a.refused(401, "missing_credentials"); !strings.Contains(detail, "/api/agents") || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s %s: %s, %q", c.method, c.path, detail, a.header.Get("WWW-Authenticate"))
			}
			for _, bad := range []string{"x", forged, "pc_0000_aaaa", "ps_nope", strings.Repeat("k", 5000), "ключ"} {
				c.bearer = bad
				a := s.do(t, c)
				a.refused(401, "invalid_credentials")
				if !strings.Contains(a.header.Get("WWW-Authenticate"), `error="invalid_token"`) {
					t.Errorf("%.20s: challenge %q", bad, a.header.Get("WWW-Authenticate"))
				}
			}
		}
		for _, c := range []call{{path: "/api/stats"}, {path: "/api/assignments"}, {path: "/api/leaderboard"}} {
			c.bearer = key
			s.do(t, c).fine()
		}
	}, func(c *config.Config) { c.RateLimitFailures = config.Rate{} })
}

func TestSession(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		key := s.register(t, "Ada")
		before := time.Now()
		a := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}).fine()
		token := a.text("session", "token")
		expires, err := time.Parse(time.RFC3339, a.text("session", "expiresAt"))
		if err != nil || !strings.HasPrefix(token, "ps_") || expires.Before(before.Add(23*time.Hour)) || expires.After(before.Add(25*time.Hour)) || a.text("agent", "handle") != "ada" {
			t.Fatalf("%v: %s", err, a.raw)
		}
		s.do(t, call{path: "/api/stats", bearer: token}).fine()
		s.do(t, call{method: "POST", path: "/api/predictions", bearer: token, body: forecast(nil)}).fine()
		s.do(t, call{method: "DELETE", path: "/api/session", bearer: key}).refused(422, "invalid_request")
		s.do(t, call{method: "DELETE", path: "/api/session", bearer: token}).fine()
		s.do(t, call{path: "/api/stats", bearer: token}).refused(401, "invalid_credentials")
		s.do(t, call{path: "/api/stats", bearer: key}).fine()

		s.do(t, call{method: "POST", path: "/api/session", body: "{}"}).refused(422, "invalid_request")
		s.do(t, call{method: "POST", path: "/api/session", body: `{"apiKey":""}`}).refused(422, "invalid_request")
		s.do(t, call{method: "POST", path: "/api/session", body: `{"apiKey":5}`}).refused(422, "invalid_request")
		s.do(t, call{method: "POST", path: "/api/session", body: `[`}).refused(400, "invalid_json")
		s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": "wrong"}}).refused(401, "invalid_credentials")
		live := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": key}}).fine().text("session", "token")
		for _, sent := range []string{token, live} {
			detail := s.do(t, call{method: "POST", path: "/api/session", body: map[string]any{"apiKey": sent}}).refused(401, "invalid_credentials")
			if !strings.Contains(detail, "Send your agent's API key") || strings.Contains(detail, "expired") {
				t.Errorf("a token as apiKey: %s", detail)
			}
		}
	})
}

func TestRegistration(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		a := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Ada", "homepage": "https://example.org"}}).fine()
		if a.text("agent", "handle") != "ada" || a.text("agent", "homepage") != "https://example.org" || a.at("agent", "model") != nil {
			t.Errorf("%s", a.raw)
		}
		twin := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "ada"}}).fine()
		if twin.text("agent", "handle") == "ada" {
			t.Error("two agents share a handle")
		}
		for _, reserved := range []string{"market", "consensus", "fifty", "new", "me"} {
			a := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": reserved}})
			if a.status == 200 && a.text("agent", "handle") == reserved {
				t.Errorf("the handle %q was given to another agent", reserved)
			}
		}
		for name, body := range map[string]any{
			"no name": "{}", "empty": map[string]any{"name": " "}, "type": map[string]any{"name": 1}, "long": map[string]any{"name": strings.Repeat("x", 81)},
			"homepage": map[string]any{"name": "a", "homepage": "javascript:x"}, "control": map[string]any{"name": "a\x07"},
		} {
			if a := s.do(t, call{method: "POST", path: "/api/agents", body: body}); a.status != 422 || a.count("errors") == 0 {
				t.Errorf("%s: %s", name, a.raw)
			}
		}
		key := a.text("apiKey")
		changed := s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: map[string]any{"name": "Ada L.", "homepage": ""}}).fine()
		if made := s.do(t, call{method: "POST", path: "/api/predictions", bearer: key, body: forecast(nil)}).fine(); made.text("prediction", "agent", "name") != "Ada L." {
			t.Errorf("a prediction right after the change names %s", made.text("prediction", "agent", "name"))
		}
		if own := s.do(t, call{path: "/api/stats", bearer: key}).fine(); own.text("stats", "agent", "name") != "Ada L." ||
			!strings.HasPrefix(own.text("stats", "reason"), "Not ranked yet: needs 30 more settled events") {
			t.Errorf("the stats right after the change: %s", own.raw)
		}
		if changed.text("agent", "name") != "Ada L." || changed.at("agent", "homepage") != nil || changed.text("agent", "handle") != "ada" {
			t.Errorf("%s", changed.raw)
		}
		for _, body := range []string{`{"name":""}`, `{"name":null}`, `{"model":null}`, `{"handle":5}`} {
			a := s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: body})
			if a.refused(422, "invalid_request"); a.count("errors") != 1 {
				t.Errorf("%s: %s", body, a.raw)
			}
		}
		s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: `{"model":"m"}`}).fine()
		if a := s.do(t, call{method: "PATCH", path: "/api/agents/me", bearer: key, body: `{"model":""}`}).fine(); a.at("agent", "model") != nil {
			t.Errorf("a model that was cleared: %s", a.raw)
		}
		public := s.do(t, call{path: "/api/agents/ada"}).fine()
		if public.text("agent", "name") != "Ada L." || public.text("stats", "predictions", "total") != "1" || strings.Contains(string(public.raw), "usage") {
			t.Errorf("%s", public.raw)
		}
	})
	each(t, func(t *testing.T, s *service) {
		detail := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Ada"}}).refused(403, "registration_closed")
		if !strings.Contains(detail, "pulsecast agent create") {
			t.Errorf("%q doesn't say whom to ask for a key", detail)
		}
	}, func(c *config.Config) { c.Registration = "closed" })
}

// TestRegistrationIsLimitedLikePublishing checks that an address can't register more agents than it may
// publish predictions. Otherwise the limits of the single agents would add up to no limit.
func TestRegistrationIsLimitedLikePublishing(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for range 3 {
			s.register(t, "Many")
		}
		a := s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Many"}})
		a.refused(429, "rate_limited")
		if a.header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 3, Per: time.Hour} })
}

// TestOneAddressRegistersMany checks that five of 120 registrations from one address are accepted, and that
// a mistake in a name doesn't count.
func TestOneAddressRegistersMany(t *testing.T) {
	t.Parallel()
	s := start(t, backends[0], func(c *config.Config) { c.RegistrationRate = config.Rate{N: 5, Per: time.Hour} })
	register := func(name string) answer {
		return s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": name}})
	}
	for _, name := range []string{"Market", "Pulsecast Official", "Мarket", "Mar\u200bket"} {
		register(name).refused(422, "invalid_request")
	}
	for i := range 120 {
		a := register(fmt.Sprint("Bot ", i))
		if i < 5 {
			a.fine()
			continue
		}
		if a.refused(429, "rate_limited"); a.header.Get("Retry-After") == "" {
			t.Fatal("no Retry-After")
		}
	}
}

var apiKey = regexp.MustCompile(`pc_\w+_\w{20,}`)

// TestEveryWayToRegisterCounts checks that registrations by the API, the form and the consent page count
// against one limit of an address.
func TestEveryWayToRegisterCounts(t *testing.T) {
	t.Parallel()
	s := start(t, backends[0], func(c *config.Config) { c.RegistrationRate = config.Rate{N: 3, Per: time.Hour} })
	const callback = "http://127.0.0.1:9/callback"
	app := s.do(t, call{method: "POST", path: "/oauth/register", body: map[string]any{"client_name": "App", "redirect_uris": []string{callback}}})
	consent := url.Values{
		"client_id": {app.text("client_id")}, "redirect_uri": {callback}, "response_type": {"code"},
		"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}, "do": {"new"},
	}
	submit := func(path string, form url.Values, name string, status int) {
		t.Helper()
		form.Set("name", name)
		res, err := http.PostForm(s.base+path, form)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != status || (status == 200) != apiKey.Match(body) {
			t.Errorf("%s for %s: %d, want %d: %v %.300s", path, name, res.StatusCode, status, err, body)
		}
	}
	submit("/agents/new", url.Values{}, "Market", 422)
	submit("/agents/new", url.Values{}, "By form", 200)
	submit("/oauth/authorize", consent, "Market", 422)
	submit("/oauth/authorize", consent, "By consent", 200)
	s.register(t, "By the API")
	submit("/agents/new", url.Values{}, "Fourth", 429)
	submit("/oauth/authorize", consent, "Fourth", 429)
	s.do(t, call{method: "POST", path: "/api/agents", body: map[string]any{"name": "Fourth"}}).refused(429, "rate_limited")
}

// TestEncodedPathsStayInTheAPI checks that a refusal is problem+json even if the decoded path would lead
// out of /api.
func TestEncodedPathsStayInTheAPI(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for _, path := range []string{"/api/agents/..%2F..%2Fetc%2Fpasswd", "/api/agents/..%2F..%2Fetc%2Fpasswd/review", "/api/predictions/..%2F..%2Fx"} {
			s.do(t, call{path: path}).refused(http.StatusNotFound, "not_found")
		}
	})
}

// TestFirstKeyShows checks that an agent of an identity provider is in the list of agents from its first request on,
// although the list was read a moment before.
func TestFirstKeyShows(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	provider := httptest.NewServer(mux)
	t.Cleanup(provider.Close)
	mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer":%q,"introspection_endpoint":%q}`, provider.URL, provider.URL+"/introspect")
	})
	mux.HandleFunc("/introspect", func(w http.ResponseWriter, r *http.Request) { // each key is its agent's name
		fmt.Fprintf(w, `{"active":true,"scope":"f","sub":%[1]q,"username":%[1]q}`, r.PostFormValue("token"))
	})
	each(t, func(t *testing.T, s *service) {
		for i, key := range []string{"ada", "bea", "cleo"} {
			if n := s.do(t, call{path: "/api/agents", bearer: key}).fine().count("agents"); n != i+1 {
				t.Errorf("the first request of %s finds %d agents, want %d", key, n, i+1)
			}
		}
	}, func(c *config.Config) {
		c.IdentityURL, c.IdentityClientID, c.IdentityScope = provider.URL, "us", "f"
	})
}
