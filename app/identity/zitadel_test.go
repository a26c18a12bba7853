package identity_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
)

const callback = "http://localhost:9999/auth/callback"

// zitadel is a provider from another project.
type zitadel struct {
	*identitytest.Zitadel
	t *testing.T
}

func newZitadel(t *testing.T) *zitadel {
	t.Helper()
	return &zitadel{identitytest.NewZitadel(t, callback), t}
}

// key gets an access token through the login form, like a person who enables an agent.
func (z *zitadel) key() string {
	z.t.Helper()
	back := z.Login(z.URL() + "/auth?" + url.Values{
		"client_id": {"web"}, "redirect_uri": {callback}, "response_type": {"code"}, "scope": {"openid profile"}, "state": {"s"},
	}.Encode())
	answer := z.post("/oauth/token", url.Values{
		"grant_type": {"authorization_code"}, "code": {back.Query().Get("code")}, "redirect_uri": {callback},
	})
	token := regexp.MustCompile(`"access_token":"([^"]+)"`).FindStringSubmatch(answer)
	if token == nil {
		z.t.Fatalf("no access token in %s", answer)
	}
	return token[1]
}

// post sends a form as the client "web".
func (z *zitadel) post(path string, form url.Values) string {
	z.t.Helper()
	req, err := http.NewRequestWithContext(z.t.Context(), http.MethodPost, z.URL()+path, strings.NewReader(form.Encode()))
	if err != nil {
		z.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.SetBasicAuth("web", "secret")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		z.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		z.t.Fatal(err)
	}
	return string(b)
}

func TestRealProvider(t *testing.T) {
	t.Parallel()
	z := newZitadel(t)
	settings := func(client, audience, scope string) config.Config {
		return config.Config{IdentityURL: z.URL(), IdentityClientID: client, IdentityClientSecret: "secret", IdentityAudience: audience, IdentityScope: scope}
	}
	nodeOf := func(cfg config.Config) *node { return newNode(t, dbtest.Open(t, database.SQLite), cfg) }
	key := z.key()

	byScope := nodeOf(settings("web", "", "profile"))
	byScope.want(t, key, "test-user")
	byScope.want(t, "made-up", invalid)
	session := byScope.session(t, key)
	byScope.want(t, session.Token, "test-user")

	t.Run("audience never named", func(t *testing.T) {
		n := nodeOf(settings("web", "web", ""))
		n.want(t, key, "test-user")
		if s := n.Status(); len(s.Warnings) != 1 {
			t.Errorf("%+v", s)
		}
	})
	t.Run("scope not granted", func(t *testing.T) { nodeOf(settings("web", "", "forecast")).want(t, key, notEnabled) })
	t.Run("client outside the audience", func(t *testing.T) { nodeOf(settings("api", "", "profile")).want(t, key, invalid) })
	t.Run("client that may not ask", func(t *testing.T) {
		cfg := settings("sid1", "", "profile")
		cfg.IdentityClientSecret = "verysecret"
		n := nodeOf(cfg)
		n.want(t, key, noAnswer)
		if s := n.Status(); s.OK || s.LastError != "http_401" {
			t.Errorf("%+v", s)
		}
	})
	t.Run("revoked", func(t *testing.T) {
		revoked := z.key()
		byScope.want(t, revoked, "test-user")
		ended := byScope.session(t, revoked).Token
		z.post("/revoke", url.Values{"token": {revoked}, "token_type_hint": {"access_token"}})
		byScope.clock.advance(time.Minute)
		byScope.want(t, revoked, invalid)
		byScope.recheck(t)
		byScope.want(t, ended, invalid)
	})
	t.Run("stopped and back", func(t *testing.T) {
		byScope.want(t, key, "test-user")
		z.Stop()
		byScope.want(t, key, "test-user") // cached
		byScope.clock.advance(time.Minute)
		for i := range 5 {
			byScope.want(t, key, noAnswer)
			byScope.want(t, fmt.Sprint("made-up", i), noAnswer)
		}
		byScope.want(t, session.Token, "test-user") // a session needs no provider
		if s := byScope.Status(); s.OK || s.LastError != "unreachable" {
			t.Errorf("%+v", s)
		}
		z.Start()
		byScope.eventually(t, z.key(), "test-user")
		byScope.want(t, key, invalid) // the provider has forgotten this key
		if s := byScope.Status(); !s.OK {
			t.Errorf("%+v", s)
		}
	})
}
