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
	// discoverEvery is how old the provider's documents may get before they are read
	// again; the old ones serve meanwhile, and while the provider is down.
	discoverEvery = time.Hour
	// discoverAgain is the wait after a reading that failed.
	discoverAgain = time.Minute
)

// endpoints are what the provider's documents say: where to ask, and how.
type endpoints struct {
	issuer        string
	introspection string // "" when it offers none
	keys          string // of its JWK set; "" when it offers none
	secretInBody  bool   // client_secret_post rather than client_secret_basic
	signIn        signInEndpoints
	next          time.Time
}

// document is the part of the metadata of OpenID Connect Discovery 1.0 and of RFC
// 8414 that is used.
type document struct {
	Issuer        string   `json:"issuer"`
	Introspection string   `json:"introspection_endpoint"`
	Keys          string   `json:"jwks_uri"`
	Methods       []string `json:"introspection_endpoint_auth_methods_supported"`
	signInEndpoints
}

// signInEndpoints are where people sign in, and what the provider says of it.
type signInEndpoints struct {
	Authorization  string   `json:"authorization_endpoint"`
	Token          string   `json:"token_endpoint"`
	UserInfo       string   `json:"userinfo_endpoint"`
	TokenMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Scopes         []string `json:"scopes_supported"`
	CodeChallenges []string `json:"code_challenge_methods_supported"`
}

// discover gives the provider's endpoints, read when they are not known yet. Those
// that grew old serve while they are read anew in the background.
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
	found, err, _ := p.refresh.Do("discovery", func() (any, error) {
		var merged document
		var errs []error
		certain := true // that what no document names is not offered
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
		p.client.note(nil)
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

// over fills what an earlier document left out.
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

// wellKnown are the addresses of a provider's documents: OpenID Connect appends to
// the issuer's path, RFC 8414 (section 3.1) puts its own part before it; some append
// that as well.
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
		return doc, &fault{"discovery", err}
	}
	err = p.client.json(req, &doc, func() error { return p.checkDocument(doc) })
	return doc, err
}

// checkDocument: the document is of the provider asked (RFC 8414, section 3.3), and
// sends nothing over an open line that was asked for over a closed one.
func (p *provider) checkDocument(doc document) error {
	if doc.Issuer == "" || strings.TrimRight(doc.Issuer, "/") != strings.TrimRight(p.Config.IdentityURL, "/") {
		return &fault{"discovery", errors.New("its document names another issuer than IDENTITY_URL")}
	}
	return p.checkEndpoints(doc.Introspection, doc.Keys)
}

// checkEndpoints: each address that is given is no less safe than IDENTITY_URL.
func (p *provider) checkEndpoints(addresses ...string) error {
	for _, address := range addresses {
		if address == "" {
			continue
		}
		u, err := url.Parse(address)
		secure := strings.HasPrefix(p.Config.IdentityURL, "https://")
		if err != nil || u.Host == "" || (u.Scheme != "https" && (secure || u.Scheme != "http")) {
			return &fault{"discovery", errors.New("its document names an endpoint that is no https address")}
		}
	}
	return nil
}
