package oauth

import "strings"

// ResourceMetadata names the servers that can give programs access to a resource (RFC 9728, section 2).
type ResourceMetadata struct {
	Resource      string   `json:"resource"`
	Name          string   `json:"resource_name"`
	Servers       []string `json:"authorization_servers"`
	Scopes        []string `json:"scopes_supported,omitempty"`
	Methods       []string `json:"bearer_methods_supported"`
	Documentation string   `json:"resource_documentation"`
}

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

// Resource returns the metadata of the resource at a path: "" for the API, or MCPPath.
func (s *Server) Resource(path string) ResourceMetadata {
	base := s.Config.BaseURL
	m := ResourceMetadata{
		Resource: base + path, Name: "Pulsecast", Servers: []string{s.Issuer()}, Scopes: Scopes,
		Methods: []string{"header"}, Documentation: base + "/docs",
	}
	if !s.Enabled() {
		m.Servers = []string{s.Config.IdentityURL}
		m.Scopes = strings.Fields(s.Config.IdentityScope)
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
		Grants:    []string{"authorization_code", "refresh_token"},
		TokenAuth: []string{"none"}, RevokeAuth: []string{"none"}, Challenges: []string{"S256"},
		ClientDocuments: true, NamesIssuer: true, Documentation: base + "/docs",
	}
}
