package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/ory/fosite"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/problem"
)

// Parameters are the parameters that are read from an authorization request. The consent page repeats them in
// its form.
var Parameters = []string{
	"client_id", "redirect_uri", "response_type", "scope", "state", "code_challenge", "code_challenge_method", "resource",
}

// Request is an authorization request that a person can approve or deny.
type Request struct {
	Client     *Client
	Scopes     []string // a subset of Scopes, at least one
	Redirect   *url.URL // the address for the answer
	Resource   string
	Parameters url.Values // of the request, for the form of the page

	ar fosite.AuthorizeRequester
}

// Invalid is the error of an invalid request with a redirect address that belongs to the client. The person
// decides whether to follow Location, which carries the refusal to the client.
type Invalid struct {
	Problem  *problem.Error // for the person
	Redirect *url.URL       // the client's address
	Location string
}

func (i *Invalid) Error() string { return i.Problem.Error() }

func (i *Invalid) Unwrap() error { return i.Problem }

// Begin checks an authorization request (RFC 6749, section 4.1.1). If the redirect address belongs to the
// client, the error is an *Invalid. Otherwise it is a *problem.Error, or that of admit. None may redirect the browser: anyone
// can register a client and allow it, so an address of this service would lead to any site (RFC 9700,
// section 4.11.2).
func (s *Server) Begin(ctx context.Context, sent url.Values, admit Admit) (*Request, error) {
	parameters := url.Values{}
	for _, name := range Parameters {
		if values := sent[name]; len(values) > 0 {
			parameters[name] = values
		}
		if len(sent[name]) > 1 && name != "resource" {
			return nil, unusable("The app sent " + name + " more than once.")
		}
	}
	client, err := s.client(ctx, parameters.Get("client_id"), admit)
	if err != nil {
		return nil, err
	}
	r := &Request{Client: client, Parameters: parameters}
	if r.ar, err = s.parse(ctx, client, parameters); err != nil && !r.ar.IsRedirectURIValid() {
		return nil, unusable("The app asked to send you to an address that it hasn't registered (redirect_uri), " +
			"so you were not sent there.").With(err)
	}
	r.Redirect = r.ar.GetRedirectURI()
	if err == nil {
		err = s.check(r)
	}
	if err != nil {
		return nil, s.invalid(r, err)
	}
	return r, nil
}

func unusable(detail string) *problem.Error {
	return problem.New(problem.CodeInvalidAuthorization, detail+" Nothing was allowed. Go back to the app and connect again.")
}

// client returns the client with an id.
func (s *Server) client(ctx context.Context, id string, admit Admit) (*Client, error) {
	switch {
	case id == "" || len(id) > maxClientIDSize:
		return nil, unusable("The app that sent you here doesn't say which one it is (client_id).")
	case isDocument(id):
		return s.readDocument(ctx, id, admit)
	}
	c, err := findClient(ctx, s.DB.Reader, id, s.Now())
	if errors.Is(err, fosite.ErrNotFound) {
		return nil, problem.New(problem.CodeInvalidAuthorization,
			"The app that sent you here isn't registered, or its registration has expired (client_id). Nothing was allowed. "+
				"Remove its connection in the app, then add it again.")
	}
	return c, err
}

// parse lets the library read a request. The library requires a long state. This server needs none, because
// PKCE ties the answer to the client.
func (s *Server) parse(ctx context.Context, c *Client, parameters url.Values) (fosite.AuthorizeRequester, error) {
	var known []string
	if redirect := parameters.Get("redirect_uri"); redirect == "" {
		known = c.RedirectURIs
	} else if c.allows(redirect) {
		known = []string{redirect}
	}
	form := url.Values{}
	maps.Copy(form, parameters)
	form.Set("state", "not read by the library")
	form.Set("scope", strings.Join(scopesOf(parameters.Get("scope")), " "))
	r := &http.Request{Method: http.MethodGet, URL: &url.URL{RawQuery: form.Encode()}, Header: http.Header{}}
	return s.provider.NewAuthorizeRequest(context.WithValue(ctx, clientKey{}, s.party(c.ID, known)), r)
}

