package oauth

import (
	"strings"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// ServerMetadata describes the abilities of the authorization server (RFC 8414, section 2).
type ServerMetadata struct {
	Issuer          string   `json:"issuer"`
	Authorize       string   `json:"authorization_endpoint"`
	Token           string   `json:"token_endpoint"`
	Register        string   `json:"registration_endpoint"`
	Revoke          string   `json:"revocation_endpoint"`
	Scopes          []string `json:"scopes_supported"`
	ResponseTypes   []string `json:"response_types_supported"`
	ResponseModes   []string `json:"response_modes_supported"`
	Grants          []string `json:"grant_types_supported"`
	TokenAuth       []string `json:"token_endpoint_auth_methods_supported"`
	RevokeAuth      []string `json:"revocation_endpoint_auth_methods_supported"`
	Challenges      []string `json:"code_challenge_methods_supported"`
	ClientDocuments bool     `json:"client_id_metadata_document_supported"`
	NamesIssuer     bool     `json:"authorization_response_iss_parameter_supported"`
	Documentation   string   `json:"service_documentation"`
}

// Enabled reports whether this service signs programs in itself. It does unless an identity provider is
// set.
func (s *Server) Enabled() bool { return s.Config.IdentityURL == "" }

// Resource returns the metadata of the resource at a path: "" for the API, or MCPPath. They name the server that can
// give programs access to it.
func (s *Server) Resource(path string) *oauthex.ProtectedResourceMetadata {
	base := s.Config.BaseURL
	m := &oauthex.ProtectedResourceMetadata{
		Resource: base + path, ResourceName: "Pulsecast", AuthorizationServers: []string{s.Issuer()}, ScopesSupported: Scopes,
		BearerMethodsSupported: []string{"header"}, ResourceDocumentation: base + "/docs",
	}
	if !s.Enabled() {
		m.AuthorizationServers = []string{s.Config.IdentityURL}
		m.ScopesSupported = strings.Fields(s.Config.IdentityScope)
	}
	return m
}

// Metadata returns the metadata of the server.
func (s *Server) Metadata() ServerMetadata {
	base := s.Config.BaseURL
	return ServerMetadata{
		Issuer: s.Issuer(), Authorize: base + AuthorizePath, Token: base + TokenPath,
		Register: base + RegisterPath, Revoke: base + RevokePath, Scopes: Scopes,
		ResponseTypes: []string{"code"}, ResponseModes: []string{"query"},
		Grants:    grantTypes,
		TokenAuth: []string{"none"}, RevokeAuth: []string{"none"}, Challenges: []string{"S256"},
		ClientDocuments: true, NamesIssuer: true, Documentation: base + "/docs",
	}
}
