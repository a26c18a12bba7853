package oauth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"golang.org/x/oauth2"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/oauth"
)

// TestRequestsRefused checks that a refusal is a page for the person, who may follow its link to the client if the
// address belongs to the client. No request leads to the client without a click, even if a person has allowed
// the client before, because that person may be the one who attacks others with it.
func TestRequestsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		document := func(id string) *program {
			s.docs.put(id, `{"client_id":"`+id+`","redirect_uris":["`+callback+`"]}`)
			return s.program(id, callback)
		}
		registered, documented := s.register(), document("https://app.example/client.json")
		registered.signIn()
		documented.signIn()
		refused(t, "an allowed app", registered)
		refused(t, "an allowed app with a document", documented)
		refused(t, "an unknown app", s.register())
		refused(t, "an unknown app with a document", document("https://evil.example/client.json"))
	})
}

// refused sends requests of a program that must be refused.
func refused(t *testing.T, who string, p *program) {
	t.Helper()
	for _, c := range []struct {
		name   string
		change []string
		error  string // the error in the link to the client; "" for no link
	}{
		{"no PKCE", []string{"code_challenge", "", "code_challenge_method", ""}, "invalid_request"},
		{"plain PKCE", []string{"code_challenge_method", "plain"}, "invalid_request"},
		{"plain PKCE by default", []string{"code_challenge_method", ""}, "invalid_request"},
		{"a short challenge", []string{"code_challenge", "abc"}, "invalid_request"},
		{"a challenge that is no hash", []string{"code_challenge", strings.Repeat("\x00", 43)}, "invalid_request"},
		{"a challenge with a quote", []string{"code_challenge", strings.Repeat("A", 42) + `"`}, "invalid_request"},
		{"an unknown scope", []string{"scope", "read admin"}, "invalid_scope"},
		{"another resource", []string{"resource", "https://other.example/mcp"}, "invalid_target"},
		{"a token in the answer", []string{"response_type", "token"}, "unsupported_response_type"},
		{"no response type", []string{"response_type", ""}, "unsupported_response_type"},
		{"another site", []string{"redirect_uri", "https://evil.example/callback"}, ""},
		{"another path", []string{"redirect_uri", callback + "/more"}, ""},
		{"another host", []string{"redirect_uri", "http://127.0.0.2:1/callback"}, ""},
		{"a loopback name that isn't registered", []string{"redirect_uri", "http://localhost:1/callback"}, ""},
		{"a user name", []string{"redirect_uri", "http://x@127.0.0.1:1/callback"}, ""},
		{"a fragment", []string{"redirect_uri", callback + "#x"}, ""},
		{"a query", []string{"redirect_uri", callback + "?x=1"}, ""},
		{"another scheme", []string{"redirect_uri", "javascript:alert(1)"}, ""},
		{"an unknown client", []string{"client_id", "client_unknown"}, ""},
		{"a client with NUL", []string{"client_id", "client_\x00"}, ""},
		{"a client in invalid UTF-8", []string{"client_id", "client_\xff"}, ""},
		{"no client", []string{"client_id", ""}, ""},
	} {
		for _, method := range []string{"GET", "POST"} {
			res := p.do("GET", p.address(c.change...), "", "")
			if method == "POST" { // the page's form, changed by hand
				form, _ := url.Parse(p.address(c.change...))
				sent := form.Query()
				sent.Set("do", "allow")
				sent.Set("key", p.key)
				res = p.send(sent)
			}
			page, err := goquery.NewDocumentFromReader(bytes.NewReader(res.body))
			if err != nil {
				t.Fatal(err)
			}
			if to := res.header.Get("Location"); res.status != 400 || to != "" ||
				page.Find("h1").Text() != "This app can't be connected" || !strings.Contains(page.Text(), c.error) {
				t.Errorf("%s, %s by %s: %d %q", who, c.name, method, res.status, to)
			}
			to, linked := page.Find("main a.button").Attr("href")
			u, _ := url.Parse(to)
			if q := u.Query(); linked != (c.error != "") || linked && (!strings.HasPrefix(to, callback+"?") ||
				q.Get("error") != c.error || q.Get("state") != "a-state" || q.Get("iss") != p.base || q.Get("code") != "") {
				t.Errorf("%s, %s by %s: the page leads to %q", who, c.name, method, to)
			}
		}
	}
	twice := p.address() + "&redirect_uri=https%3A%2F%2Fevil.example"
	if res := p.do("GET", twice, "", ""); res.status != 400 {
		t.Errorf("%s, two redirect addresses: %d", who, res.status)
	}
}

