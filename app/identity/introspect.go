package identity

import (
	"context"
	"net/http"
	"net/url"
	"strings"
)

// introspect asks the provider about a key (RFC 7662). It returns errInvalid if the key isn't active, or if
// the provider can check only JWTs.
func (p *provider) introspect(ctx context.Context, ends *endpoints, key string) (claims, error) {
	id, secret := p.Config.IdentityClientID, string(p.Config.IdentityClientSecret)
	if ends.introspection == "" || id == "" {
		return claims{}, errInvalid
	}
	form := url.Values{"token": {key}, "token_type_hint": {"access_token"}}
	if ends.secretInBody {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, ends.introspection, strings.NewReader(form.Encode()))
	if err != nil {
		return claims{}, &fault{word: "discovery", cause: err}
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if !ends.secretInBody {
		// RFC 6749, section 2.3.1: each part is encoded before they are joined with a colon.
		req.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
	}
	var answer map[string]any
	var active bool
	err = p.client.json(req, &answer, func() error {
		var ok bool
		if active, ok = answer["active"].(bool); !ok {
			return &fault{word: "parse"}
		}
		return nil
	})
	if err != nil {
		return claims{}, err
	}
	p.client.unread.judge()
	if !active {
		return claims{}, errInvalid
	}
	return claimsFrom(answer, ends.issuer, p.Config.IdentityOwnerClaim)
}
