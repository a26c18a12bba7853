// Package oauth is the authorization server for programs that can't be given a key, such as
// hosted MCP clients: a person allows a client to act for an agent, on a page, by showing the
// agent's key to us and never to the client. It runs with the local registry only; with an
// identity provider the provider signs people in.
//
// # The flow
//
//	GET  /oauth/authorize   Begin checks the request; the page asks the person
//	POST /oauth/authorize   Approve stores a code of one minute, or Deny; back to the client
//	POST /oauth/token       Token redeems the code, and later refresh tokens
//	POST /oauth/revoke      Revoke ends a grant
//	POST /oauth/register    Register, for clients without a metadata document
//
// Clients are public: nothing is secret about them, and PKCE with S256 ties a code to the
// program that began. A client is known by the address of its metadata document, which is read
// from its host, or by an id that it registered. Grants and tokens are credentials of agents
// and live in package agent, so that they end with the agent's keys.
//
// The protocol is github.com/ory/fosite's; docs/decisions/0006-sign-in-for-apps.md says
// why. Each step runs in one transaction that a refusal doesn't roll back: noticing a code or
// a refresh token used twice ends the grant although the answer is an error.
//
// Sources: RFC 6749, 7009, 7591, 7636, 8252, 8414, 8707, 9207, 9700, 9728, OAuth Client ID
// Metadata Document, and the authorization of the Model Context Protocol.
package oauth
