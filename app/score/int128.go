package score

import (
	"math/big"
	"math/bits"
)

// Int128 is a signed 128-bit integer. Its zero value is 0, and values can be compared with ==.
// Days.T needs it, because the square of one day's sum exceeds 64 bits beyond 303,700 points. Sums
// beyond ±1.7e38 wrap around. No square of an int64 is that large.
type Int128 struct {
	high int64
	low  uint64
}

// Square returns x².
func Square(x int64) Int128 {
	size := uint64(x)
	if x < 0 {
		size = -size
	}
	high, low := bits.Mul64(size, size)
	return Int128{int64(high), low}
}

// Shifted returns x · 2ⁿ, for n in 0..63.
func Shifted(x int64, n uint) Int128 {
	return Int128{x >> (64 - n), uint64(x) << n}
}

// Plus returns i + j.
func (i Int128) Plus(j Int128) Int128 {
	low, carry := bits.Add64(i.low, j.low, 0)
	high, _ := bits.Add64(uint64(i.high), uint64(j.high), carry)
	return Int128{int64(high), low}
}

// Big returns i as a big.Int.
func (i Int128) Big() *big.Int {
	b := new(big.Int).Lsh(big.NewInt(i.high), 64)
	return b.Add(b, new(big.Int).SetUint64(i.low))
}

// String returns i in decimal digits, as databases and JSON hold it.
func (i Int128) String() string { return i.Big().String() }
