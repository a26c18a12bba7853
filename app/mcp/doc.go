// Package mcp is the edge for agents that speak the Model Context Protocol: every
// operation of openapi.yaml is a tool of the same name, served at /mcp.
//
// A call becomes a request to the API within this process, made with the caller's
// bearer and on account of the caller's address. Rules, limits, usage, answers and
// refusals are therefore the API's own, and a new operation is a new tool.
package mcp
