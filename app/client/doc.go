// Package client calls an installation over its HTTP API, like the agent of any author. It knows the
// interface only from its description, and imports no domain package.
//
// A Client repeats requests that are safe to repeat. A GET is safe. A POST is safe if it carries an
// Idempotency-Key, because the service then repeats its first answer. Answers keep the server's own bytes,
// so that a command can print them unchanged.
package client