// TestConsentIsAPersons checks that another site can't send or frame the page, and that the page shows what
// the app asks for.
func TestConsentIsAPersons(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		form := s.page(s.open(p.address()), "allow")
		form.Set("key", s.key)
		for _, header := range [][]string{
			{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"},
		} {
			if res := s.send(form, header...); res.status != 403 || res.header.Get("Location") != "" {
				t.Errorf("sent with %v: %d", header, res.status)
			}
		}
		res := s.do("GET", p.address("redirect_uri", "http://127.0.0.1:9876/callback"), "", "")
		policy := res.header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "form-action 'self' http://127.0.0.1:9876;") || !strings.Contains(policy, "frame-ancestors 'none'") ||
			res.header.Get("X-Frame-Options") != "DENY" || res.header.Get("Cache-Control") != "no-store" {
			t.Errorf("headers %v", res.header)
		}
		for _, said := range []string{"A program", "name isn’t verified", "a program on this computer (127.0.0.1)", "Publish predictions"} {
			if !strings.Contains(string(res.body), said) {
				t.Errorf("the page doesn't say %q", said)
			}
		}
		denied, _ := url.Parse(s.send(s.page(s.open(p.address()), "deny")).header.Get("Location"))
		if denied.Query().Get("error") != "access_denied" {
			t.Errorf("denied: %s", denied)
		}
		session := s.register().signIn().AccessToken
		for _, wrong := range []string{"", "pc_wrong", s.key + "x", session} {
			form.Set("key", wrong)
			if res := s.send(form); res.status != 422 || res.header.Get("Location") != "" || strings.Contains(string(res.body), "value=\""+s.key) {
				t.Errorf("with the key %q: %d %s", wrong, res.status, res.header.Get("Location"))
			}
		}
		form.Set("key", s.key)
		form.Set("scope", "publish") // narrowing the scope grants no more than the person sees
		form.Set("publish", "yes")
		if res := s.send(form); res.status != 303 {
			t.Errorf("with a narrower scope: %d", res.status)
		}
	})
}

