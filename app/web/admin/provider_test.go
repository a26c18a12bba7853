package admin_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
)

const providerPath, callbackPath = "/admin/sign-in/provider", "/admin/sign-in/callback"

func withProvider(t *testing.T, db *database.DB) (*house, *identitytest.Provider) {
	t.Helper()
	p := identitytest.New(t, func() time.Time { return start })
	return openWith(t, db, base, p.Configure), p
}

// toProvider starts a sign-in and returns the address that the provider redirects the browser to.
func (b *browser) toProvider() string {
	b.h.t.Helper()
	r := b.get(providerPath)
	if r.status != 303 {
		b.h.t.Fatalf("to the provider: %d %s", r.status, r.text("main"))
	}
	back := b.get(r.header.Get("Location"))
	if back.status != 303 {
		b.h.t.Fatalf("at the provider: %d %s", back.status, back.body)
	}
	return back.header.Get("Location")
}

func (b *browser) viaProvider() reply {
	b.h.t.Helper()
	return b.get(b.toProvider())
}

func TestSignInAtProvider(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h, p := withProvider(t, db)
		b := h.browser()
		if r := b.get("/admin/agents?sort=skill"); r.status != 303 {
			t.Fatalf("signed out: %d", r.status)
		}
		form := b.get("/admin/sign-in")
		if got := form.text(`a[href="` + providerPath + `"]`); got != "Sign in with "+strings.TrimPrefix(p.URL, "http://") {
			t.Errorf("the form offers %q", got)
		}
		r := b.viaProvider()
		if r.status != 303 || r.header.Get("Location") != "/admin/agents?sort=skill" {
			t.Fatalf("back: %d to %q: %s", r.status, r.header.Get("Location"), r.text("main"))
		}
		for _, c := range r.header.Values("Set-Cookie") {
			if c := strings.ToLower(c); strings.HasPrefix(c, "pulsecast_admin=") && (!strings.Contains(c, "httponly") || !strings.Contains(c, "samesite=lax")) {
				t.Errorf("the session's cookie: %s", c)
			}
		}
		if got := b.get("/admin").text(".who-am-i .muted"); got != "ada" {
			t.Errorf("signed in as %q", got)
		}
		asked := p.Asked()[0]
		for name, want := range map[string]string{"scope": "openid profile " + identitytest.AdminScope, "redirect_uri": base + callbackPath, "prompt": ""} {
			if asked.Get(name) != want {
				t.Errorf("asked with %s=%q", name, asked.Get(name))
			}
		}
		for _, name := range []string{"state", "nonce", "code_challenge"} {
			if len(asked.Get(name)) < 43 {
				t.Errorf("asked with %s=%q", name, asked.Get(name))
			}
		}
		if other := h.browser(); other.viaProvider().status != 303 || h.count("SELECT COUNT(*) FROM admins WHERE issuer = ? AND subject = ?", p.URL, "subject of ada@example.org") != 1 {
			t.Error("the second sign-in did not use the same admin")
		}
		if n := h.count("SELECT COUNT(*) FROM audit_log WHERE actor = 'ada' AND action = 'sign_in' AND note = ?", "through "+p.URL); n != 2 {
			t.Errorf("%d entries of sign-ins", n)
		}
		if n := h.count("SELECT COUNT(*) FROM audit_log WHERE actor = 'ada' AND action = 'admin_created'"); n != 1 {
			t.Errorf("%d entries of created admins", n)
		}
		for _, secret := range []string{"", password} {
			if r := h.browser().signIn("ada", secret); r.status != 401 {
				t.Errorf("with the password %q: %d", secret, r.status)
			}
		}
		if r := b.post("/admin/system", "/admin/sign-out", url.Values{"everywhere": {"yes"}}); r.status != 303 || h.count("SELECT COUNT(*) FROM admin_sessions") != 0 {
			t.Errorf("sign-out everywhere: %d", r.status)
		}
	})
}

