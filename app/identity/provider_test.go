package identity_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestKeysOfAProvider is the table of provider × kind of key × state.
func TestKeysOfAProvider(t *testing.T) {
	t.Parallel()
	now := newClock().now().Unix()
	good := fields{"active": true, "sub": "s1", "username": "ada@example.org", "aud": "pulsecast", "scope": "openid forecast", "exp": now + 3600}
	cases := []struct {
		name            string
		audience, scope string // of the deployment
		opaque, jwt     string // the wanted result for each kind of key; "" is not tried
		claims          fields
	}{
		{"good, audience wanted", "pulsecast", "", "ada", "ada", good},
		{"good, scope wanted", "", "forecast", "ada", "ada", good},
		{"good, both wanted", "pulsecast", "forecast", "ada", "ada", good},
		{"two scopes wanted", "", "forecast openid", "ada", "ada", good},
		{"audience among several", "pulsecast", "", "ada", "ada", with(good, "aud", []string{"x", "pulsecast"})},
		{"another audience", "pulsecast", "", notEnabled, notEnabled, with(good, "aud", "x")},
		{"other audiences", "pulsecast", "forecast", notEnabled, notEnabled, with(good, "aud", []string{"x", "y"})},
		{"an empty list of audiences", "pulsecast", "forecast", notEnabled, invalid, with(good, "aud", []string{})},
		{"no audience, audience wanted", "pulsecast", "", "ada", invalid, with(good, "aud", nil)},
		{"no audience, both wanted", "pulsecast", "forecast", "ada", invalid, with(good, "aud", nil)},
		{"no audience, scope wanted", "", "forecast", "ada", invalid, with(good, "aud", nil)},
		{"no audience in a list, scope wanted", "", "forecast", "ada", invalid, with(good, "aud", []string{})},
		{"any audience, scope wanted", "", "forecast", "ada", "ada", with(good, "aud", "x")},
		{"scope not granted", "", "forecast", notEnabled, notEnabled, with(good, "scope", "openid forecasts")},
		{"one scope of two", "", "forecast admin", notEnabled, notEnabled, good},
		{"no scope", "pulsecast", "forecast", notEnabled, notEnabled, with(good, "scope", nil)},
		{"scopes as a list", "", "forecast", "ada", "ada", with(good, "scope", nil, "scp", []string{"forecast"})},
		{"expired", "pulsecast", "", invalid, invalid, with(good, "exp", now)},
		{"about to expire", "pulsecast", "", "ada", "ada", with(good, "exp", now+1)},
		{"no expiry", "pulsecast", "", "ada", invalid, with(good, "exp", nil)},
		{"expiry beyond all dates", "pulsecast", "", "ada", "ada", with(good, "exp", 1e300)},
		{"expiry below all dates", "pulsecast", "", invalid, invalid, with(good, "exp", -1e300)},
		{"expiry as digits", "pulsecast", "", "ada", "ada", with(good, "exp", fmt.Sprint(now+9))},
		{"expiry that is no time", "pulsecast", "", noAnswer, invalid, with(good, "exp", "soon")},
		{"audience that is no text", "pulsecast", "", noAnswer, invalid, with(good, "aud", []int{1})},
		{"not yet valid", "pulsecast", "", invalid, invalid, with(good, "nbf", now+61)},
		{"not yet valid within the skew", "pulsecast", "", "ada", "ada", with(good, "nbf", now+59)},
		{"another issuer", "pulsecast", "", invalid, invalid, with(good, "iss", "https://other.example")},
		{"revoked", "pulsecast", "", invalid, "", fields{"active": false}},
		{"revoked, the other claims unchanged", "pulsecast", "", invalid, "", with(good, "active", false)},
		{"active missing", "pulsecast", "", noAnswer, "", with(good, "active", nil)},
		{"active as text", "pulsecast", "", noAnswer, "", with(good, "active", "true")},
		{"named by its client", "pulsecast", "", "bot-7", "bot-7", with(good, "username", nil, "client_id", "Bot 7")},
		{"named by its subject", "pulsecast", "", "s1", "s1", with(good, "username", nil, "sub", "s1-")},
		{"only a client", "pulsecast", "", "bot-7", "bot-7", with(good, "username", nil, "sub", nil, "client_id", "bot-7")},
		{"nobody", "pulsecast", "", noAnswer, invalid, with(good, "username", nil, "sub", nil)},
		{"a subject in digits", "pulsecast", "", "ada", "ada", with(good, "sub", 17)},
		{"a subject in too many digits", "pulsecast", "", noAnswer, invalid, with(good, "sub", 1<<53, "client_id", "bot-7")},
		{"a subject that is no whole number", "pulsecast", "", noAnswer, invalid, with(good, "sub", 1.5)},
		{"a subject that is no text", "pulsecast", "", noAnswer, invalid, with(good, "sub", []string{"s1"})},
		{"a subject that can't be stored", "pulsecast", "", noAnswer, invalid, with(good, "sub", "a\x00b")},
		{"a subject that is too long", "pulsecast", "", noAnswer, invalid, with(good, "sub", strings.Repeat("s", 256))},
		{"an empty subject", "pulsecast", "", "ada", "ada", with(good, "sub", "")},
		{"an issuer in digits", "pulsecast", "", invalid, invalid, with(good, "iss", 7)},
		{"an issuer that is no text", "pulsecast", "", noAnswer, invalid, with(good, "iss", true)},
		{"an unreadable name", "pulsecast", "", "s1", "s1", with(good, "username", "a\x00\u202eb", "sub", "s1.")},
		{"a reserved name", "pulsecast", "", "agent-2", "agent-2", with(good, "username", "admin")},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider := newScripted(t)
			n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings(c.audience, c.scope))
			// The handle shows that a key was accepted. Handles of 1 or 2 characters get a prefix.
			named := func(want string) string {
				if want == "s1" {
					return "agent-s1"
				}
				return want
			}
			if key := provider.key(body(t, c.claims)); c.opaque != "" {
				n.want(t, key, named(c.opaque))
				n.want(t, key, named(c.opaque))
			}
			if c.jwt != "" {
				claims := c.claims
				if claims["iss"] == nil {
					claims = with(claims, "iss", provider.URL)
				}
				n.want(t, provider.jwt(claims), named(c.jwt))
			}
		})
	}
}

