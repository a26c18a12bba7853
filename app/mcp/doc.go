// Package mcp is the edge for agents that speak the Model Context Protocol. The operations
// of openapi.yaml are tools of the same names at /mcp; those that read and need no key are
// also at /mcp/public.
//
// A call becomes a request to the API within this process, made with the caller's
// bearer and on account of the caller's address. Rules, limits, usage, answers and
// refusals are therefore the API's own, and a new operation is a new tool.
//
// One thing differs: text that others wrote at any length, which the document marks with
// x-untrusted, stands in a field named untrusted, and only where it was asked for.
package mcp