// TestProviderNeverTakesOverAnAdmin checks that a person with an existing admin's name doesn't
// become that admin.
func TestProviderNeverTakesOverAnAdmin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h, p := withProvider(t, db)
		for _, c := range []struct{ called, name string }{
			{"eve", "eve-2"}, {"EVE@elsewhere.org", "eve-3"}, {"Ève", "eve-4"}, {"eve", "eve-2"}, {"Ada Lovelace", "ada-lovelace"},
			{"李", "admin"}, {"(shell)", "shell"}, {strings.Repeat("x", 200), strings.Repeat("x", 56)}, {"@", "subject-of"},
		} {
			p.Be(c.called, "openid "+identitytest.AdminScope)
			b := h.browser()
			if r := b.viaProvider(); r.status != 303 {
				t.Fatalf("%q: %d %s", c.called, r.status, r.text("main"))
			}
			if got := b.get("/admin").text(".who-am-i .muted"); got != c.name {
				t.Errorf("%q is called %q, want %q", c.called, got, c.name)
			}
		}
		if r := h.browser().signIn("eve", password); r.status != 303 {
			t.Errorf("eve with her password: %d", r.status)
		}
	})
}

func TestProviderFaults(t *testing.T) {
	t.Parallel()
	const notVerified, notGranted, over = "could not be verified", "did not grant you the scope", "was started in another browser"
	id := func(name string, value any) identitytest.Lies {
		return identitytest.Lies{ID: func(c identitytest.Claims) { c[name] = value }}
	}
	answer := func(name string, value any) identitytest.Lies {
		return identitytest.Lies{Answer: func(c identitytest.Claims) { c[name] = value }}
	}
	redirect := func(name, value string) identitytest.Lies {
		return identitytest.Lies{Redirect: func(q url.Values) { q.Set(name, value) }}
	}
	token := func(status int, body string) identitytest.Lies {
		return identitytest.Lies{Token: func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			w.Write([]byte(body))
		}}
	}
	faults := map[string]struct {
		lies   identitytest.Lies
		status int
		says   string
	}{
		"wrong state":          {redirect("state", domain.NewToken()), 400, over},
		"no state":             {redirect("state", ""), 400, over},
		"wrong code":           {redirect("code", "made-up"), 401, notVerified},
		"no code":              {redirect("code", ""), 401, notVerified},
		"answer of another":    {redirect("iss", "https://evil.example"), 401, notVerified},
		"denied":               {redirect("error", "access_denied"), 403, "you cancelled, or it does not let you"},
		"scope unknown there":  {redirect("error", "invalid_scope"), 403, "does not grant the scope pulsecast:admin"},
		"client unknown there": {redirect("error", "unauthorized_client"), 403, base + callbackPath},
		"busy":                 {redirect("error", "temporarily_unavailable"), 503, "cannot be asked right now"},
		"strange error":        {redirect("error", "<script>"), 403, "did not sign you in"},
		"no nonce":             {id("nonce", nil), 401, notVerified},
		"forged nonce":         {id("nonce", domain.NewToken()), 401, notVerified},
		"bad signature":        {identitytest.Lies{Forge: true}, 401, notVerified},
		"other audience":       {id("aud", "somebody"), 401, notVerified},
		"no audience":          {id("aud", nil), 401, notVerified},
		"for another client":   {id("aud", []string{identitytest.ClientID, "somebody"}), 401, notVerified},
		"other issuer":         {id("iss", "https://evil.example"), 401, notVerified},
		"expired":              {id("exp", start.Add(-time.Hour).Unix()), 401, notVerified},
		"never expires":        {id("exp", nil), 401, notVerified},
		"nobody":               {id("sub", ""), 401, notVerified},
		"other access token":   {answer("access_token", "swapped"), 401, notVerified},
		"no ID token":          {answer("id_token", nil), 401, notVerified},
		"unsigned ID token":    {answer("id_token", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0."), 401, notVerified},
		"scope not granted":    {answer("scope", "openid profile"), 403, notGranted},
		"scope by half":        {answer("scope", "openid pulsecast:admins pulsecast pulsecast:"), 403, notGranted},
		"scope not mentioned":  {answer("scope", nil), 403, "does not say that it granted you"},
		"token endpoint down":  {token(502, "<html>"), 503, "cannot be asked right now"},
		"nonsense":             {token(200, "<html>"), 503, "cannot be asked right now"},
		"our secret is wrong":  {token(401, `{"error":"invalid_client"}`), 503, "IDENTITY_CLIENT_SECRET"},
	}
	each(t, func(t *testing.T, db *database.DB) {
		h, p := withProvider(t, db)
		for name, fault := range faults {
			p.Lie(fault.lies)
			h.now = h.now.Add(time.Second) // stay below the limit of thirty failures a minute
			b := h.browser()
			r := b.viaProvider()
			said := r.text(".field-error")
			if r.status != fault.status || !strings.Contains(said, fault.says) || strings.Contains(r.body, "<script>") {
				t.Errorf("%s: %d %q", name, r.status, said)
			}
			if r.status == 503 && r.header.Get("Retry-After") == "" {
				t.Errorf("%s: no Retry-After", name)
			}
			if r.doc.Find(`input[type="password"]`).Length() != 1 {
				t.Errorf("%s: no way in with a password", name)
			}
			if again := b.get("/admin"); again.status != 303 {
				t.Errorf("%s: GET /admin: %d", name, again.status)
			}
		}
		if n := h.count("SELECT COUNT(*) FROM admin_sessions") + h.count("SELECT COUNT(*) FROM admins WHERE issuer IS NOT NULL"); n != 0 {
			t.Errorf("%d sessions and admins were made", n)
		}
		b := h.browser()
		p.Lie(identitytest.Lies{})
		if r := b.viaProvider(); r.status != 303 {
			t.Errorf("a correct return after the wrong ones: %d %s", r.status, r.text("main"))
		}
	})
}

// TestReturnIsUsedOnce checks that a return from the provider works once, in the browser that
// started the sign-in, for ten minutes.
func TestReturnIsUsedOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h, p := withProvider(t, db)
		refused := func(what string, r reply) {
			t.Helper()
			if r.status != 400 || !strings.Contains(r.text(".field-error"), "another browser") {
				t.Errorf("%s: %d %s", what, r.status, r.text("main"))
			}
		}
		b := h.browser()
		begun := b.get(providerPath)
		var cookie string
		for _, c := range begun.header.Values("Set-Cookie") {
			if strings.HasPrefix(c, "pulsecast_admin_flow=") {
				cookie, _, _ = strings.Cut(c, ";")
				for _, want := range []string{"httponly", "samesite=lax", "max-age=600", "path=/admin"} {
					if !strings.Contains(strings.ToLower(c), want) {
						t.Errorf("the flow's cookie %q lacks %s", c, want)
					}
				}
			}
		}
		back := b.get(begun.header.Get("Location")).header.Get("Location")
		refused("another browser's", h.browser().get(back))
		other := h.browser()
		other.toProvider()
		refused("a return of another browser, with its own flow", other.get(back))
		if p.Tokens() != 0 {
			t.Errorf("%d codes were tried", p.Tokens())
		}
		if r := b.get(back); r.status != 303 {
			t.Fatalf("the first: %d %s", r.status, r.text("main"))
		}
		refused("the second", b.get(back))
		thief := h.browser()
		thief.header.Set("Cookie", cookie)
		refused("with the cookie kept", thief.get(back))
		if p.Tokens() != 1 {
			t.Errorf("%d codes were tried", p.Tokens())
		}
		late := h.browser()
		address := late.toProvider()
		h.now = h.now.Add(domain.FlowLife)
		refused("late", late.get(address))
		begin := h.browser()
		begin.toProvider() // deletes expired flows
		if n := h.count("SELECT COUNT(*) FROM admin_flows"); n != 1 {
			t.Errorf("%d flows are stored", n)
		}
	})
}