// TestSubjectsInDigits checks that users whose subjects are numbers have one agent each, although all use the same client.
func TestSubjectsInDigits(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	for _, c := range []struct{ sub, agent string }{{`17`, "cli"}, {`18`, "cli-2"}, {`17`, "cli"}, {`"18"`, "cli-2"}} {
		n.want(t, provider.key(`{"active":true,"scope":"f","client_id":"cli","sub":`+c.sub+`}`), c.agent)
	}
}

func TestCentralKeysOnBothDatabases(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		local := newNode(t, db, openRegistry)
		_, localKey := local.register(t, "Local")
		localSession := local.session(t, localKey).Token

		provider := newScripted(t)
		one, two := newNode(t, db, provider.settings("", "forecast")), newNode(t, db, provider.settings("", "forecast"))
		claims := fields{"active": true, "sub": "s1", "username": "ada@example.org", "scope": "forecast", "org": "acme"}
		first, second := provider.key(body(t, claims)), provider.key(body(t, with(claims, "org", 42)))
		other := provider.key(body(t, with(claims, "sub", "s2")))

		one.want(t, localKey, invalid)
		one.want(t, localSession, invalid)
		if provider.asked.Load() != 0 {
			t.Error("a local key or session was shown to the provider")
		}
		one.want(t, first, "ada")
		two.want(t, second, "ada")
		one.want(t, other, "ada-2")
		a, err := store.ByHandle(t.Context(), db, "ada")
		if err != nil || a.Issuer != provider.URL || a.Subject != "s1" || a.Owner != "42" || a.Name != "ada" {
			t.Errorf("%+v, %v", a, err)
		}

		session := one.session(t, first)
		asked := provider.asked.Load()
		provider.fail(http.NotFound)
		two.want(t, session.Token, "ada")
		if provider.asked.Load() != asked {
			t.Error("a session token was taken to the provider")
		}
		provider.fail(nil)

		// Disabled in this service: the other node knows without asking the provider again.
		one.setStatus(t, "ada", agent.Disabled)
		two.recheck(t)
		two.want(t, session.Token, invalid)
		two.want(t, second, isDisabled)
		if provider.asked.Load() != asked {
			t.Error("a change here made a node ask the provider again")
		}
		one.setStatus(t, "ada", agent.Active)
		one.recheck(t)

		// Revoked at the provider: known within a minute, and its sessions end.
		session = one.session(t, first)
		two.want(t, session.Token, "ada")
		provider.teach(first, `{"active":false}`)
		one.want(t, first, "ada")
		one.clock.advance(60 * time.Second)
		one.want(t, first, invalid)
		two.recheck(t)
		two.want(t, session.Token, invalid)
		two.want(t, second, "ada")

		// Enabled at the provider: known within ten seconds.
		provider.teach(first, body(t, claims))
		one.clock.advance(9 * time.Second)
		one.want(t, first, invalid)
		one.clock.advance(time.Second)
		one.want(t, first, "ada")
	})
}

func TestFirstKeyTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		provider := newScripted(t)
		nodes := []*node{newNode(t, db, provider.settings("", "f")), newNode(t, db, provider.settings("", "f"))}
		var wg sync.WaitGroup
		keys := make([]string, 6)
		for i := range keys {
			keys[i] = provider.key(`{"active":true,"scope":"f","sub":"s1","username":"ada"}`)
		}
		for i := range 60 {
			wg.Go(func() { nodes[i/len(keys)%2].want(t, keys[i%len(keys)], "ada") })
		}
		wg.Wait()
		list, _, err := store.List(t.Context(), db, agent.Filter{Kind: agent.Ordinary, Limit: 100})
		if err != nil || len(list) != 1 {
			t.Errorf("%d agents, %v", len(list), err)
		}
		if asked := provider.asked.Load(); asked != int64(2*len(keys)) {
			t.Errorf("the provider was asked %d times about %d keys by 2 nodes", asked, len(keys))
		}
	})
}

func TestNeverPastExpiry(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	exp := n.clock.now().Add(30 * time.Second)
	key := provider.key(fmt.Sprintf(`{"active":true,"scope":"f","sub":"s1","username":"ada","exp":%d}`, exp.Unix()))
	n.want(t, key, "ada")
	session := n.session(t, key)
	if !session.ExpiresAt.Equal(exp) {
		t.Errorf("the session ends %s, its key %s", session.ExpiresAt, exp)
	}
	asked := provider.asked.Load()
	n.clock.advance(29 * time.Second)
	n.want(t, key, "ada")
	if provider.asked.Load() != asked {
		t.Error("asked again before the key expired")
	}
	provider.teach(key, `{"active":false}`)
	n.clock.advance(time.Second)
	n.want(t, key, invalid)
	n.want(t, session.Token, invalid)
}

func TestFaultsOfAProvider(t *testing.T) {
	t.Parallel()
	says := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	cases := []struct {
		name, word string
		handler    http.HandlerFunc
	}{
		{"500", "http_500", says(500, `{"active":true}`)},
		{"502 in HTML", "http_502", says(502, "<html>bad gateway</html>")},
		{"429", "http_429", says(429, "")},
		{"our secret refused", "http_401", says(401, `{"error":"invalid_client"}`)},
		{"not found", "http_404", says(404, "")},
		{"redirect", "http_302", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/introspect", http.StatusFound) }},
		{"empty", "parse", says(200, "")},
		{"HTML", "parse", says(200, "<html>sign in</html>")},
		{"cut", "parse", says(200, `{"active":tr`)},
		{"a list", "parse", says(200, `[true]`)},
		{"null", "parse", says(200, `null`)},
		{"no active", "parse", says(200, `{"sub":"s1","scope":"f"}`)},
		{"active null", "parse", says(200, `{"active":null,"sub":"s1","scope":"f"}`)},
		{"too large", "too_large", says(200, `{"active":true,"pad":"`+strings.Repeat("x", 300<<10)+`"}`)},
		{"hung up", "unreachable", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider := newScripted(t)
			n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
			n.AwaitStart()
			key := provider.key(`{"active":true,"scope":"f","sub":"s1","username":"ada"}`)
			provider.fail(c.handler)
			n.want(t, key, noAnswer)
			if s := n.Status(); s.OK || s.LastError != c.word {
				t.Errorf("%+v, want %s", s, c.word)
			}
			// Nothing about it is cached: the next answer counts.
			provider.fail(nil)
			n.want(t, key, "ada")
			if s := n.Status(); !s.OK || s.LastError != "" {
				t.Errorf("%+v", s)
			}
		})
	}
}

func TestCircuit(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	known := provider.key(`{"active":true,"scope":"f","sub":"s0","username":"grace"}`)
	n.want(t, known, "grace")
	keys := make([]string, 20)
	for i := range keys {
		keys[i] = provider.key(`{"active":true,"scope":"f","sub":"s1","username":"ada"}`)
	}
	asked := provider.asked.Load()
	provider.fail(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) })
	for _, key := range keys {
		n.want(t, key, noAnswer)
	}
	if tries := provider.asked.Load() - asked; tries > 5 {
		t.Errorf("a dead provider was asked %d times", tries)
	}
	n.want(t, known, "grace") // cached answers are still valid
	provider.fail(nil)
	n.eventually(t, keys[0], "ada")
}

// eventually authenticates until the result is the wanted one.
func (n *node) eventually(t testing.TB, bearer, want string) {
	t.Helper()
	give := time.After(20 * time.Second)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		got := n.ask(t, bearer)
		if got == want {
			return
		}
		select {
		case <-tick.C:
		case <-give:
			t.Fatalf("still %q, want %q", got, want)
		}
	}
}

func TestHangingProvider(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	n.want(t, "nobody", invalid)
	asked := provider.asked.Load()
	provider.fail(func(_ http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // only then does the server notice that the client left
		<-r.Context().Done()
	})
	n.want(t, "slow-1", noAnswer)
	for i := range 10 {
		n.want(t, fmt.Sprint("slow-2", i), noAnswer)
	}
	if tries := provider.asked.Load() - asked; tries != 1 {
		t.Errorf("asked %d times while it hangs", tries)
	}
	if s := n.Status(); s.OK || s.LastError != "timeout" {
		t.Errorf("%+v", s)
	}
}

func TestProviderDown(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	token := provider.jwt(fields{"iss": provider.URL, "sub": "s1", "username": "ada", "aud": "pulsecast", "scope": "f", "exp": newClock().now().Unix() + 9999})
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	n.want(t, token, "ada")
	provider.Close()
	n.want(t, "opaque", noAnswer)
	n.want(t, token, "ada")
	n.clock.advance(59 * time.Minute)
	n.want(t, token, "ada") // with the keys read before
	n.clock.advance(time.Minute)
	n.want(t, token, noAnswer) // they are too old now
	fresh := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	fresh.want(t, token, noAnswer)
	fresh.want(t, "opaque", noAnswer)
}