// TestCodes checks that a code works once, for a minute, and only for the client, verifier, redirect
// address and resource that it was made for.
func TestCodes(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for _, c := range []struct {
			name   string
			change func(p *program)
			error  string
		}{
			{"another verifier", func(p *program) { p.verifier = oauth2.GenerateVerifier() }, "invalid_grant"},
			{"no verifier", func(p *program) { p.verifier = "" }, "invalid_grant"},
			{"the challenge as verifier", func(p *program) { p.verifier = oauth2.S256ChallengeFromVerifier(p.verifier) }, "invalid_grant"},
			{"another client", func(p *program) { p.ClientID = s.register().ClientID }, "invalid_grant"},
			{"an unknown client", func(p *program) { p.ClientID = "client_unknown" }, "invalid_client"},
			{"a client that claims a document", func(p *program) { p.ClientID = "https://evil.example/client.json" }, "invalid_grant"},
			{"another address", func(p *program) { p.RedirectURL = "http://127.0.0.1:2/callback" }, "invalid_grant"},
			{"another resource", func(p *program) { p.resource = "https://other.example" }, "invalid_target"},
			{"another resource of ours", func(p *program) { p.resource = s.base }, "invalid_target"},
			{"too late", func(p *program) { s.later.Add(int64(61 * time.Second)) }, "invalid_grant"},
		} {
			p := s.register()
			code := p.allow(p.address(), s.key)
			right := *p
			c.change(p)
			if token, err := p.exchange(code); err == nil || !strings.Contains(err.Error(), c.error) {
				t.Errorf("%s: %v, %v", c.name, token, err)
			}
			if _, err := right.exchange(code); err == nil && strings.Contains(c.name, "verifier") {
				t.Errorf("%s: the code can be tried again", c.name)
			}
		}
		p := s.register()
		if _, err := p.exchange("pz_madeup"); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("a made-up code: %v", err)
		}
		res := s.post("/oauth/token", "application/x-www-form-urlencoded", "grant_type=password&client_id="+p.ClientID)
		if res.status != 400 || !strings.Contains(string(res.body), `"unsupported_grant_type"`) {
			t.Errorf("a password: %d %s", res.status, res.body)
		}
		for _, id := range []string{"%00", "client_%FF", "client_unknown"} {
			res := s.post("/oauth/token", "application/x-www-form-urlencoded", "grant_type=authorization_code&code=x&client_id="+id)
			if res.status != 401 || !strings.Contains(string(res.body), `"invalid_client"`) {
				t.Errorf("the client %s: %d %s", id, res.status, res.body)
			}
		}
	})
}

// TestCodeReplay checks that using a code twice ends the tokens that it was exchanged for.
func TestCodeReplay(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		code := p.allow(p.address(), s.key)
		token, err := p.exchange(code)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.exchange(code); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
			t.Errorf("again: %v", err)
		}
		if status, _ := s.call("GET", "/api/stats", token.AccessToken, ""); status != 401 {
			t.Errorf("the access token still works: %d", status)
		}
		if _, err := p.renew(token.RefreshToken); err == nil {
			t.Error("the refresh token still works")
		}
	})
}

// TestEnds checks that a grant ends with its agent, with its key, and when either side revokes it. A code
// that wasn't exchanged yet ends in the same cases.
func TestEnds(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for name, end := range map[string]func(p *program, a *agent.Agent, key string, token *oauth2.Token){
			"agent disabled": func(_ *program, a *agent.Agent, _ string, _ *oauth2.Token) {
				s.inTx(func(ctx context.Context, tx bun.Tx) error {
					_, err := agent.Store{}.SetStatus(ctx, tx, a.ID, agent.Disabled, time.Now())
					return err
				})
			},
			"key revoked": func(_ *program, _ *agent.Agent, key string, _ *oauth2.Token) {
				s.mustCall("DELETE", "/api/agents/me/keys/"+strings.Split(key, "_")[1], key, "")
			},
			"key replaced": func(_ *program, _ *agent.Agent, key string, _ *oauth2.Token) {
				s.mustCall("POST", "/api/agents/me/keys", key, `{"graceSeconds":0}`)
			},
			"sessions ended from outside": func(_ *program, a *agent.Agent, _ string, _ *oauth2.Token) {
				s.inTx(func(ctx context.Context, tx bun.Tx) error {
					_, err := agent.Store{}.EndAgentSessions(ctx, tx, a.ID)
					return err
				})
			},
			"grants revoked": func(_ *program, _ *agent.Agent, key string, _ *oauth2.Token) {
				for _, id := range s.grants(key) {
					s.mustCall("DELETE", "/api/agents/me/grants/"+id, key, "")
				}
			},
		} {
			a, key := s.newAgent(name)
			p := s.register()
			code := p.allow(p.address(), key)
			token, err := p.exchange(p.allow(p.address(), key))
			if err != nil {
				t.Fatal(err)
			}
			end(p, a, key, token)
			s.ended(name, p, token)
			if _, err := p.exchange(code); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
				t.Errorf("%s: the code still works: %v", name, err)
			}
		}
		for _, which := range []string{"access", "refresh"} {
			p := s.register()
			token := p.signIn()
			form := url.Values{"client_id": {s.register().ClientID}, "token": {map[string]string{"access": token.AccessToken, "refresh": token.RefreshToken}[which]}}
			if res := s.post("/oauth/revoke", "application/x-www-form-urlencoded", form.Encode()); res.status == 200 {
				t.Errorf("another client revoked the %s token", which)
			}
			form.Set("client_id", p.ClientID)
			if res := s.post("/oauth/revoke", "application/x-www-form-urlencoded", form.Encode()); res.status != 200 {
				t.Errorf("revoke: %d %s", res.status, res.body)
			}
			s.ended(which+" token revoked", p, token)
		}
	})
}

