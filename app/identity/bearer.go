package identity

import (
	"crypto/sha256"

	"github.com/pulsecast/pulsecast/app/problem"
)

// digest is the SHA-256 of a bearer, the only form in which one is kept.
type digest = [sha256.Size]byte

// keptAnswers is how many answers of each kind a node keeps, about 500 bytes each.
// Refusals are kept apart, so that a flood of wrong keys can't push out the right ones.
const keptAnswers = 20_000

// verdict is what was found out about a bearer: a principal or a refusal.
type verdict struct {
	principal *Principal
	refusal   *problem.Error
}

func (v verdict) refused() bool { return v.refusal != nil }

// answer returns the verdict. Each caller gets its own copy of a refusal, to add a cause
// to.
func (v verdict) answer() (*Principal, error) {
	if v.refusal == nil {
		return v.principal, nil
	}
	refusal := *v.refusal
	return nil, &refusal
}

// bearerBytes are the characters of a b64token (RFC 6750, section 2.1).
var bearerBytes = func() (ok [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=" {
		ok[c] = true
	}
	return ok
}()

// wellFormed reports whether a bearer can be a key or a token at all.
func wellFormed(bearer string) bool {
	if bearer == "" || len(bearer) > maxBearer {
		return false
	}
	for i := range len(bearer) {
		if !bearerBytes[bearer[i]] {
			return false
		}
	}
	return true
}
