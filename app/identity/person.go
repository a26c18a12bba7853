package identity

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"golang.org/x/oauth2"
)

// Person is a person who signed in and was granted every required scope.
type Person struct {
	Issuer, Subject string // unique together
	Name            string // as the provider states it, else the subject; not unique
}

// nameOf asks the provider for the name of a person, which some providers leave out of ID tokens. If there
// is no answer, the sign-in continues without a name.
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
		p.at.Log.Warn("the identity provider does not give the name of a person", "error", err)
		return ""
	}
	return personName(all)
}

// personName returns the name to show for a person: a user name, the part of an e-mail address before the
// "@", or a full name. The part after an "@" is private.
func personName(all map[string]any) string {
	for _, claim := range []string{"preferred_username", "email", "name"} {
		name, _, _ := strings.Cut(text(all[claim]), "@")
		if name = strings.TrimSpace(name); name != "" {
			return name
		}
	}
	return ""
}
