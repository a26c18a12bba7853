package identity

import (
	"crypto/sha256"
	"strings"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/problem"
)

// digest is the SHA-256 of a bearer. A bearer is stored only in this form.
type digest = [sha256.Size]byte

// keptAnswers is how many answers of each kind a node keeps, about 500 bytes each. Refusals are kept
// separately, so that a flood of wrong keys can't evict the valid ones.
const keptAnswers = 20_000

// verdict is the result of checking a bearer: a principal or a refusal.
type verdict struct {
	principal *Principal
	refusal   *problem.Error
	of        uuid.UUID // the agent refused; see Answer
}

// agentID returns the agent whose changes end the verdict, or uuid.Nil.
func (v verdict) agentID() uuid.UUID {
	if v.principal != nil {
		return v.principal.Agent.ID
	}
	return v.of
}

func (v verdict) refused() bool { return v.refusal != nil }

// err returns the refusal as an error, or nil.
func (v verdict) err() error {
	if v.refusal == nil {
		return nil
	}
	return v.refusal
}

// answer returns the verdict. Each caller gets its own copy of a refusal, so that it can add a cause.
func (v verdict) answer() (*Principal, error) {
	if v.refusal == nil {
		return v.principal, nil
	}
	refusal := *v.refusal
	return nil, &refusal
}

// maxBearer is the longest accepted bearer, in bytes. A JWT with many claims is shorter.
const maxBearer = 4096

// bearerBytes are the characters of a b64token without its padding (RFC 6750, section 2.1).
var bearerBytes = func() (ok [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/" {
		ok[c] = true
	}
	return ok
}()

// wellFormed reports whether a bearer can be a key or a token at all.
func wellFormed(bearer string) bool {
	if len(bearer) > maxBearer {
		return false
	}
	bearer = strings.TrimRight(bearer, "=")
	for i := range len(bearer) {
		if !bearerBytes[bearer[i]] {
			return false
		}
	}
	return bearer != ""
}
