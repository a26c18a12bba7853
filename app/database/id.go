package database

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// NewID makes a UUIDv7 (RFC 9562, section 5.7) for a moment: 48 bits of
// milliseconds, 12 bits of the fraction below (method 3 of section 6.2), 62 random
// bits. Ids sort by their moment to a quarter of a microsecond.
func NewID(at time.Time) uuid.UUID {
	var id uuid.UUID
	rand.Read(id[8:]) // never fails, by its contract
	ns := at.UnixNano()
	ms, rest := ns/1e6, ns%1e6
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000|uint64(rest*4096/1e6))
	id[8] = id[8]&0x3f | 0x80
	return id
}

// FirstID sorts before every id that NewID makes at a moment or later, and after those
// of earlier milliseconds.
func FirstID(at time.Time) uuid.UUID {
	id := NewID(at.Truncate(time.Millisecond))
	clear(id[8:])
	return id
}

// Now truncates a time to what both databases store: microseconds, UTC.
func Now(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }
