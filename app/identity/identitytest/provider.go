// Package identitytest is an identity provider for tests. It signs people in by OpenID Connect as strictly
// as a good provider does, and lies where a test tells it to.
package identitytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/pulsecast/pulsecast/app/config"
)

// The registered client, and the scope that is granted to its user.
const (
	ClientID     = "pulse cast"
	ClientSecret = "s3cret: %/"
	AdminScope   = "pulsecast:admin"
)

// Claims are the fields of an answer or a token.
type Claims = map[string]any

// Lies are the provider's deviations from the truth. The zero value has none.
type Lies struct {
	Answer    func(token Claims)                    // changes the answer with the tokens
	ID        func(claims Claims)                   // changes the ID token's claims
	Access    Claims                                // claims of an access token that is a JWT; nil: an opaque token
	Says      Claims                                // the answer of introspection; nil: not active
	Forge     bool                                  // signs with a key that is not published
	Redirect  func(back url.Values)                 // changes the parameters with which the browser returns
	Token     func(w http.ResponseWriter)           // answers instead of the token endpoint
	Discovery func(w http.ResponseWriter) (ok bool) // answers instead of the documents
	Document  func(doc Claims)                      // changes the document
	Client    func(r *http.Request) bool            // reports whether a request is from the client; nil: it needs the secret in its header
}

// Provider is a provider on its own port.
type Provider struct {
	*httptest.Server
	t    testing.TB
	key  *ecdsa.PrivateKey
	fake *ecdsa.PrivateKey

	mu      sync.Mutex
	lies    Lies
	name    string
	granted string
	now     func() time.Time
	codes   map[string]url.Values // the sign-in request of each code
	asked   []url.Values          // every request to sign in
	tokens  int                   // answered at the token endpoint
}

// New starts a provider that dates its tokens by now.
func New(t testing.TB, now func() time.Time) *Provider {
	t.Helper()
	p := &Provider{t: t, name: "ada@example.org", granted: "openid profile " + AdminScope, now: now, codes: map[string]url.Values{}}
	var err error
	if p.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	if p.fake, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/openid-configuration", p.document)
	mux.HandleFunc("/authorize", p.authorize)
	mux.HandleFunc("/token", p.token)
	mux.HandleFunc("/introspect", p.introspect)
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, Claims{
			"keys": []any{jose.JSONWebKey{Key: p.key.Public(), KeyID: "one", Algorithm: "ES256", Use: "sig"}},
		})
	})
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Configure configures a deployment so that admins sign in at this provider.
func (p *Provider) Configure(cfg *config.Config) {
	cfg.IdentityURL, cfg.IdentityAudience, cfg.AdminScope = p.URL, "pulsecast", AdminScope
	cfg.IdentityClientID, cfg.IdentityClientSecret = ClientID, ClientSecret
}

// Lie makes the provider deviate from the truth from now on.
func (p *Provider) Lie(l Lies) {
	p.mu.Lock()
	p.lies = l
	p.mu.Unlock()
}

// Be sets the person who signs in, and the granted scopes.
func (p *Provider) Be(name, granted string) {
	p.mu.Lock()
	p.name, p.granted = name, granted
	p.mu.Unlock()
}

// Asked returns the sign-in requests so far.
func (p *Provider) Asked() []url.Values {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]url.Values(nil), p.asked...)
}

// Tokens counts the requests to the token endpoint so far.
func (p *Provider) Tokens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens
}

func (p *Provider) document(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	lies := p.lies
	p.mu.Unlock()
	if lies.Discovery != nil && lies.Discovery(w) {
		return
	}
	doc := Claims{
		"issuer": p.URL, "jwks_uri": p.URL + "/keys", "introspection_endpoint": p.URL + "/introspect",
		"authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
		"scopes_supported": []string{"openid", "profile", AdminScope}, "code_challenge_methods_supported": []string{"S256"},
	}
	if lies.Document != nil {
		lies.Document(doc)
	}
	p.write(w, doc)
}

// authorize doesn't ask for a sign-in: every visitor is the configured person.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil || asked.Get("client_id") != ClientID || asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" {
		http.Error(w, "not a request of a registered client", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	answer := url.Values{"code": {code}, "state": {asked.Get("state")}, "iss": {p.URL}}
	p.mu.Lock()
	p.codes[code] = asked
	p.asked = append(p.asked, asked)
	if p.lies.Redirect != nil {
		p.lies.Redirect(answer)
	}
	p.mu.Unlock()
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// token returns the tokens of a code once, and only to a client with the verifier.
func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tokens++
	if p.lies.Token != nil {
		p.lies.Token(w)
		return
	}
	if (p.lies.Client == nil && !ours(r)) || (p.lies.Client != nil && !p.lies.Client(r)) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		p.write(w, Claims{"error": "invalid_client"})
		return
	}
	asked := p.codes[r.PostFormValue("code")]
	delete(p.codes, r.PostFormValue("code"))
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	if asked == nil || r.PostFormValue("redirect_uri") != asked.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		p.write(w, Claims{"error": "invalid_grant"})
		return
	}
	now := p.now()
	access := "opaque"
	if p.lies.Access != nil {
		access = p.sign(p.lies.Access)
	}
	hash := sha256.Sum256([]byte(access))
	id := Claims{
		"iss": p.URL, "sub": "subject of " + p.name, "aud": ClientID, "nonce": asked.Get("nonce"), "preferred_username": p.name,
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).
			Unix(), "at_hash": base64.RawURLEncoding.EncodeToString(hash[:16]),
	}
	if p.lies.ID != nil {
		p.lies.ID(id)
	}
	answer := Claims{
		"access_token": access, "token_type": "Bearer", "expires_in": 300, "scope": p.granted, "id_token": p.sign(id),
	}
	if p.lies.Answer != nil {
		p.lies.Answer(answer)
	}
	p.write(w, answer)
}

func (p *Provider) introspect(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	says := Claims{"active": false}
	if p.lies.Says != nil {
		says = p.lies.Says
	}
	if !ours(r) {
		w.WriteHeader(http.StatusUnauthorized)
	}
	p.write(w, says)
}

func ours(r *http.Request) bool {
	id, secret, ok := r.BasicAuth()
	return ok && id == strings.ReplaceAll(url.QueryEscape(ClientID), "%20", "+") && secret == url.QueryEscape(ClientSecret)
}

func (p *Provider) sign(claims Claims) string {
	key := p.key
	if p.lies.Forge {
		key = p.fake
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "one"}}, nil)
	if err != nil {
		p.t.Error(err)
		return ""
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		p.t.Error(err)
	}
	return token
}

func (p *Provider) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		p.t.Error(err)
	}
}
