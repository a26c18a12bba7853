package oauth

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/memo"
)

// The addresses of the authorization server, below BASE_URL.
const (
	AuthorizePath = "/oauth/authorize"
	TokenPath     = "/oauth/token"
	RevokePath    = "/oauth/revoke"
	RegisterPath  = "/oauth/register"
	// ServerMetadataPath is the path of the server's metadata by RFC 8414.
	ServerMetadataPath = "/.well-known/oauth-authorization-server"
	// ResourceMetadataPath is the path of the API's metadata by RFC 9728. With MCPPath appended it is the
	// path of MCP's metadata.
	ResourceMetadataPath = "/.well-known/oauth-protected-resource"
	// MCPPath is the resource of tokens unless the client names another.
	MCPPath = "/mcp"
)

// codeLifetime is how long an authorization code can be redeemed.
const codeLifetime = time.Minute

// Scopes are the scopes that a client can ask for.
var Scopes = []string{agent.ScopeRead, agent.ScopePublish}

// grantTypes are the grant types that the token endpoint knows.
var grantTypes = []string{"authorization_code", "refresh_token"}

// Options are the dependencies of a Server.
type Options struct {
	Config     *config.Config
	DB         *database.DB
	Generation *agent.Generation // notified when tokens end
	Log        *slog.Logger
	Now        func() time.Time
	// Transport reads metadata documents. If nil, a transport that refuses private addresses is used.
	Transport http.RoundTripper
}

// Server is the authorization server.
type Server struct {
	Options
	agents    agent.Store
	provider  *fosite.Fosite
	documents *memo.Cache[string, document]
	http      *http.Client
}

// New makes a Server.
func New(o Options) *Server {
	s := &Server{Options: o, documents: memo.New[string](memo.Options[document]{
		Size: keptDocuments, Now: o.Now, Timeout: 2 * fetchTimeout, Minor: document.failed,
	})}
	transport := o.Transport
	if transport == nil {
		transport = publicOnly()
	}
	s.http = &http.Client{
		Transport: transport, Timeout: fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.provider = s.newProvider()
	return s
}

// newProvider configures the library: authorization code with PKCE, refresh tokens, revocation, and nothing
// else.
func (s *Server) newProvider() *fosite.Fosite {
	c := &fosite.Config{
		AccessTokenLifespan: agent.AccessLifetime, RefreshTokenLifespan: agent.GrantLifetime,
		AuthorizeCodeLifespan: codeLifetime, RefreshTokenScopes: []string{}, EnforcePKCE: true,
		ScopeStrategy: fosite.ExactScopeStrategy, AudienceMatchingStrategy: fosite.ExactAudienceMatchingStrategy,
		SanitationWhiteList: []string{"redirect_uri", "code_challenge"}, OmitRedirectScopeParam: true,
	}
	kept := store{s}
	c.ClientAuthenticationStrategy = kept.identify
	code := &oauth2.AuthorizeExplicitGrantHandler{
		AccessTokenStrategy: strategy{}, RefreshTokenStrategy: strategy{}, AuthorizeCodeStrategy: strategy{},
		CoreStorage: kept, TokenRevocationStorage: kept, Config: c,
	}
	proof := &pkce.Handler{AuthorizeCodeStrategy: strategy{}, Storage: kept, Config: c}
	renew := &oauth2.RefreshTokenGrantHandler{
		AccessTokenStrategy: strategy{}, RefreshTokenStrategy: strategy{}, TokenRevocationStorage: kept, Config: c,
	}
	c.AuthorizeEndpointHandlers = fosite.AuthorizeEndpointHandlers{code, proof}
	c.TokenEndpointHandlers = fosite.TokenEndpointHandlers{code, proof, renew}
	c.RevocationHandlers = fosite.RevocationHandlers{&oauth2.TokenRevocationHandler{
		TokenRevocationStorage: kept, RefreshTokenStrategy: strategy{}, AccessTokenStrategy: strategy{},
	}}
	return fosite.NewOAuth2Provider(kept, c)
}

// Issuer names the server in its metadata and answers.
func (s *Server) Issuer() string { return s.Config.BaseURL }

// resources returns the resources that a token can be for: MCP, and the whole API.
func (s *Server) resources() []string { return []string{s.Config.BaseURL + MCPPath, s.Config.BaseURL} }

// resourceOf returns the resource that a client names (RFC 8707), or MCP if it names none. ok is false if
// this server doesn't know the resource.
func (s *Server) resourceOf(named []string) (resource string, ok bool) {
	for _, n := range named {
		n = strings.TrimSuffix(n, "/")
		if !slices.Contains(s.resources(), n) || (resource != "" && n != resource) {
			return "", false
		}
		resource = n
	}
	if resource == "" {
		resource = s.resources()[0]
	}
	return resource, true
}

// changed makes tokens that have ended invalid on this node at once.
func (s *Server) changed(ctx context.Context) {
	if err := s.Generation.Check(ctx); err != nil {
		s.Log.Warn("a grant ended; other nodes will see it when the database answers", "error", err)
	}
}

// withQuery adds parameters to an address.
func withQuery(to *url.URL, parameters url.Values) string {
	out := *to
	query := out.Query()
	maps.Copy(query, parameters)
	out.RawQuery = query.Encode()
	return out.String()
}
