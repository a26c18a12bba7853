package oauth_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/update"
)

// TestMCPClientSignsIn checks that the SDK's client finds all it needs from the 401 of /mcp, registers or
// names its document, and publishes.
func TestMCPClientSignsIn(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		const document = "https://app.example/client.json"
		s.docs.put(document, `{"client_id":"`+document+`","client_name":"App","redirect_uris":["http://localhost/callback"]}`)
		for name, handler := range map[string]auth.AuthorizationCodeHandlerConfig{
			"registration": {DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
				Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "App", RedirectURIs: []string{callback}}}},
			"document": {RedirectURL: "http://localhost:5555/callback",
				ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: document}},
		} {
			handler.AuthorizationCodeFetcher = func(_ context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				form := s.page(s.open(a.URL), "allow")
				form.Set("key", s.key)
				to, err := url.Parse(s.send(form).header.Get("Location"))
				return &auth.AuthorizationResult{Code: to.Query().Get("code"), State: to.Query().Get("state"), Iss: to.Query().Get("iss")}, err
			}
			oauth, err := auth.NewAuthorizationCodeHandler(&handler)
			if err != nil {
				t.Fatal(err)
			}
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
				&mcp.StreamableClientTransport{Endpoint: s.base + "/mcp", OAuthHandler: oauth, DisableStandaloneSSE: true}, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer session.Close()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "publishPrediction", Arguments: map[string]any{
				"title": "By " + name, "thesis": "t", "confidence": 0.5, "horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
			}})
			if err != nil || result.IsError {
				t.Fatalf("%s: %+v, %v", name, result, err)
			}
		}
		if s.docs.asked != 1 {
			t.Errorf("the document was read %d times", s.docs.asked)
		}
	})
}

// TestMCPAsksForSignIn checks that a request without a valid bearer is refused, and that the challenge says
// where to sign in.
func TestMCPAsksForSignIn(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for bearer, code := range map[string]string{"": "missing_credentials", "pa_wrong": "invalid_credentials", "Bearer pc_wrong": "invalid_credentials"} {
			header := []string{"Accept", "application/json, text/event-stream"}
			if bearer != "" {
				header = append(header, "Authorization", "Bearer "+strings.TrimPrefix(bearer, "Bearer "))
			}
			for _, method := range []string{"initialize", "tools/list", "ping"} {
				res := s.do("POST", s.base+"/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, header...)
				challenge := res.header.Get("WWW-Authenticate")
				if res.status != 401 || !strings.Contains(string(res.body), code) ||
					!strings.Contains(challenge, `resource_metadata="`+s.base+`/.well-known/oauth-protected-resource/mcp"`) ||
					!strings.Contains(challenge, `scope="read publish"`) {
					t.Errorf("%s with %q: %d %s %s", method, bearer, res.status, challenge, res.body)
				}
			}
		}
	})
}

// TestNewAgent checks that a person without an agent can create one on the page, sees its key, and allows
// the program to use it.
func TestNewAgent(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		form := s.page(s.open(p.address()), "new")
		form.Set("name", "")
		if res := s.send(form); res.status != 422 || !strings.Contains(string(res.body), "1 to 80 characters") {
			t.Errorf("without a name: %d", res.status)
		}
		form.Set("name", "Fresh <b>")
		made := s.send(form)
		allow := s.page(made.body, "allow")
		if made.status != 200 || !agent.IsKey(allow.Get("key")) || made.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("made: %d %s", made.status, made.body)
		}
		to, _ := url.Parse(s.send(allow).header.Get("Location"))
		token, err := p.exchange(to.Query().Get("code"))
		if err != nil {
			t.Fatal(err)
		}
		if res := s.do("GET", s.base+"/api/stats", "", "", "Authorization", "Bearer "+token.AccessToken); !strings.Contains(string(res.body), `"handle":"fresh-b"`) {
			t.Errorf("stats: %s", res.body)
		}
		if strings.Contains(to.String(), allow.Get("key")) {
			t.Error("the client sees the key")
		}
	})
}

// TestNewAgentIsToldTheScopes checks that the page with a new agent's key says what the app gets.
func TestNewAgentIsToldTheScopes(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for i, tc := range []struct{ asked, refused, says, scope string }{
			{"read publish", "", "may then read and publish as", "read publish"},
			{"read publish", "publish", "may then read as", "read"},
			{"read", "", "may then read as", "read"},
			{"publish", "", "may then publish as", "publish"},
		} {
			p := s.register()
			form := s.page(s.open(p.address("scope", tc.asked)), "new")
			form.Set("name", fmt.Sprint("Fresh ", i))
			form.Del(tc.refused)
			made := s.send(form)
			if text := strings.Join(strings.Fields(regexp.MustCompile("<[^>]*>").ReplaceAllString(string(made.body), "")), " "); !strings.Contains(text, tc.says) {
				t.Errorf("%+v: the page says %s", tc, text)
			}
			to, _ := url.Parse(s.send(s.page(made.body, "allow")).header.Get("Location"))
			if token, err := p.exchange(to.Query().Get("code")); err != nil || token.Extra("scope") != tc.scope {
				t.Errorf("%+v: granted %v, %v", tc, token, err)
			}
		}
	})
}

