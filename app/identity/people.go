package identity

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/pulsecast/pulsecast/app/problem"
)

// CallbackPath is the path below BASE_URL that the provider sends a person back to.
const CallbackPath = "/admin/sign-in/callback"

// signInTimeout bounds all requests to the provider in one step of a sign-in.
const signInTimeout = 5 * time.Second

// People signs people in at the central provider by OpenID Connect: the authorization code flow with PKCE,
// a state and a nonce. All three are derived from one secret of the flow. The caller stores the secret in
// the person's browser and allows its use once.
//
// A failure never signs a person in. A scope counts as granted only if the provider says so, and if the
// provider can't be asked, the result is a 503.
type People struct {
	at     *provider
	scopes []string // all of them must be granted
	host   string
}

// Return holds the parameters with which the provider sends a browser back. They are untrusted.
type Return struct{ State, Code, Error, Issuer string }

// People returns the sign-in of people, or nil if ADMIN_SCOPE isn't set.
func (s *Service) People() *People {
	if s.provider == nil || s.Config.AdminScope == "" {
		return nil
	}
	base, _ := url.Parse(s.Config.IdentityURL) // Config.Check has parsed it
	return &People{at: s.provider, scopes: strings.Fields(s.Config.AdminScope), host: base.Host}
}

// Host returns the provider's host, to show to people.
func (p *People) Host() string { return p.host }

// Is reports whether an issuer is this provider.
func (p *People) Is(issuer string) bool {
	return strings.TrimRight(issuer, "/") == strings.TrimRight(p.at.Config.IdentityURL, "/")
}

// Begin returns the address at the provider where a sign-in begins. The flow's values are derived from
// secret. If again is set, the provider asks the person to sign in again, possibly with another account. The
// error is a 503.
func (p *People) Begin(ctx context.Context, secret string, again bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	ends, err := p.ready(ctx)
	if err != nil {
		return "", p.down(err)
	}
	options := []oauth2.AuthCodeOption{
		oidc.Nonce(derived(secret, "nonce")), oauth2.S256ChallengeOption(derived(secret, "verifier")),
	}
	if again {
		options = append(options, oauth2.SetAuthURLParam("prompt", "login"))
	}
	return p.client(ends).AuthCodeURL(derived(secret, "state"), options...), nil
}

// Owns reports whether a return belongs to the flow of a secret.
func (p *People) Owns(secret string, r Return) bool {
	return secret != "" && subtle.ConstantTimeCompare([]byte(r.State), []byte(derived(secret, "state"))) == 1
}

// Finish ends the flow of a secret and returns the person. The caller must first check with Owns that the
// return belongs to the flow, and ensure that the flow is used only once. Refusals: 401 invalid_sign_in, 403
// sign_in_refused, 403 scope_missing, and 503 unavailable if the provider can't be asked.
func (p *People) Finish(ctx context.Context, secret string, r Return) (Person, error) {
	if r.Error != "" {
		return Person{}, p.turnedAway(r.Error)
	}
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	ends, err := p.ready(ctx)
	if err != nil {
		return Person{}, p.down(err)
	}
	if r.Issuer != "" && r.Issuer != ends.issuer { // RFC 9207
		return Person{}, p.distrusted(fmt.Errorf("the answer is from another issuer: %.200q", r.Issuer))
	}
	token, err := p.exchange(ctx, ends, secret, r.Code)
	if err != nil {
		return Person{}, err
	}
	all, err := p.idToken(ctx, ends, token, derived(secret, "nonce"))
	if err != nil {
		return Person{}, err
	}
	person := Person{Issuer: ends.issuer, Subject: text(all["sub"])}
	if person.Subject == "" {
		return Person{}, p.distrusted(errors.New("the ID token names no subject"))
	}
	if person.Name = personName(all); person.Name == "" {
		person.Name = cmp.Or(p.nameOf(ctx, ends, token, person.Subject), person.Subject)
	}
	granted, err := p.granted(ctx, ends, token, all)
	if err != nil {
		return Person{}, p.down(err)
	}
	for _, scope := range p.scopes {
		if !slices.Contains(granted, scope) {
			return Person{}, p.notGranted(person, scope, granted)
		}
	}
	return person, nil
}

// ready returns the provider's endpoints, including those for signing in.
func (p *People) ready(ctx context.Context) (*endpoints, error) {
	ends, err := p.at.discover(ctx)
	if err != nil {
		return nil, err
	}
	if ends.signIn.Authorization == "" || ends.signIn.Token == "" || ends.keys == "" {
		return nil, &fault{
			word:  "discovery",
			cause: errors.New("its document names no authorization_endpoint, token_endpoint or jwks_uri"),
		}
	}
	// Checked here, not when the document is read: agents' keys don't depend on these endpoints.
	return ends, p.at.checkEndpoints(ends.signIn.Authorization, ends.signIn.Token, ends.signIn.UserInfo)
}

