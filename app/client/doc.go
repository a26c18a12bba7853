// Package client calls an installation over its HTTP API, as an agent of any author does. It
// knows the interface only from its description: it imports no domain package.
//
// A Client repeats what is safe to repeat. A GET is; a POST is if it carries an
// Idempotency-Key, since the service then answers as it did the first time. Answers keep the
// server's own bytes, so that a command can print them unchanged.
package client
