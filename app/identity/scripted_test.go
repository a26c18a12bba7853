package identity_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/pulsecast/pulsecast/app/config"
)

const idOfOurs = "pulse cast:node"

// fields are the claims of a key.
type fields = map[string]any

// scripted is an identity provider whose answers a test sets.
type scripted struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex
	says    map[string]string // by key: the body of the introspection
	failing http.HandlerFunc  // if set, the answer to every request but discovery
	signers []signer          // the published keys, newest last

	document  string                 // the path of its document
	broken    atomic.Pointer[string] // the path of a document that answers 500
	alter     func(fields)
	asked     atomic.Int64 // introspections
	read      atomic.Int64 // of the published keys
	discovery atomic.Int64
}

type signer struct {
	algorithm jose.SignatureAlgorithm
	public    jose.JSONWebKey
	private   any
}

func newScripted(t testing.TB) *scripted {
	t.Helper()
	s := &scripted{t: t, says: map[string]string{}, document: "/.well-known/openid-configuration"}
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/", s.discover)
	mux.HandleFunc("/introspect", s.orFail(s.introspect))
	mux.HandleFunc("/keys", s.orFail(s.publish))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	s.rotate(jose.RS256)
	return s
}

// settings returns the settings of a deployment that uses this provider.
func (s *scripted) settings(audience, scope string) config.Config {
	return config.Config{
		IdentityURL: s.URL, IdentityClientID: idOfOurs, IdentityClientSecret: secretOfOurs,
		IdentityAudience: audience, IdentityScope: scope, IdentityOwnerClaim: "org",
	}
}

// fail lets handler answer every request but discovery, until fail(nil).
func (s *scripted) fail(handler http.HandlerFunc) {
	s.mu.Lock()
	s.failing = handler
	s.mu.Unlock()
}

func (s *scripted) orFail(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		failing := s.failing
		s.mu.Unlock()
		if failing != nil {
			s.asked.Add(1)
			failing(w, r)
			return
		}
		next(w, r)
	}
}

func (s *scripted) discover(w http.ResponseWriter, r *http.Request) {
	s.discovery.Add(1)
	if path := s.broken.Load(); path != nil && *path == r.URL.Path {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if r.URL.Path != s.document {
		http.NotFound(w, r)
		return
	}
	doc := fields{"issuer": s.URL, "introspection_endpoint": s.URL + "/introspect", "jwks_uri": s.URL + "/keys"}
	if s.alter != nil {
		s.alter(doc)
	}
	s.write(w, doc)
}

func (s *scripted) introspect(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	id, secret, ok := r.BasicAuth()
	id, err1 := url.QueryUnescape(id)
	secret, err2 := url.QueryUnescape(secret)
	if !ok || err1 != nil || err2 != nil || id != idOfOurs || secret != secretOfOurs {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	body := s.says[r.PostFormValue("token")]
	s.mu.Unlock()
	if r.Method != http.MethodPost || r.URL.RawQuery != "" || body == "" {
		body = `{"active":false}`
	}
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, body)
}

func (s *scripted) publish(w http.ResponseWriter, _ *http.Request) {
	s.read.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := []any{fields{"kty": "future", "kid": "unknown kind"}}
	for _, one := range s.signers {
		keys = append(keys, one.public)
	}
	s.write(w, fields{"keys": keys})
}

func (s *scripted) write(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		s.t.Error(err)
	}
}

var keyNumber atomic.Int64

// key makes an opaque key for which the provider answers body.
func (s *scripted) key(body string) string {
	key := fmt.Sprintf("opaque.key-%d", keyNumber.Add(1))
	s.teach(key, body)
	return key
}

func (s *scripted) teach(key, body string) {
	s.mu.Lock()
	s.says[key] = body
	s.mu.Unlock()
}

// rotate publishes a new signing key. Earlier keys are withdrawn.
func (s *scripted) rotate(algorithm jose.SignatureAlgorithm) {
	one := signer{algorithm: algorithm}
	var public any
	var err error
	switch algorithm {
	case jose.RS256:
		var key *rsa.PrivateKey
		key, err = rsa.GenerateKey(rand.Reader, 2048)
		one.private, public = key, key.Public()
	case jose.ES256:
		var key *ecdsa.PrivateKey
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		one.private, public = key, key.Public()
	case jose.EdDSA:
		public, one.private, err = ed25519.GenerateKey(rand.Reader)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	one.public = jose.JSONWebKey{Key: public, KeyID: fmt.Sprintf("k%d", keyNumber.Add(1)), Algorithm: string(algorithm), Use: "sig"}
	s.mu.Lock()
	s.signers = []signer{one}
	s.mu.Unlock()
}

func (s *scripted) signer() signer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signers[len(s.signers)-1]
}

// jwt signs claims with the newest key.
func (s *scripted) jwt(claims fields) string {
	one := s.signer()
	return sign(s.t, one.algorithm, jose.JSONWebKey{Key: one.private, KeyID: one.public.KeyID}, claims)
}

func sign(t testing.TB, algorithm jose.SignatureAlgorithm, key any, claims fields) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// with returns base with some claims set. A nil claim is left out.
func with(base fields, changes ...any) fields {
	out := fields{}
	for k, v := range base {
		out[k] = v
	}
	for i := 0; i < len(changes); i += 2 {
		if changes[i+1] == nil {
			delete(out, changes[i].(string))
		} else {
			out[changes[i].(string)] = changes[i+1]
		}
	}
	return out
}

func body(t testing.TB, claims fields) string {
	t.Helper()
	b, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