// TestGrantIsSeenWhereProvidersPutIt checks each place where a provider may name the granted
// scopes. The first place that names scopes decides.
func TestGrantIsSeenWhereProvidersPutIt(t *testing.T) {
	t.Parallel()
	const scope = identitytest.AdminScope
	silent := func(c identitytest.Claims) { delete(c, "scope") }
	in := start.Add(time.Minute).Unix()
	h, p := withProvider(t, openSQLite(t))
	access := func(more identitytest.Claims) identitytest.Claims {
		more["iss"], more["sub"] = p.URL, "s"
		return more
	}
	for name, c := range map[string]struct {
		lies   identitytest.Lies
		status int
	}{
		"access token":             {identitytest.Lies{Answer: silent, Access: access(identitytest.Claims{"exp": in, "scope": "openid " + scope})}, 303},
		"access token, as a list":  {identitytest.Lies{Answer: silent, Access: access(identitytest.Claims{"exp": in, "scp": []string{scope}})}, 303},
		"access token, without":    {identitytest.Lies{Answer: silent, Access: access(identitytest.Claims{"exp": in, "scope": "openid"})}, 403},
		"access token, over":       {identitytest.Lies{Answer: silent, Access: access(identitytest.Claims{"exp": start.Add(-time.Hour).Unix(), "scope": scope})}, 403},
		"access token, of another": {identitytest.Lies{Answer: silent, Access: identitytest.Claims{"iss": "https://evil.example", "sub": "s", "exp": in, "scope": scope}}, 403},
		"ID token":                 {identitytest.Lies{Answer: silent, ID: func(c identitytest.Claims) { c["scope"] = scope }}, 303},
		"ID token, without":        {identitytest.Lies{Answer: silent, ID: func(c identitytest.Claims) { c["scope"] = "openid" }}, 403},
		"introspection":            {identitytest.Lies{Answer: silent, Says: identitytest.Claims{"active": true, "sub": "s", "scope": scope}}, 303},
		"introspection, without":   {identitytest.Lies{Answer: silent, Says: identitytest.Claims{"active": true, "sub": "s", "scope": "openid"}}, 403},
		"introspection, not":       {identitytest.Lies{Answer: silent, Says: identitytest.Claims{"active": false, "sub": "s", "scope": scope}}, 403},
		"introspection, nonsense":  {identitytest.Lies{Answer: silent, Says: identitytest.Claims{"scope": scope}}, 503},
		"tokens say no":            {identitytest.Lies{Access: access(identitytest.Claims{"exp": in, "scope": scope}), Answer: func(c identitytest.Claims) { c["scope"] = "openid" }}, 403},
		"a role is no scope":       {identitytest.Lies{Answer: silent, ID: func(c identitytest.Claims) { c["roles"] = []string{scope} }}, 403},
	} {
		p.Lie(c.lies)
		if r := h.browser().viaProvider(); r.status != c.status {
			t.Errorf("%s: %d %s", name, r.status, r.text(".field-error"))
		}
	}
}

