package metaculus

import (
	"crypto/sha256"
	"encoding/binary"
	"math/big"
	"strings"

	"github.com/google/uuid"
)

// Metaculus' questions have whole numbers as ids, and markets have texts. A market id that is a
// number of up to 18 digits is used unchanged. For any other id, the byte 1 and the id's bytes are
// read as a number, and 10^18 is added. So each id has one permanent number, no table is needed,
// and the id can be computed from the number.

// maxDigits is the maximum length of a number that is used unchanged. maxIDBytes is the maximum
// length of a market id.
const (
	maxDigits  = 18
	maxIDBytes = 300
)

var offset = new(big.Int).Exp(big.NewInt(10), big.NewInt(maxDigits), nil)

// number returns the number of a market id, in decimal digits.
func number(marketID string) string {
	if canonical(marketID) && len(marketID) <= maxDigits {
		return marketID
	}
	n := new(big.Int).SetBytes(append([]byte{1}, marketID...))
	return n.Add(n, offset).String()
}

// marketID returns the market id of a number. ok is false if the number isn't one that number
// returns.
func marketID(number string) (id string, ok bool) {
	// A byte takes at most three digits.
	if !canonical(number) || len(number) > 3*(maxIDBytes+1)+maxDigits {
		return "", false
	}
	if len(number) <= maxDigits {
		return number, true
	}
	n, ok := new(big.Int).SetString(number, 10)
	if !ok {
		return "", false
	}
	b := n.Sub(n, offset).Bytes()
	if len(b) < 2 || b[0] != 1 || len(b)-1 > maxIDBytes {
		return "", false
	}
	id = string(b[1:])
	return id, !canonical(id) || len(id) > maxDigits
}

// canonical reports whether s is a whole number above 0 without leading zeros.
func canonical(s string) bool {
	return s != "" && s[0] != '0' && strings.Trim(s, "0123456789") == ""
}

// numberOf returns a number for a UUID. Among a million UUIDs, the chance that two share a number
// is 1 in 18,000.
func numberOf(id uuid.UUID) int64 {
	sum := sha256.Sum256(id[:])
	const exact = 1<<53 - 1 // exact in every programming language
	return int64(binary.BigEndian.Uint64(sum[:8]) & exact)
}
