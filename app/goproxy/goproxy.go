// Package goproxy lets tests that download modules tell a missing network from a mistake.
package goproxy

import "regexp"

// unreachable matches what a go command says about a connection that fails, a proxy that is switched off, and one that
// refuses or can't answer. A module that doesn't exist gives 404 or 410.
var unreachable = regexp.MustCompile(`dial tcp|no such host|timeout|connection reset|GOPROXY|: (403|407|50[0234]) `)

// Unreachable reports whether a go command failed with this output because the module proxy can't be reached.
func Unreachable(output []byte) bool { return unreachable.Match(output) }
