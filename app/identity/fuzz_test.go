package identity

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/plaintext"
)

// FuzzClaims checks that the answer of a provider is refused, or names a subject that can be stored.
func FuzzClaims(f *testing.F) {
	for _, seed := range []string{
		`{"sub":"a","exp":1,"aud":["x"],"scope":"a b"}`, `{"exp":"NaN"}`, `{"aud":{}}`, `{"sub":"\u0000"}`, `{"sub":"a","exp":1e400}`, `{"client_id":"c","nbf":-1}`,
		`{"sub":"a","owner":1.5,"scp":["a",1]}`, `{"username":"u@x"}`, `{"exp":true}`,
		`{"sub":17,"iss":true}`, `{"sub":9007199254740993,"client_id":"c"}`, `{"sub":-0.5}`,
	} {
		f.Add([]byte(seed))
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, body []byte) {
		var all map[string]any
		if json.Unmarshal(body, &all) != nil {
			return
		}
		c, err := claimsFrom(all, "https://id.example", "owner")
		if err != nil {
			return
		}
		if c.subject == "" || plaintext.Check(c.subject+c.owner+c.name(), false) != "" || c.expires.Year() > 9999 {
			t.Errorf("%q gives %+v", body, c)
		}
		_ = c.check("https://id.example", now)
	})
}

// answers is a transport that answers each path with a text, and all other paths with 404.
type answers map[string][]byte

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" || r.URL.Host == "" {
		return nil, fmt.Errorf("a request to %s, which is no https address", r.URL)
	}
	body, ok := a[r.URL.Path]
	status := http.StatusOK
	if !ok {
		status = http.StatusNotFound
	}
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
}

// FuzzDocuments checks that a provider's documents are refused as a fault of the provider, or name
// the configured issuer and https endpoints only. It also checks that the key set is a fault or holds
// public keys.
func FuzzDocuments(f *testing.F) {
	const whole = `{"issuer":"https://id.example","introspection_endpoint":"https://id.example/i","jwks_uri":"https://id.example/keys","authorization_endpoint":"https://id.example/a"}`
	for _, seed := range []struct{ openID, oauth, keys string }{
		{whole, `{}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`},
		{`{"issuer":"https://id.example/","jwks_uri":"https://id.example/keys"}`, `{"issuer":"https://id.example","introspection_endpoint":"http://id.example/i"}`, `{"keys":null}`},
		{`{"issuer":"https://id.example","jwks_uri":"https:keys"}`, whole, `[]`},
		{`{"issuer":"https://other.example"}`, `null`, ``},
		{`{"issuer":"https://id.example","jwks_uri":"https://[::1"}`, "\xff", `{"keys":[null,{}]}`},
		{`{"issuer":"https://id.example","introspection_endpoint_auth_methods_supported":"x"}`, whole, `{"keys":[1]}`},
		{`{"issuer":"https://id.example","jwks_uri":"https://id.example/%zz"}`, `{"issuer":"https://id.example"}`, `{"keys":{}}`},
	} {
		f.Add([]byte(seed.openID), []byte(seed.oauth), []byte(seed.keys))
	}
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, openID, oauth, keys []byte) {
		p := newProvider(Options{
			Config: &config.Config{IdentityURL: "https://id.example"}, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return now },
			Wrap: func(http.RoundTripper) http.RoundTripper {
				return answers{"/.well-known/openid-configuration": openID, "/.well-known/oauth-authorization-server": oauth, "/keys": keys}
			},
		})
		defer p.client.close()
		ends, err := p.discover(t.Context())
		if err != nil {
			if _, ok := errors.AsType[*fault](err); !ok {
				t.Errorf("%q and %q: %v is no fault of the provider", openID, oauth, err)
			}
			return
		}
		if strings.TrimRight(ends.issuer, "/") != "https://id.example" {
			t.Errorf("issuer %q", ends.issuer)
		}
		for _, address := range []string{ends.introspection, ends.keys} {
			if u, err := url.Parse(address); address != "" && (err != nil || u.Scheme != "https" || u.Host == "") {
				t.Errorf("endpoint %q", address)
			}
		}
		set, err := p.readKeys(t.Context(), ends)
		if err != nil {
			if _, ok := errors.AsType[*fault](err); !ok {
				t.Errorf("%q: %v is no fault of the provider", keys, err)
			}
			return
		}
		for _, k := range set.keys {
			if !k.IsPublic() || !k.Valid() {
				t.Errorf("%q gives the key %v", keys, k)
			}
		}
	})
}

// FuzzIsJWT checks that isJWT handles any text.
func FuzzIsJWT(f *testing.F) {
	for _, seed := range []string{"eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "a.b.c", "..", "eyJ.eyJ.", "pc_x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) { isJWT(key) })
}

// FuzzJWT checks that only public keys of a provider's key set verify tokens. It also checks that a
// changed token is refused unless its claims are still those that were signed.
func FuzzJWT(f *testing.F) {
	private := ed25519.NewKeyFromSeed([]byte(strings.Repeat("k", ed25519.SeedSize)))
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: private, KeyID: "a"}}, nil)
	if err != nil {
		f.Fatal(err)
	}
	const content = `{"exp":2000000000,"sub":"ada"}`
	signature, err := signer.Sign([]byte(content))
	if err != nil {
		f.Fatal(err)
	}
	genuine, err := signature.CompactSerialize()
	if err != nil {
		f.Fatal(err)
	}
	published, err := json.Marshal(jose.JSONWebKey{Key: private.Public(), KeyID: "a", Use: "sig"})
	if err != nil {
		f.Fatal(err)
	}
	secret, err := json.Marshal(jose.JSONWebKey{Key: private, KeyID: "a"})
	if err != nil {
		f.Fatal(err)
	}
	signed := genuine[:strings.LastIndexByte(genuine, '.')]
	for _, key := range []string{string(published), string(secret), `{"kty":"oct","k":"c2VjcmV0"}`, `{"kty":"RSA","n":"","e":"AQAB"}`, `{"kty":"OKP","crv":"Ed25519","x":"AA"}`, `{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}`, "null"} {
		for _, token := range []string{genuine, signed + ".", "eyJhbGciOiJub25lIn0." + signed[strings.IndexByte(signed, '.')+1:] + ".", genuine + "A", "{}", ".."} {
			f.Add([]byte(key), token)
		}
	}
	own := keySet{keys: usable([]json.RawMessage{published})}
	f.Fuzz(func(t *testing.T, key []byte, token string) {
		theirs := keySet{keys: usable([]json.RawMessage{key})}
		for _, k := range theirs.keys {
			if !k.IsPublic() || !k.Valid() {
				t.Errorf("%s may verify", key)
			}
		}
		parsed, err := jwt.ParseSigned(token, algorithms)
		if err != nil || len(parsed.Headers) != 1 {
			return
		}
		theirs.verify(parsed)
		if payload, all, ok := own.verify(parsed); ok && (string(payload) != content || len(all) != 2) {
			t.Errorf("%q is accepted as %s", token, payload)
		}
	})
}
