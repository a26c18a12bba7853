package agent

import (
	"crypto/rand"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// A key is pc_<id>_<secret><checksum>, with all parts in base 62. A session token is
// ps_<secret><checksum>. Access tokens (pa_) and authorization codes (pz_) have the same form. A
// refresh token is pr_<family><secret><checksum>. Its family is a secret that all refresh tokens of
// a grant share. The checksum is the CRC-32 of all characters before it, so that a truncated or
// mistyped key is refused without a query.
const (
	keyPrefix   = "pc_"
	tokenPrefix = "ps_"

	accessPrefix  = "pa_"
	refreshPrefix = "pr_"
	codePrefix    = "pz_"

	idLength       = 12 // 71 bits, so random ids are unique
	secretLength   = 27 // 160 bits
	checksumLength = 6  // 62^6 > 2^32

	keyLength   = len(keyPrefix) + idLength + 1 + secretLength + checksumLength
	tokenLength = len(tokenPrefix) + secretLength + checksumLength

	refreshLength = tokenLength + secretLength
)

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// IsKey reports whether a bearer has the prefix of a key of the local registry.
func IsKey(bearer string) bool { return strings.HasPrefix(bearer, keyPrefix) }

// IsToken reports whether a bearer has the prefix of a session token or an access token.
func IsToken(bearer string) bool {
	return strings.HasPrefix(bearer, tokenPrefix) || IsAccessToken(bearer)
}

// IsAccessToken reports whether a bearer has the prefix of the access token of a grant.
func IsAccessToken(bearer string) bool { return strings.HasPrefix(bearer, accessPrefix) }

// NewAccessToken returns a new access token.
func NewAccessToken() string { return withChecksum(accessPrefix + random(secretLength)) }

// NewFamily returns the family of the refresh tokens of a new grant.
func NewFamily() string { return random(secretLength) }

// NewRefreshToken returns a new refresh token of a family.
func NewRefreshToken(family string) string {
	return withChecksum(refreshPrefix + family + random(secretLength))
}

// FamilyOf returns the family of a well-formed refresh token, and false for another text.
func FamilyOf(token string) (family string, ok bool) {
	if len(token) != refreshLength || !strings.HasPrefix(token, refreshPrefix) || !checksumFits(token) {
		return "", false
	}
	return token[len(refreshPrefix) : len(refreshPrefix)+secretLength], true
}

// NewCode returns a new authorization code.
func NewCode() string { return withChecksum(codePrefix + random(secretLength)) }

// Hash returns the SHA-256 of a credential, which is stored in its place. A plain hash is enough,
// because the secret has 160 random bits.
func Hash(credential string) [sha256.Size]byte {
	var short [128]byte // keys and tokens fit, so they need no allocation
	if n := copy(short[:], credential); n == len(credential) {
		return sha256.Sum256(short[:n])
	}
	return sha256.Sum256([]byte(credential))
}

func newKey() (key, id string) {
	id = random(idLength)
	return withChecksum(keyPrefix + id + "_" + random(secretLength)), id
}

func newToken() string { return withChecksum(tokenPrefix + random(secretLength)) }

// keyID returns the id in a well-formed key, and false for another text.
func keyID(key string) (id string, ok bool) {
	if len(key) != keyLength || !IsKey(key) || key[len(keyPrefix)+idLength] != '_' || !checksumFits(key) {
		return "", false
	}
	return key[len(keyPrefix) : len(keyPrefix)+idLength], true
}

func validToken(token string) bool {
	return len(token) == tokenLength && strings.HasPrefix(token, tokenPrefix) && checksumFits(token)
}

func validAccessToken(token string) bool {
	return len(token) == tokenLength && IsAccessToken(token) && checksumFits(token)
}

func checksumFits(s string) bool { return withChecksum(s[:len(s)-checksumLength]) == s }

func withChecksum(s string) string {
	sum := crc32.ChecksumIEEE([]byte(s))
	var digits [checksumLength]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = alphabet[sum%62]
		sum /= 62
	}
	return s + string(digits[:])
}

// random returns n base-62 characters with equal probabilities. It discards bytes from the last
// multiple of 62 on.
func random(n int) string {
	out := make([]byte, 0, n)
	var bytes [64]byte
	for {
		rand.Read(bytes[:]) // documented never to fail
		for _, b := range bytes {
			if b >= 4*62 {
				continue
			}
			if out = append(out, alphabet[b%62]); len(out) == n {
				return string(out)
			}
		}
	}
}