// grants returns the ids of the grants of an agent.
func (s *service) grants(key string) (ids []string) {
	s.t.Helper()
	res := s.do("GET", s.base+"/api/agents/me/grants", "", "", "Authorization", "Bearer "+key)
	var list struct{ Grants []struct{ ID string } }
	if err := json.Unmarshal(res.body, &list); err != nil || res.status != 200 {
		s.t.Fatalf("grants: %d %s", res.status, res.body)
	}
	for _, g := range list.Grants {
		ids = append(ids, g.ID)
	}
	return ids
}

func (s *service) mustCall(method, path, bearer, body string) {
	s.t.Helper()
	if status, code := s.call(method, path, bearer, body); status != 200 {
		s.t.Fatalf("%s %s: %d %s", method, path, status, code)
	}
}

// ended waits for the second within which a credential ends on every node.
func (s *service) ended(name string, p *program, token *oauth2.Token) {
	s.t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for {
		status, _ := s.call("GET", "/api/stats", token.AccessToken, "")
		if status == 401 {
			break
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("%s: the access token still works: %d", name, status)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if _, err := p.renew(token.RefreshToken); err == nil || !strings.Contains(err.Error(), "invalid_grant") {
		s.t.Errorf("%s: the refresh token still works: %v", name, err)
	}
}

// TestGrants checks that an agent sees its grants and can revoke them.
func TestGrants(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		p := s.register()
		token := p.signIn()
		res := s.do("GET", s.base+"/api/agents/me/grants", "", "", "Authorization", "Bearer "+s.key)
		id := strings.Split(strings.SplitAfter(string(res.body), `"grants":[{"id":"`)[1], `"`)[0]
		if res.status != 200 || uuid.Validate(id) != nil || !strings.Contains(string(res.body), `"name":"A program"`) || !strings.Contains(string(res.body), `"scopes":["read","publish"]`) {
			t.Fatalf("grants: %d %s", res.status, res.body)
		}
		_, other := s.newAgent("Eve")
		if status, _ := s.call("DELETE", "/api/agents/me/grants/"+id, other, ""); status != 404 {
			t.Errorf("another agent's grant: %d", status)
		}
		s.mustCall("DELETE", "/api/agents/me/grants/"+id, s.key, "")
		s.ended("grant revoked", p, token)
		if status, _ := s.call("DELETE", "/api/agents/me/grants/"+id, s.key, ""); status != 404 {
			t.Errorf("again: %d", status)
		}
	})
}