func TestDiscovery(t *testing.T) {
	t.Parallel()
	const oauth = "/.well-known/oauth-authorization-server"
	cases := []struct {
		name, document string
		alter          func(fields)
		want           string
	}{
		{"OAuth metadata", oauth, nil, "ada"},
		{"no keys offered", oauth, func(d fields) { delete(d, "jwks_uri") }, "ada"},
		{"no introspection offered", oauth, func(d fields) { delete(d, "introspection_endpoint") }, invalid},
		{"neither document", "/nowhere", nil, noAnswer},
		{"another issuer", oauth, func(d fields) { d["issuer"] = "https://other.example" }, noAnswer},
		{"a slash after the issuer", oauth, func(d fields) { d["issuer"] = d["issuer"].(string) + "/" }, "ada"},
		{"no issuer", oauth, func(d fields) { delete(d, "issuer") }, noAnswer},
		{"an endpoint that is no address", oauth, func(d fields) { d["introspection_endpoint"] = "file:///etc/passwd" }, noAnswer},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			provider := newScripted(t)
			provider.document, provider.alter = c.document, c.alter
			n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
			n.want(t, provider.key(`{"active":true,"scope":"f","sub":"s1","username":"ada"}`), c.want)
			if s := n.Status(); s.OK != (c.want != noAnswer) {
				t.Errorf("%+v", s)
			}
			if n.want(t, provider.key(`{"active":false}`), map[bool]string{true: noAnswer, false: invalid}[c.want == noAnswer]); c.want != noAnswer {
				read := provider.discovery.Load()
				n.clock.advance(30 * time.Minute)
				n.want(t, provider.key(`{"active":false}`), invalid)
				if provider.discovery.Load() != read {
					t.Error("the documents were read again within the hour")
				}
			}
		})
	}
}

// An endpoint that one document leaves out may be in the other document. While that one can't be read, no
// key is refused because of the missing endpoint.
func TestDiscoveryInTrouble(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	provider.alter = func(d fields) { delete(d, "introspection_endpoint") }
	other := "/.well-known/oauth-authorization-server"
	provider.broken.Store(&other)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	n.want(t, "an opaque key", invalid) // it contains a space, so the provider isn't asked
	n.want(t, "opaque", noAnswer)
	provider.broken.Store(nil)
	n.eventually(t, "opaque", invalid)
}

// TestSharedReading checks that a reading of the documents goes on when its first caller leaves, and that a caller
// waits for it no longer than its own context.
func TestSharedReading(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	asked, answer := make(chan struct{}, 2), make(chan struct{})
	provider.alter = func(d fields) {
		d["authorization_endpoint"], d["token_endpoint"] = provider.URL+"/authorize", provider.URL+"/token"
		asked <- struct{}{}
		<-answer
	}
	document := provider.document
	provider.broken.Store(&document) // for the reading at the start of the node
	cfg := provider.settings("", "f")
	cfg.AdminScope = "admin"
	n := newNode(t, dbtest.Open(t, database.SQLite), cfg)
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(n.log.String(), "does not answer yet"); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the node hasn't read the documents at its start")
		}
	}
	provider.broken.Store(nil)
	before := provider.discovery.Load()
	first, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := n.People().Begin(first, "secret", false)
		left <- err
	}()
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := n.People().Begin(gone, "secret", false); err == nil {
		t.Error("a caller whose context had ended got an answer")
	}
	leave()
	if err := <-left; err == nil {
		t.Error("the first caller got an answer although it left")
	}
	close(answer)
	if _, err := n.People().Begin(t.Context(), "secret", false); err != nil {
		t.Error(err)
	}
	if got := provider.discovery.Load() - before; got != 1 {
		t.Errorf("the document was read %d times, want once", got)
	}
}

func TestSecretInBody(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	provider.alter = func(d fields) { d["introspection_endpoint_auth_methods_supported"] = []string{"client_secret_post"} }
	provider.fail(func(w http.ResponseWriter, r *http.Request) {
		if r.PostFormValue("client_id") == idOfOurs && r.PostFormValue("client_secret") == secretOfOurs && r.Header.Get("Authorization") == "" {
			io.WriteString(w, `{"active":true,"scope":"f","sub":"s1","username":"ada"}`)
		}
	})
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	n.want(t, "opaque", "ada")
}