// TestReadOnly checks that a scope that the person removes isn't granted, and that the program learns how
// to ask for it again.
func TestReadOnly(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		token, err := p.exchange(p.allow(p.address(), s.key, "publish"))
		if err != nil || token.Extra("scope") != "read" {
			t.Fatalf("%v, %v", token, err)
		}
		if status, code := s.call("GET", "/api/stats", token.AccessToken, ""); status != 200 {
			t.Errorf("stats: %d %s", status, code)
		}
		if status, code := s.call("POST", "/api/predictions", token.AccessToken, published("x")); status != 403 || code != "insufficient_scope" {
			t.Errorf("publish: %d %s", status, code)
		}
		res := s.do("POST", s.base+"/mcp", "application/json",
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"publishPrediction","arguments":`+published("x")+`}}`,
			"Accept", "application/json, text/event-stream", "Authorization", "Bearer "+token.AccessToken)
		challenge := res.header.Get("WWW-Authenticate")
		if res.status != 403 || !strings.Contains(challenge, `error="insufficient_scope", scope="publish"`) || !strings.Contains(challenge, "resource_metadata=") {
			t.Errorf("by MCP: %d %s %s", res.status, challenge, res.body)
		}
	})
}

// TestMissingRead checks that a program that may only publish learns by MCP to ask for the scope read.
func TestMissingRead(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		token, err := p.exchange(p.allow(p.address("scope", "publish"), s.key))
		if err != nil || token.Extra("scope") != "publish" {
			t.Fatalf("%v, %v", token, err)
		}
		res := s.do("POST", s.base+"/mcp", "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"getStats"}}`,
			"Accept", "application/json, text/event-stream", "Authorization", "Bearer "+token.AccessToken)
		challenge := res.header.Get("WWW-Authenticate")
		if res.status != 403 || !strings.Contains(challenge, `scope="read"`) || !strings.Contains(string(res.body), "ask for the scope read") {
			t.Errorf("by MCP: %d %s %s", res.status, challenge, res.body)
		}
	})
}

// TestOnlyTheKey checks that no scope gives a program access to credentials.
func TestOnlyTheKey(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		token := s.register().signIn()
		for _, c := range []struct{ method, path, body string }{
			{"POST", "/api/agents/me/keys", `{}`}, {"DELETE", "/api/agents/me/keys/x", ""},
			{"DELETE", "/api/agents/me/grants/01a1fc16-f338-7b64-ab79-9bf6523b6713", ""}, {"DELETE", "/api/session", ""},
		} {
			if status, code := s.call(c.method, c.path, token.AccessToken, c.body); status != 403 || code != "insufficient_scope" {
				t.Errorf("%s %s: %d %s", c.method, c.path, status, code)
			}
		}
		if status, code := s.call("GET", "/api/agents/me/grants", token.AccessToken, ""); status != 403 || code != "insufficient_scope" {
			t.Errorf("list grants: %d %s", status, code)
		}
		if status, _ := s.call("GET", "/api/agents/me/keys", token.AccessToken, ""); status != 422 {
			t.Errorf("list keys: %d", status)
		}
		if status, _ := s.call("POST", "/api/session", s.key, `{"apiKey":"`+token.AccessToken+`"}`); status != 401 {
			t.Errorf("a session for an access token: %d", status)
		}
	})
}

// TestRefresh checks that a refresh token works once. For a client that lost the answer it works a few
// seconds longer. A later second use ends the grant.
func TestRefresh(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		first := p.signIn()
		second, err := p.renew(first.RefreshToken)
		if err != nil || second.RefreshToken == first.RefreshToken || second.AccessToken == first.AccessToken || second.Extra("scope") != "read publish" {
			t.Fatalf("renewed: %+v, %v", second, err)
		}
		for _, token := range []string{first.AccessToken, second.AccessToken} {
			if status, _ := s.call("GET", "/api/stats", token, ""); status != 200 {
				t.Errorf("after a renewal: %d", status)
			}
		}
		if _, err := p.renew(first.RefreshToken); err != nil {
			t.Errorf("again at once: %v", err)
		}
		s.later.Add(int64(11 * time.Second))
		if _, err := p.renew(first.RefreshToken); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("used again later: %v", err)
		}
		if _, err := p.renew(second.RefreshToken); err == nil {
			t.Error("the other refresh token still works")
		}
		if status, _ := s.call("GET", "/api/stats", second.AccessToken, ""); status != 401 {
			t.Errorf("the access token still works: %d", status)
		}
	})
}

