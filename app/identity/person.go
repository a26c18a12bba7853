package identity

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
)

// Person is who has signed in, with every scope that was asked for.
type Person struct {
	Issuer, Subject string // together unique
	Name            string // as the provider says it, else the subject; another may have the same
}

// nameOf asks for the name of a person: some providers leave it out of ID tokens. No
// answer is no reason to turn anybody away.
func (p *People) nameOf(ctx context.Context, ends *endpoints, token *oauth2.Token, subject string) string {
	if ends.signIn.UserInfo == "" {
		return ""
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ends.signIn.UserInfo, nil)
	if err != nil {
		return ""
	}
	token.SetAuthHeader(req)
	req.Header.Set("Accept", "application/json")
	body, err := p.at.client.exchange(req)
	var all map[string]any
	if err != nil || json.Unmarshal(body, &all) != nil || all["sub"] != subject {
		p.at.Log.Warn("the identity provider does not tell the name of a person", "error", err)
		return ""
	}
	return personName(all)
}

// personName is what a person is called: a user name, the part of an e-mail address
// before the "@", or a full name. What follows an "@" is private.
func personName(all map[string]any) string {
	for _, claim := range []string{"preferred_username", "email", "name"} {
		name, _, _ := strings.Cut(text(all[claim]), "@")
		if name = strings.TrimSpace(name); name != "" {
			return name
		}
	}
	return ""
}