// TestIncompleteJWTsAreLogged checks that the log tells an operator why a JWT is refused.
func TestIncompleteJWTsAreLogged(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	claims := fields{"iss": provider.URL, "username": "ada", "scope": "f", "aud": "pulsecast", "exp": n.clock.now().Unix() + 600}
	for name, says := range map[string]string{"exp": "expiry (exp)", "iss": "issuer (iss)", "aud": "audience (aud)"} {
		n.want(t, provider.jwt(with(claims, name, nil, "sub", "without-"+name)), invalid)
		if log := n.log.String(); !strings.Contains(log, "names no "+says+`" subject=without-`+name) {
			t.Errorf("the log doesn't say why: %s", log)
		}
	}
	n.want(t, provider.jwt(with(claims, "sub", "s1")), "ada")
}

// TestSessionAtExpiry checks that a key starts a session as long as other calls accept it, however long ago it was checked.
func TestSessionAtExpiry(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	exp := n.clock.now().Add(30 * time.Second)
	claims := fields{"active": true, "iss": provider.URL, "sub": "s1", "username": "ada", "scope": "f", "aud": "pulsecast", "exp": exp.Unix()}
	keys := []string{provider.key(body(t, claims)), provider.jwt(claims)}
	n.clock.advance(29 * time.Second)
	for _, key := range keys {
		n.want(t, key, "ada")
		n.session(t, key)
	}
	n.clock.advance(time.Second)
	for _, key := range keys {
		n.want(t, key, invalid)
		if _, _, err := n.StartSession(t.Context(), key, nil, nil); problem.As(err).Code != problem.CodeInvalidCredentials.Name {
			t.Errorf("a session at the expiry: %v", err)
		}
	}
}

func TestNoAudienceIsWarnedOf(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("pulsecast", ""))
	n.want(t, provider.key(`{"active":true,"aud":"pulsecast","sub":"s1","username":"ada"}`), "ada")
	if s := n.Status(); len(s.Warnings) != 0 {
		t.Errorf("%+v", s)
	}
	for range 3 {
		n.want(t, provider.key(`{"active":true,"sub":"s1","username":"ada"}`), "ada")
	}
	if s := n.Status(); len(s.Warnings) != 1 || strings.Count(n.log.String(), "names no audience") != 1 {
		t.Errorf("%+v\n%s", s, n.log)
	}
}

func TestWhereToEnable(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	_, err := n.Authenticate(t.Context(), provider.key(`{"active":true,"sub":"s1","username":"ada"}`), nil)
	p := problem.As(err)
	if p.Code != "not_enabled" || !strings.Contains(p.Detail, provider.URL) || !strings.Contains(p.Challenge, "insufficient_scope") {
		t.Errorf("%+v", p)
	}
	_, err = n.Authenticate(t.Context(), "unknown", nil)
	if p := problem.As(err); !strings.Contains(p.Detail, "Enable this service for your agent at "+provider.URL) {
		t.Errorf("%+v", p)
	}
	if list, _, err := store.List(t.Context(), n.db, agent.Filter{Kind: agent.Ordinary, Limit: 1}); err != nil || len(list) != 0 {
		t.Errorf("a refused key made an agent: %v, %v", list, err)
	}
}