func TestProviderIsDown(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h, p := withProvider(t, db)
		p.Lie(identitytest.Lies{Discovery: func(w http.ResponseWriter) bool { w.WriteHeader(http.StatusBadGateway); return true }})
		b := h.browser()
		if r := b.get("/admin/sign-in"); r.status != 200 {
			t.Errorf("the form: %d", r.status)
		}
		r := b.get(providerPath)
		if r.status != 503 || !strings.Contains(r.text(".field-error"), "sign in with a password") || r.doc.Find(`input[type="password"]`).Length() != 1 {
			t.Errorf("to a provider that is down: %d %s", r.status, r.text("main"))
		}
		p.Lie(identitytest.Lies{})
		back := b.toProvider()
		p.Close()
		if r := b.get(back); r.status != 503 {
			t.Errorf("back from a provider that is gone: %d %s", r.status, r.text("main"))
		}
		if r := b.signIn("eve", password); r.status != 303 {
			t.Errorf("with a password meanwhile: %d", r.status)
		}
	})
}

func TestNobodyElseBeginsASignIn(t *testing.T) {
	t.Parallel()
	h, p := withProvider(t, openSQLite(t))
	b := h.browser()
	for _, site := range []string{"cross-site", "same-site"} {
		b.header.Set("Sec-Fetch-Site", site)
		if r := b.get(providerPath); r.status != 303 || r.header.Get("Location") != "/admin/sign-in" {
			t.Errorf("begun %s: %d to %s", site, r.status, r.header.Get("Location"))
		}
	}
	b.header.Del("Sec-Fetch-Site")
	if n := h.count("SELECT COUNT(*) FROM admin_flows"); n != 0 || len(p.Asked()) != 0 {
		t.Errorf("%d flows were begun", n)
	}
	for _, next := range []string{"https://evil.example/admin", "//evil.example/admin", "/admin/../..//evil.example", `/\evil.example`, "/markets", "/admin\r\nx: y"} {
		b := h.browser()
		b.client.Jar.SetCookies(&url.URL{Scheme: "http", Host: "pulse.test", Path: "/admin"}, []*http.Cookie{{Name: "pulsecast_admin_next", Value: url.QueryEscape(next), Path: "/admin"}})
		if r := b.viaProvider(); r.status != 303 || !strings.HasPrefix(r.header.Get("Location"), "/admin") {
			t.Errorf("next %q leads to %q (%d)", next, r.header.Get("Location"), r.status)
		}
	}
	signedIn := h.signedIn("eve")
	if r := signedIn.get(providerPath); r.status != 303 || r.header.Get("Location") != "/admin" {
		t.Errorf("signed in already: %d to %q", r.status, r.header.Get("Location"))
	}
	if r := h.browser().get(providerPath + "?again=yes"); !strings.Contains(r.header.Get("Location"), "prompt=login") {
		t.Errorf("with another account: %q", r.header.Get("Location"))
	}
}

func TestProviderAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h, _ := withProvider(t, db)
		b := h.browser()
		for i := range 60 {
			if r := b.get(providerPath); r.status != 303 {
				t.Fatalf("try %d: %d %s", i+1, r.status, r.text("main"))
			}
		}
		if r := b.get(providerPath); r.status != 429 || r.header.Get("Retry-After") == "" {
			t.Errorf("one too many: %d %s", r.status, r.text("main"))
		}
	})
}

// TestSessionsEndWithTheProvider checks that sessions of a provider end when another provider, or
// none, is configured.
func TestSessionsEndWithTheProvider(t *testing.T) {
	t.Parallel()
	h, _ := withProvider(t, openSQLite(t))
	b := h.browser()
	if r := b.viaProvider(); r.status != 303 || b.get("/admin").status != 200 {
		t.Fatalf("%d %s", r.status, r.text("main"))
	}
	h.exec("UPDATE admins SET issuer = 'https://former.example' WHERE name = 'ada'")
	if r := b.get("/admin"); r.status != 303 {
		t.Errorf("GET /admin: %d", r.status)
	}
}

// TestHowWeSayWhoWeAre checks how the client authenticates at the token endpoint: as the provider
// requires, or by its id alone if it has no secret.
func TestHowWeSayWhoWeAre(t *testing.T) {
	t.Parallel()
	post := func(doc identitytest.Claims) {
		doc["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	}
	for name, c := range map[string]struct {
		secret config.Secret
		lies   identitytest.Lies
	}{
		"in the form": {identitytest.ClientSecret, identitytest.Lies{Document: post, Client: func(r *http.Request) bool {
			return r.Header.Get("Authorization") == "" && r.PostFormValue("client_id") == identitytest.ClientID && r.PostFormValue("client_secret") == identitytest.ClientSecret
		}}},
		"without a secret": {"", identitytest.Lies{Client: func(r *http.Request) bool {
			return r.Header.Get("Authorization") == "" && r.PostFormValue("client_id") == identitytest.ClientID && !r.PostForm.Has("client_secret")
		}}},
	} {
		p := identitytest.New(t, func() time.Time { return start })
		p.Lie(c.lies)
		h := openWith(t, openSQLite(t), base, func(cfg *config.Config) { p.Configure(cfg); cfg.IdentityClientSecret = c.secret })
		if r := h.browser().viaProvider(); r.status != 303 {
			t.Errorf("%s: %d %s", name, r.status, r.text("main"))
		}
	}
}

// TestEndpointsAreChecked checks that the discovery document can send a browser, and our secret,
// only to an http(s) address.
func TestEndpointsAreChecked(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"authorization_endpoint", "token_endpoint", "userinfo_endpoint"} {
		h, p := withProvider(t, openSQLite(t))
		p.Lie(identitytest.Lies{Document: func(doc identitytest.Claims) { doc[endpoint] = "javascript:alert(1)" }})
		if r := h.browser().get(providerPath); r.status != 503 || r.header.Get("Location") != "" {
			t.Errorf("%s: %d to %q", endpoint, r.status, r.header.Get("Location"))
		}
	}
}
