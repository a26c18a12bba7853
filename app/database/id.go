package database

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"github.com/google/uuid"
)

// NewID returns a UUIDv7 (RFC 9562, section 5.7) for a time: 48 bits of milliseconds, 12 bits of
// the fraction below (method 3 of section 6.2) and 62 random bits. Ids sort by time to a quarter of
// a microsecond.
func NewID(at time.Time) uuid.UUID {
	var id uuid.UUID
	rand.Read(id[8:]) // never fails, as crypto/rand documents
	ns := at.UnixNano()
	ms, rest := ns/1e6, ns%1e6
	binary.BigEndian.PutUint64(id[:8], uint64(ms)<<16|0x7000|uint64(rest*4096/1e6))
	id[8] = id[8]&0x3f | 0x80
	return id
}

// FirstID returns an id that sorts before every id that NewID makes at a time or later, and after
// the ids of earlier milliseconds.
func FirstID(at time.Time) uuid.UUID {
	id := NewID(at.Truncate(time.Millisecond))
	clear(id[8:])
	return id
}

// Stored converts a time to what both databases store: UTC, truncated to microseconds.
func Stored(at time.Time) time.Time { return at.UTC().Truncate(time.Microsecond) }
