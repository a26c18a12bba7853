package identity

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/plaintext"
)

// skew is the largest allowed difference between the provider's clock and ours. It doesn't make a key valid after its
// exp, because no session could start with it.
const skew = 60 * time.Second

// errInvalid means that the key is unknown, expired or revoked.
var errInvalid = errors.New("the key is not valid")

// claims are a provider's statements about a key, from introspection or a JWT.
type claims struct {
	issuer      string
	subject     string // unique within issuer
	names       []string
	audience    []string
	hasAudience bool // the answer has an audience, even if it is empty
	scopes      []string
	expires     time.Time // zero: not stated
	notBefore   time.Time // zero: not stated
	saidIssuer  string    // "" if not stated
	owner       string    // "" if not stated or not configured
}

// claimsFrom reads claims leniently, because providers differ, but it never guesses. If a claim that
// decides about access is unreadable, it returns a fault.
func claimsFrom(all map[string]any, issuer, ownerClaim string) (claims, error) {
	c := claims{issuer: issuer}
	var sub string
	var ok [5]bool
	c.expires, ok[0] = moment(all["exp"])
	c.notBefore, ok[1] = moment(all["nbf"])
	c.audience, ok[2] = list(all["aud"])
	c.saidIssuer, ok[3] = identifier(all["iss"])
	sub, ok[4] = identifier(all["sub"])
	if ok != [5]bool{true, true, true, true, true} {
		return claims{}, &fault{word: "parse"}
	}
	c.hasAudience = all["aud"] != nil
	c.scopes = scopesOf(all)
	c.owner, _ = identifier(all[ownerClaim])
	username, client := text(all["username"]), text(all["client_id"])
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

// scopesOf returns the granted scopes that an answer names.
func scopesOf(all map[string]any) (scopes []string) {
	for _, name := range []string{"scope", "scp"} {
		granted, _ := list(all[name])
		for _, one := range granted {
			scopes = append(scopes, strings.Fields(one)...)
		}
	}
	return scopes
}

// check returns errInvalid unless an active key is within its validity period and from our issuer.
func (c claims) check(issuer string, now time.Time) error {
	switch {
	case !c.expires.IsZero() && !now.Before(c.expires),
		c.notBefore.After(now.Add(skew)),
		c.saidIssuer != "" && c.saidIssuer != issuer:
		return errInvalid
	}
	return nil
}

// name returns the initial name of an agent: the user name, else the client's name, else the subject. The
// part after an "@" is private and left out.
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

// identifier reads a claim that distinguishes people or servers: a readable line of at most 255 bytes, or a whole
// number. A missing claim is "". ok is false for any other claim, and for a number so large that its last digits may be
// lost, because two of them could look the same.
func identifier(claim any) (id string, ok bool) {
	switch v := claim.(type) {
	case nil:
		return "", true
	case string:
		id = text(v)
		return id, id == v
	case float64:
		const exact = 1 << 53 // below it, every whole number is a float64
		return strconv.FormatFloat(v, 'f', -1, 64), v == math.Trunc(v) && math.Abs(v) < exact
	}
	return "", false
}

// text returns a claim as a readable line of at most 255 bytes, else "".
func text(claim any) string {
	s, _ := claim.(string)
	if len(s) > 255 || plaintext.Check(s, false) != "" {
		return ""
	}
	return s
}

// moment reads seconds since 1970, as a number or digits. A missing claim is the zero time.
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
	// Databases can't store times after the year 9999.
	const last = 253402300799
	if !(seconds > 0) {
		return time.Unix(0, 0).UTC(), true
	}
	return time.Unix(int64(min(seconds, last)), 0).UTC(), true
}

// list reads one string or several. A missing claim is an empty list.
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
