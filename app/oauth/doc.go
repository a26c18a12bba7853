// Package oauth is the authorization server for programs that can't be given a key, such as
// hosted MCP clients. A person allows a client to act for an agent on a page of this service. The
// person shows the agent's key to this service, and never to the client. The package runs only
// with the local registry. With an identity provider, the provider signs people in.
//
// # The flow
//
//	GET  /oauth/authorize   Begin checks the request; the page asks the person
//	POST /oauth/authorize   Approve stores a code that is valid for a minute, or Deny refuses
//	POST /oauth/token       Token redeems the code, and later refresh tokens
//	POST /oauth/revoke      Revoke ends a grant
//	POST /oauth/register    Register, for clients without a metadata document
//
// Clients are public: they have no secret, and PKCE with S256 ties a code to the program that
// began the flow. A client is identified by the address of its metadata document, which is read
// from its host, or by an id that it registered. Grants and tokens are credentials of agents. They
// live in package agent, so that they end with the agent's keys.
//
// The library github.com/ory/fosite implements the protocol;
// docs/decisions/0006-sign-in-for-apps.md says why. Each step runs in one transaction that a
// refusal doesn't roll back. So the second use of a code or a refresh token ends the grant,
// although the answer is an error.
//
// Sources: RFC 6749, 7009, 7591, 7636, 8252, 8414, 8707, 9207, 9700, 9728, OAuth Client ID
// Metadata Document, and the authorization of the Model Context Protocol.
package oauth