func (p *People) client(ends *endpoints) *oauth2.Config {
	secret := string(p.at.Config.IdentityClientSecret)
	style := oauth2.AuthStyleInHeader
	methods := ends.signIn.TokenMethods
	if secret == "" || (slices.Contains(methods, "client_secret_post") && !slices.Contains(methods, "client_secret_basic")) {
		style = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{
		ClientID: p.at.Config.IdentityClientID, ClientSecret: secret, RedirectURL: p.at.Config.BaseURL + CallbackPath,
		Endpoint: oauth2.Endpoint{AuthURL: ends.signIn.Authorization, TokenURL: ends.signIn.Token, AuthStyle: style},
		Scopes:   append([]string{oidc.ScopeOpenID, "profile"}, p.scopes...),
	}
}

// exchange turns the code into tokens. It bypasses the circuit breaker: codes that strangers make up must
// not cut off the agents.
func (p *People) exchange(ctx context.Context, ends *endpoints, secret, code string) (*oauth2.Token, error) {
	ctx = context.WithValue(ctx, oauth2.HTTPClient, p.at.client.http)
	token, err := p.client(ends).Exchange(ctx, code, oauth2.VerifierOption(derived(secret, "verifier")))
	refusal, refused := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case err == nil:
		return token, nil
	case !refused || refusal.Response == nil:
		return nil, p.down(fmt.Errorf("token endpoint: %w", err))
	}
	// Without the body of the answer, which may quote secrets.
	status := refusal.Response.StatusCode
	cause := fmt.Errorf("token endpoint: http_%d %.60q", status, refusal.ErrorCode)
	switch {
	case status == http.StatusUnauthorized || refusal.ErrorCode == "invalid_client" || refusal.ErrorCode == "unauthorized_client":
		return nil, problem.Unavailable(p.host+" does not accept the credentials of this service. Its operator must correct IDENTITY_CLIENT_ID and IDENTITY_CLIENT_SECRET; until then sign in with a password.", time.Minute).With(cause)
	case status == http.StatusBadRequest:
		return nil, p.distrusted(cause)
	}
	return nil, p.down(cause)
}

// idToken checks the ID token (OpenID Connect Core 1.0, section 3.1.3.7) and returns its claims.
func (p *People) idToken(ctx context.Context, ends *endpoints, token *oauth2.Token, nonce string) (map[string]any, error) {
	raw, _ := token.Extra("id_token").(string)
	now := p.at.Now()
	payload, all, err := p.at.signed(ctx, ends, raw, now)
	if errors.Is(err, errInvalid) || errors.Is(err, errUnknownSigner) {
		return nil, p.distrusted(fmt.Errorf("ID token: %w", err))
	}
	if err != nil {
		return nil, p.down(err)
	}
	supported := make([]string, len(algorithms))
	for i, a := range algorithms {
		supported[i] = string(a)
	}
	id, err := oidc.NewVerifier(ends.issuer, verified(payload), &oidc.Config{
		ClientID: p.at.Config.IdentityClientID, SupportedSigningAlgs: supported, Now: func() time.Time { return now.Add(-skew) },
	}).Verify(ctx, raw)
	switch {
	case err != nil:
	case subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(nonce)) != 1:
		err = errors.New("ID token: it is not of this sign-in (nonce)")
	case len(id.Audience) > 1 && all["azp"] != p.at.Config.IdentityClientID:
		err = errors.New("ID token: it was made for another client (azp)")
	case id.AccessTokenHash != "":
		err = id.VerifyAccessToken(token.AccessToken)
	}
	if err != nil {
		return nil, p.distrusted(err)
	}
	return all, nil
}

// verified is a payload whose signature was checked with the cached keys.
type verified json.RawMessage

// VerifySignature implements oidc.KeySet.
func (v verified) VerifySignature(context.Context, string) ([]byte, error) { return v, nil }

// granted returns the scopes that the provider says it granted. It looks in the answer with the tokens (RFC
// 6749, section 5.1), then in the ID token, then in an access token that is a JWT (RFC 9068), and then asks
// about the access token (RFC 7662). The first one that names scopes decides. By the RFC, an answer without
// scopes means that all were granted. Here it means that none were. The error is a fault of the provider.
func (p *People) granted(
	ctx context.Context, ends *endpoints, token *oauth2.Token, idToken map[string]any,
) ([]string, error) {
	if scopes := scopesOf(map[string]any{"scope": token.Extra("scope")}); len(scopes) > 0 {
		return scopes, nil
	}
	if scopes := scopesOf(idToken); len(scopes) > 0 {
		return scopes, nil
	}
	var c claims
	var err error
	if isJWT(token.AccessToken) {
		c, err = p.at.verifyJWT(ctx, ends, token.AccessToken, p.at.Now())
	}
	if err == nil && len(c.scopes) == 0 {
		c, err = p.at.introspect(ctx, ends, token.AccessToken)
	}
	if err == nil {
		err = c.check(ends.issuer, p.at.Now())
	}
	if errors.Is(err, errInvalid) || errors.Is(err, errUnknownSigner) {
		return nil, nil
	}
	return c.scopes, err
}

// Ready reads the provider's documents and returns warnings for an operator about anything in them that may
// prevent sign-ins. The error means that they could not be read.
func (p *People) Ready(ctx context.Context) (warnings []string, err error) {
	ends, err := p.ready(ctx)
	if err != nil {
		return nil, err
	}
	for _, scope := range p.scopes {
		if offered := ends.signIn.Scopes; len(offered) > 0 && !slices.Contains(offered, scope) {
			warnings = append(warnings, fmt.Sprintf(
				"the provider does not list the scope %s of ADMIN_SCOPE among those it knows (scopes_supported)", scope,
			))
		}
	}
	if methods := ends.signIn.CodeChallenges; len(methods) > 0 && !slices.Contains(methods, "S256") {
		warnings = append(warnings, "the provider does not offer PKCE with S256; it may refuse every sign-in")
	}
	return warnings, nil
}

// derived returns a value computable only from the flow's secret.
func derived(secret, use string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("pulsecast sign-in: " + use))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