func TestForgedJWTs(t *testing.T) {
	t.Parallel()
	provider, stranger := newScripted(t), newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("pulsecast", ""))
	claims := fields{"iss": provider.URL, "sub": "s1", "username": "ada", "aud": "pulsecast", "exp": n.clock.now().Unix() + 600}
	token := provider.jwt(claims)
	n.want(t, token, "ada")

	own := provider.signer()
	der, err := x509.MarshalPKIXPublicKey(own.public.Key)
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	encoded := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	hs256 := func(header string, secret []byte) string {
		input := encoded(header) + "." + encoded(body(t, claims))
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(input))
		return input + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}
	theirs := stranger.signer()
	embedded, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: theirs.private}, &jose.SignerOptions{EmbedJWK: true})
	if err != nil {
		t.Fatal(err)
	}
	jws, err := embedded.Sign([]byte(body(t, claims)))
	if err != nil {
		t.Fatal(err)
	}
	withJWK, err := jws.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	for name, forged := range map[string]string{
		"none":                        encoded(`{"alg":"none"}`) + "." + encoded(body(t, claims)) + ".",
		"None":                        encoded(`{"alg":"None","kid":"`+own.public.KeyID+`"}`) + "." + encoded(body(t, claims)) + ".",
		"HS256 with our public key":   hs256(`{"alg":"HS256","kid":"`+own.public.KeyID+`"}`, public),
		"HS256 with its bytes":        hs256(`{"alg":"HS256","kid":"`+own.public.KeyID+`"}`, der),
		"RS256 that is HMAC":          hs256(`{"alg":"RS256","kid":"`+own.public.KeyID+`"}`, public),
		"signed by a stranger":        stranger.jwt(claims),
		"a stranger with our key id":  sign(t, jose.RS256, jose.JSONWebKey{Key: theirs.private, KeyID: own.public.KeyID}, claims),
		"a stranger's embedded key":   withJWK,
		"PS256":                       sign(t, jose.PS256, jose.JSONWebKey{Key: own.private, KeyID: own.public.KeyID}, claims),
		"RS512":                       sign(t, jose.RS512, jose.JSONWebKey{Key: own.private, KeyID: own.public.KeyID}, claims),
		"another payload":             parts[0] + "." + encoded(body(t, with(claims, "sub", "s2"))) + "." + parts[2],
		"no signature":                parts[0] + "." + parts[1] + ".",
		"a bit of the signature lost": parts[0] + "." + parts[1] + "." + parts[2][:len(parts[2])-2],
		"payload that is no object":   parts[0] + "." + encoded("7") + "." + parts[2],
		"critical extension":          hs256(`{"alg":"RS256","crit":["x"],"x":1}`, public),
	} {
		if got := n.ask(t, forged); got != invalid {
			t.Errorf("%s: %s", name, got)
		}
	}
	if read := provider.read.Load(); read != 1 {
		t.Errorf("forged keys made the node read the provider's keys %d times", read)
	}
	// Without a key id every published key is tried.
	n.want(t, sign(t, jose.RS256, own.private, with(claims, "jti", "x")), "ada")
	if provider.asked.Load() != 0 {
		t.Error("a JWT was introspected")
	}
}

func TestKeyRotation(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), provider.settings("", "f"))
	claims := fields{"iss": provider.URL, "sub": "s1", "username": "ada", "aud": "pulsecast", "scope": "f", "exp": n.clock.now().Unix() + 99999}
	old := provider.jwt(claims)
	n.want(t, old, "ada")
	for _, algorithm := range []jose.SignatureAlgorithm{jose.ES256, jose.EdDSA, jose.RS256} {
		provider.rotate(algorithm)
		n.clock.advance(2 * time.Second)
		n.want(t, provider.jwt(claims), "ada")
	}
	n.clock.advance(time.Minute)
	n.want(t, old, invalid) // its signer was withdrawn

	// The refresh notices a withdrawn key even if no request brings a new one.
	last := provider.jwt(with(claims, "jti", "last"))
	n.want(t, last, "ada")
	provider.rotate(jose.ES256)
	n.clock.advance(6 * time.Minute)
	n.want(t, last, "ada")
	n.clock.advance(time.Minute)
	n.eventuallyRefused(t, last)
}

// eventuallyRefused authenticates until the background work has withdrawn a key.
func (n *node) eventuallyRefused(t testing.TB, bearer string) {
	t.Helper()
	for range 200 {
		if n.ask(t, bearer) == invalid {
			return
		}
		n.clock.advance(time.Minute)
	}
	t.Error("a withdrawn key is still accepted")
}