// TestClientLivesAsLongAsItsGrant checks that a program that renews its tokens need not register again.
func TestClientLivesAsLongAsItsGrant(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		token := p.signIn()
		for days := 25; days <= 125; days += 25 {
			s.later.Add(int64(25 * 24 * time.Hour))
			var err error
			if token, err = p.renew(token.RefreshToken); err != nil {
				t.Fatalf("after %d days: %v", days, err)
			}
		}
	})
}

// TestTokenEndsWithItsKey checks that a program learns when its token ends, even if the key ends sooner.
func TestTokenEndsWithItsKey(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		token := p.signIn()
		if seconds := token.ExpiresIn; seconds < 3590 || seconds > 3600 {
			t.Errorf("it lasts %d s, want an hour", seconds)
		}
		s.mustCall("POST", "/api/agents/me/keys", s.key, `{"graceSeconds":600}`)
		token, err := p.renew(token.RefreshToken)
		if err != nil || token.ExpiresIn < 580 || token.ExpiresIn > 600 {
			t.Errorf("with a key that ends in ten minutes: %+v, %v", token, err)
		}
	})
}

// TestStreamNeedsRead checks that a program that may only publish sees only public updates.
func TestStreamNeedsRead(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		s.inTx(func(ctx context.Context, tx bun.Tx) error {
			return update.Record(ctx, tx, update.Update{
				Type: update.PredictionBaseline, At: time.Now(), Private: true,
				Ref: update.Ref{Prediction: &update.Prediction{ID: s.agent.ID, AgentID: s.agent.ID, Status: "open"}},
			})
		})
		if err := update.NewSequencer(s.DB, time.Now).Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		p := s.register()
		for scope, sees := range map[string]bool{"publish": false, "read": true} {
			p.Scopes = []string{scope}
			req, err := http.NewRequestWithContext(t.Context(), "GET", s.base+"/api/events", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header = http.Header{
				"Authorization": {"Bearer " + p.signIn().AccessToken}, "Last-Event-Id": {"0"}, "User-Agent": {"test/1.0"},
			}
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			said, lines := "", bufio.NewScanner(res.Body)
			for !strings.Contains(said, "heartbeat") && lines.Scan() {
				said += lines.Text() + "\n"
			}
			if err := res.Body.Close(); err != nil || strings.Contains(said, "prediction.baseline") != sees || !strings.Contains(said, "heartbeat") {
				t.Errorf("scope %s, %v:\n%s", scope, err, said)
			}
		}
	})
}

// TestWithheldNeedsRead checks that a program that may only publish sees no prediction before its reveal.
func TestWithheldNeedsRead(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		const title = "Is it a secret?"
		s.mustCall("POST", "/api/predictions", s.key, published(title))
		s.inTx(func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.ExecContext(ctx, "UPDATE predictions SET unrevealed = TRUE, reveal = 'close'"); err != nil {
				return err
			}
			return generation.Move(ctx, tx, generation.Predictions)
		})
		p := s.register()
		for scope, sees := range map[string]bool{"publish": false, "read": true} {
			p.Scopes = []string{scope}
			res := s.do("GET", s.base+"/api/predictions", "", "", "Authorization", "Bearer "+p.signIn().AccessToken)
			if res.status != 200 || strings.Contains(string(res.body), title) != sees {
				t.Errorf("scope %s: %d %s", scope, res.status, res.body)
			}
		}
	})
}

// TestWithProvider checks that with an identity provider the metadata names that provider, and the service
// signs no program in.
func TestWithProvider(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for _, path := range []string{"", "/mcp"} {
			res := s.do("GET", s.base+"/.well-known/oauth-protected-resource"+path, "", "")
			if res.status != 200 || !strings.Contains(string(res.body), `"authorization_servers":["https://id.example"],"scopes_supported":["forecasts"]`) ||
				!strings.Contains(string(res.body), `"resource":"`+s.base+path+`"`) {
				t.Errorf("%s: %d %s", path, res.status, res.body)
			}
		}
		for _, path := range []string{"/oauth/authorize", "/.well-known/oauth-authorization-server"} {
			if res := s.do("GET", s.base+path, "", ""); res.status != http.StatusNotFound {
				t.Errorf("%s: %d", path, res.status)
			}
		}
	}, func(c *config.Config) {
		c.IdentityURL, c.IdentityScope, c.Registration = "https://id.example", "forecasts", "closed"
	})
}
