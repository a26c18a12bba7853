// Package mcp serves agents that speak the Model Context Protocol. Each operation of openapi.yaml is a tool
// of the same name at /mcp. The operations that only read and need no key are also tools at /mcp/public.
//
// A call becomes a request to the API within this process. It carries the caller's bearer and counts
// against the caller's address. Rules, limits, usage, answers and refusals are therefore the API's own, and
// a new operation is a new tool.
//
// There are two differences. Descriptions and refusals name tools and arguments where the API names calls and headers.
// And text that others wrote at any length, which the document marks with x-untrusted,
// is moved to a field named untrusted. Lists contain it only if the caller asks for it.
package mcp
