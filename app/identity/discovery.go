package identity

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// discoverEvery is the age at which the provider's documents are read again. The old ones stay in use
	// until that succeeds.
	discoverEvery = time.Hour
	// discoverAgain is the wait after a failed reading.
	discoverAgain = time.Minute
)

// endpoints are the addresses and methods in the provider's documents.
type endpoints struct {
	issuer        string
	introspection string // "" if the provider has none
	keys          string // of its JWK set; "" if the provider has none
	secretInBody  bool   // client_secret_post rather than client_secret_basic
	signIn        signInEndpoints
	next          time.Time
}

// document is the used part of the metadata of OpenID Connect Discovery 1.0 and RFC 8414.
type document struct {
	Issuer        string   `json:"issuer"`
	Introspection string   `json:"introspection_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Methods       []string `json:"introspection_endpoint_auth_methods_supported"`
	signInEndpoints
}

// signInEndpoints are the addresses where people sign in, with what the provider supports there.
type signInEndpoints struct {
	Authorization  string   `json:"authorization_endpoint"`
	Token          string   `json:"token_endpoint"`
	UserInfo       string   `json:"userinfo_endpoint"`
	TokenMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Scopes         []string `json:"scopes_supported"`
	CodeChallenges []string `json:"code_challenge_methods_supported"`
}

// discover returns the provider's endpoints. It reads them if they aren't known yet. If they are old, it
// returns them and reads them again in the background.
func (p *provider) discover(ctx context.Context) (*endpoints, error) {
	known := p.endpoints.Load()
	if known == nil {
		return p.readEndpoints(ctx)
	}
	now := p.Now()
	if now.Before(known.next) {
		return known, nil
	}
	later := *known
	later.next = now.Add(discoverAgain)
	if p.endpoints.CompareAndSwap(known, &later) {
		p.client.background(func(ctx context.Context) {
			if _, err := p.readEndpoints(ctx); err != nil {
				p.Log.Warn("the identity provider's documents could not be read again", "error", err)
			}
		})
	}
	return known, nil
}

func (p *provider) readEndpoints(ctx context.Context) (*endpoints, error) {
	found, err := p.once(ctx, "discovery", func(ctx context.Context) (any, error) {
		var merged document
		var errs []error
		certain := true // whether an endpoint that no document names is known not to exist
		for _, address := range wellKnown(p.Config.IdentityURL) {
			doc, err := p.readDocument(ctx, address)
			if err != nil {
				errs = append(errs, err)
				certain = certain && isMissing(err)
				continue
			}
			merged = doc.over(merged)
			if merged.complete() {
				break
			}
		}
		if merged.Issuer == "" || (!merged.complete() && !certain) {
			return nil, errors.Join(errs...)
		}
		p.client.note(ctx, nil)
		ends := &endpoints{
			issuer: merged.Issuer, introspection: merged.Introspection, keys: merged.Keys,
			secretInBody: slices.Contains(merged.Methods, "client_secret_post") && !slices.Contains(merged.Methods, "client_secret_basic"),
			signIn:       merged.signInEndpoints,
			next:         p.Now().Add(discoverEvery),
		}
		p.endpoints.Store(ends)
		return ends, nil
	})
	if err != nil {
		return nil, err
	}
	return found.(*endpoints), nil
}

func (d document) complete() bool { return d.Introspection != "" && d.Keys != "" }

// over fills the gaps of an earlier document with d, and returns the result.
func (d document) over(earlier document) document {
	if earlier.Issuer == "" {
		return d
	}
	if earlier.Introspection == "" {
		earlier.Introspection, earlier.Methods = d.Introspection, d.Methods
	}
	if earlier.Keys == "" {
		earlier.Keys = d.Keys
	}
	if earlier.Authorization == "" {
		earlier.signInEndpoints = d.signInEndpoints
	}
	return earlier
}

// wellKnown returns the possible addresses of a provider's documents. OpenID Connect appends its part to the
// issuer's path. RFC 8414 (section 3.1) puts its part before the path, but some providers append it.
func wellKnown(base string) []string {
	base = strings.TrimRight(base, "/")
	addresses := []string{base + "/.well-known/openid-configuration"}
	const oauth = "/.well-known/oauth-authorization-server"
	if u, err := url.Parse(base); err == nil && u.Path != "" {
		path := u.Path
		u.Path = oauth + path
		addresses = append(addresses, u.String())
	}
	return append(addresses, base+oauth)
}

func (p *provider) readDocument(ctx context.Context, address string) (document, error) {
	var doc document
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return doc, &fault{word: "discovery", cause: err}
	}
	err = p.client.json(req, &doc, func() error { return p.checkDocument(doc) })
	return doc, err
}

// checkDocument checks that the document is from the requested provider (RFC 8414, section 3.3), and that
// no endpoint of an https provider is plain http.
func (p *provider) checkDocument(doc document) error {
	if doc.Issuer == "" || strings.TrimRight(doc.Issuer, "/") != strings.TrimRight(p.Config.IdentityURL, "/") {
		return &fault{word: "discovery", cause: errors.New("its document names another issuer than IDENTITY_URL")}
	}
	return p.checkEndpoints(doc.Introspection, doc.Keys)
}

// checkEndpoints checks that each given address is at least as secure as IDENTITY_URL.
func (p *provider) checkEndpoints(addresses ...string) error {
	for _, address := range addresses {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		secure := strings.HasPrefix(p.Config.IdentityURL, "https://")
		if err != nil || u.Host == "" || (u.Scheme != "https" && (secure || u.Scheme != "http")) {
			return &fault{word: "discovery", cause: errors.New("its document names an endpoint that is no https address")}
		}
	}
	return nil
}
