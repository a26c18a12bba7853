package admin

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"
)

// cost holds the argon2id parameters, which set how expensive one guess is. Each hash names its own
// parameters, so raising them locks no admin out. The current values are OWASP's for argon2id.
type cost struct {
	time, memory uint32 // passes, KiB
	threads      uint8
}

var currentCost = cost{time: 2, memory: 19 << 10, threads: 1}

const (
	saltSize = 16
	hashSize = 32
)

// hashing bounds how many passwords are hashed at once, and so the memory used.
var hashing = make(chan struct{}, 2)

func (c cost) hash(password string, salt []byte) []byte {
	hashing <- struct{}{}
	defer func() { <-hashing }()
	return argon2.IDKey([]byte(password), salt, c.time, c.memory, c.threads, hashSize)
}

// hashPassword returns a password's hash in the PHC format:
// $argon2id$v=19$m=19456,t=2,p=1$SALT$HASH.
func hashPassword(password string) string {
	salt := make([]byte, saltSize)
	rand.Read(salt) // never fails, by its contract
	c := currentCost
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.memory, c.time, c.threads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(c.hash(password, salt)))
}

// decoyHash returns a hash that SignIn checks if the name does not exist. Both cases then take the same
// time, so an attacker can't find out which names exist.
var decoyHash = sync.OnceValue(func() string { return hashPassword(NewPassword()) })

// matches returns whether a password belongs to a stored hash.
func matches(stored, password string) bool {
	parts := strings.Split(stored, "$")
	if len(parts) != 6 || parts[1] != "argon2id" {
		return false
	}
	var c cost
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.time, &c.threads); err != nil || c.time == 0 || c.threads == 0 {
		return false
	}
	salt, err := base64.RawStdEncoding.DecodeString(parts[4])
	if err != nil {
		return false
	}
	want, err := base64.RawStdEncoding.DecodeString(parts[5])
	return err == nil && subtle.ConstantTimeCompare(want, c.hash(password, salt)) == 1
}

// NewPassword returns a random password of 100 bits that is easy to read and to type.
func NewPassword() string {
	words := strings.ToLower(rand.Text()[:20])
	return words[:5] + "-" + words[5:10] + "-" + words[10:15] + "-" + words[15:]
}
