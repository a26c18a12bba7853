package identity

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// skew is how far the provider's clock and ours may be apart.
const skew = 60 * time.Second

// errInvalid: the key is not good, or no longer.
var errInvalid = errors.New("the key is not valid")

// claims are what a provider says of a key, by introspection or in a JWT.
type claims struct {
	issuer      string
	subject     string // unique within issuer
	names       []string
	audience    []string
	hasAudience bool // the answer named one, if only an empty one
	scopes      []string
	expires     time.Time // zero: not said
	notBefore   time.Time // zero: not said
	saidIssuer  string    // "" when not said
	owner       string    // "" when not said, or not asked for
	jwt         bool
}

// claimsFrom reads claims leniently, as providers differ, but never guesses: a claim
// that decides over access and cannot be read makes the answer nonsense.
func claimsFrom(all map[string]any, issuer, ownerClaim string) (claims, error) {
	c := claims{issuer: issuer, saidIssuer: text(all["iss"]), owner: owner(all[ownerClaim])}
	var ok [3]bool
	c.expires, ok[0] = moment(all["exp"])
	c.notBefore, ok[1] = moment(all["nbf"])
	c.audience, ok[2] = list(all["aud"])
	if ok != [3]bool{true, true, true} {
		return claims{}, &fault{word: "parse"}
	}
	c.hasAudience = all["aud"] != nil
	c.scopes = scopesOf(all)
	username, client, sub := text(all["username"]), text(all["client_id"]), text(all["sub"])
	if username == "" {
		username = text(all["preferred_username"])
	}
	c.names = []string{username, client, sub}
	switch {
	case sub != "":
		c.subject = sub
	case client != "":
		c.subject = "client:" + client
	case username != "":
		c.subject = "user:" + username
	default:
		return claims{}, &fault{word: "parse", cause: errors.New("the answer names no subject")}
	}
	return c, nil
}

// scopesOf are the scopes that an answer says were granted.
func scopesOf(all map[string]any) (scopes []string) {
	for _, name := range []string{"scope", "scp"} {
		granted, _ := list(all[name])
		for _, one := range granted {
			scopes = append(scopes, strings.Fields(one)...)
		}
	}
	return scopes
}

// check tells whether a key that is active is also in its time and of our issuer.
func (c claims) check(issuer string, now time.Time) error {
	switch {
	case !c.expires.IsZero() && !now.Before(c.expires.Add(skew)),
		c.notBefore.After(now.Add(skew)),
		c.saidIssuer != "" && c.saidIssuer != issuer:
		return errInvalid
	}
	return nil
}

// name is what an agent is called first: its user name, else its client's, else its
// subject; what follows an "@" is private.
func (c claims) name() string {
	for _, name := range c.names {
		name, _, _ = strings.Cut(name, "@")
		name = strings.TrimSpace(name)
		if runes := []rune(name); len(runes) > 80 {
			name = string(runes[:80])
		}
		if name != "" {
			return name
		}
	}
	return "agent"
}

// owner is the claim that names who an agent belongs to, a text or a number.
func owner(claim any) string {
	if n, ok := claim.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return text(claim)
}

// text is a claim as a readable line of at most 255 bytes, else "".
func text(claim any) string {
	s, _ := claim.(string)
	if len(s) > 255 || plaintext.Check(s, false) != "" {
		return ""
	}
	return s
}

// moment reads seconds since 1970, as a number or digits; absent is the zero time.
func moment(claim any) (time.Time, bool) {
	var seconds float64
	switch v := claim.(type) {
	case nil:
		return time.Time{}, true
	case float64:
		seconds = v
	case string:
		var err error
		if seconds, err = strconv.ParseFloat(v, 64); err != nil {
			return time.Time{}, false
		}
	default:
		return time.Time{}, false
	}
	// Past the year 9999 no database stores it, and nobody waits for it.
	const last = 253402300799
	if !(seconds > 0) {
		return time.Unix(0, 0).UTC(), true
	}
	return time.Unix(int64(min(seconds, last)), 0).UTC(), true
}

// list reads one string or several; absent is none.
func list(claim any) ([]string, bool) {
	switch v := claim.(type) {
	case nil:
		return nil, true
	case string:
		return []string{v}, true
	case []any:
		out := make([]string, 0, len(v))
		for _, one := range v {
			s, ok := one.(string)
			if !ok {
				return nil, false
			}
			out = append(out, s)
		}
		return out, true
	}
	return nil, false
}