func TestDisabledAgentsOfAProvider(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		provider := newScripted(t)
		n := newNode(t, db, provider.settings("", "f"))
		claims := fields{"iss": provider.URL, "active": true, "sub": "s1", "username": "ada", "aud": "pulsecast", "scope": "f", "exp": n.clock.now().Unix() + 600}
		opaque, token := provider.key(body(t, claims)), provider.jwt(claims)
		n.want(t, opaque, "ada")
		n.want(t, token, "ada")
		session := n.session(t, token).Token
		n.want(t, session, "ada")
		n.setStatus(t, "ada", agent.Disabled)
		n.recheck(t)
		for bearer, want := range map[string]string{opaque: isDisabled, token: isDisabled, session: invalid} {
			n.want(t, bearer, want)
		}
		n.setStatus(t, "ada", agent.Active)
		n.recheck(t)
		n.want(t, opaque, "ada")
		fresh := n.session(t, opaque).Token
		n.want(t, fresh, "ada")
		n.inTx(t, func(ctx context.Context, tx bun.Tx) error {
			a, err := store.ByHandle(ctx, tx, "ada")
			if err == nil {
				err = store.EndSession(ctx, tx, a.ID, fresh)
			}
			return err
		})
		n.recheck(t)
		n.want(t, fresh, invalid)
	})
}

// TestClosedAccountsOfAProvider checks that neither an old key nor a new key of the same subject reopens a
// closed account, and that another subject gets neither the account nor its handle.
func TestClosedAccountsOfAProvider(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const isClosed = "Forbidden account_closed"
		provider := newScripted(t)
		n, other := newNode(t, db, provider.settings("", "f")), newNode(t, db, provider.settings("", "f"))
		claims := fields{"iss": provider.URL, "active": true, "sub": "s1", "username": "ada", "aud": "pulsecast", "scope": "f", "exp": n.clock.now().Unix() + 600}
		opaque, token := provider.key(body(t, claims)), provider.jwt(claims)
		n.want(t, opaque, "ada")
		other.want(t, token, "ada")
		session := n.session(t, opaque).Token
		n.inTx(t, func(ctx context.Context, tx bun.Tx) error {
			a, err := store.ByHandle(ctx, tx, "ada")
			if err == nil {
				_, _, err = store.Close(ctx, tx, a.ID, n.clock.now())
			}
			return err
		})
		for _, n := range []*node{n, other} {
			n.recheck(t)
			fresh := provider.key(body(t, with(claims, "exp", n.clock.now().Unix()+700)))
			for bearer, want := range map[string]string{opaque: isClosed, token: isClosed, fresh: isClosed, session: invalid} {
				n.want(t, bearer, want)
			}
			n.want(t, provider.key(body(t, with(claims, "sub", "s2"))), "ada-2")
		}
	})
}

func TestJWTsOnly(t *testing.T) {
	t.Parallel()
	provider := newScripted(t)
	n := newNode(t, dbtest.Open(t, database.SQLite), config.Config{IdentityURL: provider.URL, IdentityScope: "f"})
	n.want(t, "opaque", invalid)
	n.want(t, provider.jwt(fields{"iss": provider.URL, "sub": "s1", "username": "ada", "aud": "pulsecast", "scope": "f", "exp": n.clock.now().Unix() + 600}), "ada")
	if s := n.Status(); !s.OK || len(s.Warnings) != 1 {
		t.Errorf("%+v", s)
	}
}

// BenchmarkDeadProvider measures the check of an unknown key while the provider is known to be down.
func BenchmarkDeadProvider(b *testing.B) {
	provider := newScripted(b)
	n := newNode(b, dbtest.Open(b, database.SQLite), provider.settings("", "f"))
	n.want(b, "opaque", invalid)
	provider.Close()
	for i := range 5 {
		n.want(b, fmt.Sprint("first-", i), noAnswer)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, err := n.Authenticate(b.Context(), fmt.Sprint("key-", i), nil); problem.As(err).Status != http.StatusServiceUnavailable {
			b.Fatal(err)
		}
	}
}