// scopesOf returns the scopes that a client asks for, or all if it names none. It drops offline_access,
// because every client gets refresh tokens.
func scopesOf(scope string) []string {
	asked := slices.DeleteFunc(strings.Fields(scope), func(s string) bool { return s == "offline_access" })
	if len(asked) == 0 {
		return Scopes
	}
	return asked
}

// check does the checks that the library doesn't do, or does only after a person has approved.
func (s *Server) check(r *Request) error {
	if r.Parameters.Get("code_challenge_method") != "S256" || !isChallenge(r.Parameters.Get("code_challenge")) {
		return refuse("invalid_request", "Send a code_challenge with code_challenge_method S256 (PKCE).")
	}
	resource, ok := s.resourceOf(r.Parameters["resource"])
	if !ok {
		return refuse("invalid_target", "resource must be %s.", strings.Join(s.resources(), " or "))
	}
	r.Resource, r.Scopes = resource, r.ar.GetRequestedScopes()
	return nil
}

// isChallenge reports whether s is a SHA-256 hash in base64url without padding (RFC 7636,
// section 4.2).
func isChallenge(s string) bool {
	hash, err := base64.RawURLEncoding.Strict().DecodeString(s)
	return err == nil && len(hash) == sha256.Size && len(s) == base64.RawURLEncoding.EncodedLen(sha256.Size)
}

// invalid returns the error of a request that was refused with err, or a *problem.Error if the service itself
// failed.
func (s *Server) invalid(r *Request, err error) error {
	refusal := translate(err)
	if refusal == nil {
		return problem.As(err)
	}
	p := problem.New(problem.CodeInvalidAuthorization, "The app's request is invalid ("+refusal.Code+"). Nothing was allowed. "+
		"Its author finds what to send at "+s.Config.BaseURL+ServerMetadataPath+".").With(err)
	location := s.answer(r, url.Values{"error": {refusal.Code}, "error_description": {refusal.Description}})
	return &Invalid{p, r.Redirect, location}
}

// answer returns the address that carries an answer to the client, with the issuer (RFC 9207).
func (s *Server) answer(r *Request, parameters url.Values) string {
	if state := r.Parameters.Get("state"); state != "" {
		parameters.Set("state", state)
	}
	parameters.Set("iss", s.Issuer())
	return withQuery(r.Redirect, parameters)
}

// Deny returns the address that tells the client that the person refused.
func (s *Server) Deny(r *Request) string {
	return s.answer(r, url.Values{"error": {"access_denied"}, "error_description": {"The person denied access."}})
}

// Approve lets the client act for an agent whose key was checked. The scopes must be among those that the
// client asked for. Approve returns the address that carries the code to the client.
func (s *Server) Approve(ctx context.Context, r *Request, by *identity.Principal, scopes []string) (string, error) {
	now := s.Now()
	held := &session{grant: agent.Grant{
		ID: database.NewID(now), AgentID: by.Agent.ID, Credential: by.Credential, ClientID: r.Client.ID,
		ClientName: r.Client.Name, Scope: strings.Join(scopes, " "), Resource: r.Resource,
	}}
	r.ar.SetID(held.grant.ID.String())
	r.ar.SetRequestedAudience(fosite.Arguments{r.Resource})
	for _, scope := range scopes {
		if slices.Contains(r.Scopes, scope) {
			r.ar.GrantScope(scope)
		}
	}
	if len(scopes) == 0 || len(r.ar.GetGrantedScopes()) != len(scopes) {
		return "", unusable("You must allow at least one scope, and only scopes that the app asked for.")
	}
	var location string
	_, err := s.inTx(ctx, func(ctx context.Context) (error, error) {
		response, err := s.provider.NewAuthorizeResponse(ctx, r.ar, held)
		if err != nil {
			return nil, err
		}
		location = s.answer(r, url.Values{"code": {response.GetCode()}})
		// Token locks the agent before the client, too.
		return nil, keepClient(ctx, txOf(ctx), r.Client.ID, now)
	})
	if errors.Is(err, agent.ErrNoCredential) {
		return "", problem.InvalidCredentials("This key has just ended. Use another one.")
	}
	if err != nil {
		return "", err
	}
	s.Log.Info("a client was allowed to act for an agent",
		"agent_id", by.Agent.ID, "client", r.Client.ID, "scope", held.grant.Scope, "grant_id", held.grant.ID)
	return location, nil
}
