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
	// keysAreFresh is how long after a reading the keys are not read again because of an unknown signer.
	// So made-up key ids cause at most one request in that time.
	keysAreFresh = 2 * time.Second
	// keysRefresh is the age at which the keys are read again in the background, so that a withdrawn key
	// stops working. keysExpire is the age beyond which they are not used, even if the provider is down.
	keysRefresh = 5 * time.Minute
	keysAgain   = 15 * time.Second // the wait after a failed reading
	keysExpire  = time.Hour
)

// algorithms are the only allowed signature algorithms. "none" isn't allowed, nor a symmetric algorithm,
// for which a public key could be used as the secret.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}

// errUnknownSigner means that no published key made the signature. Unlike errInvalid this may change soon,
// when the provider publishes a new key.
var errUnknownSigner = errors.New("the signer is not known")

// keySet holds the provider's published keys.
type keySet struct {
	keys   []jose.JSONWebKey
	readAt time.Time
	next   time.Time // when to read them again
}

// isJWT reports whether a key is a JWT: three parts, of which the first is a JSON object that names an
// algorithm. Any other key is opaque.
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

// verifyJWT checks a JWT's signature and reads its claims. The JWT must have an expiry: the provider is
// never asked about it, so nothing else would end it. If the expiry or the issuer is missing, the claims come with
// errInvalid.
func (p *provider) verifyJWT(ctx context.Context, ends *endpoints, token string, now time.Time) (claims, error) {
	_, all, err := p.signed(ctx, ends, token, now)
	if err != nil {
		return claims{}, err
	}
	c, err := claimsFrom(all, ends.issuer, p.Config.IdentityOwnerClaim)
	if err != nil { // an unreadable claim is a fault of the key, not of the provider
		return claims{}, errInvalid
	}
	if c.expires.IsZero() || c.saidIssuer == "" {
		return c, errInvalid
	}
	return c, nil
}

// missing returns the first claim that a key that is a JWT must have and doesn't, or "". Without an audience, it may have
// been made for any service (RFC 9068, section 2.2).
func (c claims) missing() string {
	switch {
	case c.expires.IsZero():
		return "expiry (exp)"
	case c.saidIssuer == "":
		return "issuer (iss)"
	case len(c.audience) == 0:
		return "audience (aud)"
	}
	return ""
}

// signed returns the text that the provider has signed, and its claims. It returns errInvalid if the key
// isn't a JWT, and errUnknownSigner if the provider didn't sign it.
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

// verify returns the text that one of the keys has signed.
func (s *keySet) verify(token *jwt.JSONWebToken) (payload json.RawMessage, all map[string]any, ok bool) {
	for _, key := range s.matching(token.Headers[0]) {
		payload, all = nil, nil
		if token.Claims(key.Key, &payload, &all) == nil {
			return payload, all, true
		}
	}
	return nil, nil, false
}

// usable returns the keys that may verify a signature. It drops keys of unknown kinds.
func usable(published []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, raw := range published {
		var key jose.JSONWebKey
		if json.Unmarshal(raw, &key) == nil && key.Valid() && key.IsPublic() && (key.Use == "" || key.Use == "sig") {
			keys = append(keys, key)
		}
	}
	return keys
}

// matching returns the keys that may have made a signature: those with its key id, if it names one, and
// with its algorithm.
func (s *keySet) matching(header jose.Header) []jose.JSONWebKey {
	var out []jose.JSONWebKey
	for _, key := range s.keys {
		if (header.KeyID == "" || key.KeyID == header.KeyID) && (key.Algorithm == "" || key.Algorithm == header.Algorithm) {
			out = append(out, key)
		}
	}
	return out
}

// publishedKeys returns the provider's keys. It reads them if none are known or they have expired.
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
	found, err := p.once(ctx, "keys", func(ctx context.Context) (any, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, ends.keys, nil)
		if err != nil {
			return nil, &fault{word: "discovery", cause: err}
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