// TestRegistrationRefused checks that a client's registration is validated before it is stored.
func TestRegistrationRefused(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		for body, code := range map[string]string{
			`[`:  "invalid_client_metadata",
			`{}`: "invalid_redirect_uri",
			`{"redirect_uris":["http://evil.example/cb"]}`:                                              "invalid_redirect_uri",
			`{"redirect_uris":["javascript:alert(1)"]}`:                                                 "invalid_redirect_uri",
			`{"redirect_uris":["https://a.example/cb#x"]}`:                                              "invalid_redirect_uri",
			`{"redirect_uris":["https://аpp.example/cb"]}`:                                              "invalid_redirect_uri",
			`{"redirect_uris":["/cb"]}`:                                                                 "invalid_redirect_uri",
			`{"redirect_uris":["https://u:p@a.example/"]}`:                                              "invalid_redirect_uri",
			`{"redirect_uris":["https://a.example/"],"client_name":"a` + "\u202e" + `b"}`:               "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"client_name":"a` + "\u200b" + `b"}`:               "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"client_name":"` + strings.Repeat("x", 101) + `"}`: "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]}`:             "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"response_types":["token"]}`:                       "invalid_client_metadata",
		} {
			if res := s.post("/oauth/register", "application/json", body); res.status != 400 || !strings.Contains(string(res.body), `"error":"`+code+`"`) {
				t.Errorf("%s: %d %s", body, res.status, res.body)
			}
		}
		p := s.register()
		s.later.Add(int64(73 * time.Hour))
		if res := s.do("GET", p.address(), "", ""); res.status != 400 {
			t.Errorf("a client that was never allowed, after three days: %d", res.status)
		}
	})
}

// TestDocumentsRefused checks that a metadata document must match its address.
func TestDocumentsRefused(t *testing.T) {
	each(t, func(t *testing.T, s *service) {
		const good = "https://app.example/client.json"
		for id, body := range map[string]string{
			"https://app.example/other.json":   `{"client_id":"` + good + `","redirect_uris":["` + callback + `"]}`,
			"https://app.example/secret.json":  `{"client_id":"https://app.example/secret.json","redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"client_secret_post"}`,
			"https://app.example/html":         `<html>`,
			"https://app.example/missing.json": "",
			"https://app.example/none.json":    `{"client_id":"https://app.example/none.json","redirect_uris":[]}`,
			"https://app.example/long.json":    `{"client_id":"https://app.example/long.json","redirect_uris":["` + callback + `"],"x":"` + strings.Repeat("x", 40<<10) + `"}`,
			"https://app.example":              `{"client_id":"https://app.example","redirect_uris":["` + callback + `"]}`,
			"https://u@app.example/c.json":     `{"client_id":"https://u@app.example/c.json","redirect_uris":["` + callback + `"]}`,
			"https://app.example/a/../c.json":  `{"client_id":"https://app.example/a/../c.json","redirect_uris":["` + callback + `"]}`,
			"https://аpp.example/c.json":       `{"client_id":"https://аpp.example/c.json","redirect_uris":["` + callback + `"]}`,
			"http://app.example/c.json":        `{"client_id":"http://app.example/c.json","redirect_uris":["` + callback + `"]}`,
		} {
			if body != "" {
				s.docs.put(id, body)
			}
			if res := s.do("GET", s.program(id, callback).address(), "", ""); res.status != 400 {
				t.Errorf("%s: %d", id, res.status)
			}
		}
		s.docs.put(good, `{"client_id":"`+good+`","client_name":"App","redirect_uris":["`+callback+`"]}`)
		body := s.open(s.program(good, callback).address())
		if !strings.Contains(string(body), "<strong>app.example</strong>") {
			t.Error("the page doesn't name the host that vouches for the app")
		}
	})
}

// TestPrivateAddresses checks that the address of a document can't make the service connect to a private
// network.
func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	reached := false
	inside := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer inside.Close()
	db := dbtest.Open(t, dbtest.Kinds[0])
	s := oauth.New(oauth.Options{Config: &config.Config{BaseURL: "http://pulse.test"}, DB: db, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	admit := func() (leave func(), err error) { return func() {}, nil }
	for _, id := range []string{
		inside.URL + "/client.json", "https://localhost/client.json", "https://10.0.0.1/client.json", "https://169.254.169.254/latest",
		"https://[::1]/client.json", "https://[::ffff:127.0.0.1]/client.json",
	} {
		if _, err := s.Begin(t.Context(), url.Values{"client_id": {id}}, admit); err == nil {
			t.Errorf("%s was read", id)
		}
	}
	if reached {
		t.Error("a private address was reached")
	}
}
