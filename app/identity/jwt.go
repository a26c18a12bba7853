package identity

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	// keysAreFresh is how long after a reading an unknown signer is not looked for
	// again: made-up key ids cost the provider one request in that time.
	keysAreFresh = 2 * time.Second
	// keysRefresh is the age at which the keys are read again in the background, so
	// that a withdrawn one stops working; keysExpire the age past which they are not
	// used, even when the provider is down.
	keysRefresh = 5 * time.Minute
	keysAgain   = 15 * time.Second // the wait after a reading that failed
	keysExpire  = time.Hour
)

// algorithms are all that a signature may use: no "none", and nothing symmetric, for
// which a public key could be taken for a secret.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}

// errUnknownSigner: no published key made the signature. Unlike errInvalid that may
// change soon, when the provider publishes a new one.
var errUnknownSigner = errors.New("the signer is not known")

// keySet are the provider's published keys.
type keySet struct {
	keys   []jose.JSONWebKey
	readAt time.Time
	next   time.Time // when to read them again
}

// isJWT tells whether a key is a JWT: three parts, the first a JSON object that
// names an algorithm. Anything else is opaque.
func isJWT(key string) bool {
	first, rest, _ := strings.Cut(key, ".")
	if strings.Count(rest, ".") != 1 {
		return false
	}
	raw, err := base64.RawURLEncoding.DecodeString(first)
	var header struct {
		Algorithm string `json:"alg"`
	}
	return err == nil && json.Unmarshal(raw, &header) == nil && header.Algorithm != ""
}

// verifyJWT checks a JWT's signature and reads its claims. It must expire: it is
// never asked about, so nothing else would end it.
func (p *provider) verifyJWT(ctx context.Context, ends *endpoints, token string, now time.Time) (claims, error) {
	_, all, err := p.signed(ctx, ends, token, now)
	if err != nil {
		return claims{}, err
	}
	c, err := claimsFrom(all, ends.issuer, p.Config.IdentityOwnerClaim)
	// A claim that cannot be read is the key's fault, not the provider's.
	if err != nil || c.expires.IsZero() || c.saidIssuer == "" {
		return claims{}, errInvalid
	}
	c.jwt = true
	return c, nil
}

// signed is what the provider has signed, as it is written and as claims. errInvalid
// when it is no JWT, errUnknownSigner when the provider did not sign it.
func (p *provider) signed(
	ctx context.Context, ends *endpoints, token string, now time.Time,
) (payload json.RawMessage, all map[string]any, err error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return nil, nil, errInvalid
	}
	try := func(set *keySet) (ok bool) {
		payload, all, ok = set.verify(parsed)
		return ok
	}
	set, err := p.publishedKeys(ctx, ends, now)
	if err != nil {
		return nil, nil, err
	}
	if try(set) {
		return payload, all, nil
	}
	if now.Sub(set.readAt) < keysAreFresh {
		return nil, nil, errUnknownSigner
	}
	if set, err = p.readKeys(ctx, ends); err != nil {
		return nil, nil, err
	}
	if !try(set) {
		return nil, nil, errUnknownSigner
	}
	return payload, all, nil
}

// verify reads what one of the keys has signed.
func (s *keySet) verify(token *jwt.JSONWebToken) (payload json.RawMessage, all map[string]any, ok bool) {
	for _, key := range s.matching(token.Headers[0]) {
		payload, all = nil, nil
		if token.Claims(key.Key, &payload, &all) == nil {
			return payload, all, true
		}
	}
	return nil, nil, false
}

// usable returns those of some keys that may verify a signature. Kinds of key that are not known
// here are not ours to use.
func usable(published []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, raw := range published {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	return keys
}

// matching are the keys that may have made a signature: of its key id, when it names
// one, and of its algorithm.
func (s *keySet) matching(header jose.Header) []jose.JSONWebKey {
	var out []jose.JSONWebKey
	for _, key := range s.keys {
		if (header.KeyID == "" || key.KeyID == header.KeyID) && (key.Algorithm == "" || key.Algorithm == header.Algorithm) {
			out = append(out, key)
		}
	}
	return out
}

// publishedKeys are the provider's keys, read when none are known or they expired.
func (p *provider) publishedKeys(ctx context.Context, ends *endpoints, now time.Time) (*keySet, error) {
	known := p.keys.Load()
	if known == nil || now.Sub(known.readAt) >= keysExpire {
		return p.readKeys(ctx, ends)
	}
	later := *known
	later.next = now.Add(keysAgain)
	if !now.Before(known.next) && p.keys.CompareAndSwap(known, &later) {
		p.client.background(func(ctx context.Context) {
			if _, err := p.readKeys(ctx, ends); err != nil {
				p.Log.Warn("the identity provider's keys could not be read again", "error", err)
			}
		})
	}
	return known, nil
}

func (p *provider) readKeys(ctx context.Context, ends *endpoints) (*keySet, error) {
	found, err, _ := p.refresh.Do("keys", func() (any, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, ends.keys, nil)
		if err != nil {
			return nil, &fault{"discovery", err}
		}
		var answer struct {
			Keys []json.RawMessage `json:"keys"`
		}
		now := p.Now()
		set := &keySet{readAt: now, next: now.Add(keysRefresh)}
		err = p.client.json(req, &answer, func() error {
			if answer.Keys == nil {
				return &fault{word: "parse"}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		set.keys = usable(answer.Keys)
		p.keys.Store(set)
		return set, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*keySet), nil
}
