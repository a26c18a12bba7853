package prediction

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
)

// identity is the id of a new prediction and the moment of its publication.
type identity struct {
	id uuid.UUID
	at time.Time
}

// identify names item i of a request.
func (p *Publisher) identify(w *waiting, i int, tally *Tally, now time.Time) identity {
	if p.Seed == nil {
		at := tally.next(now)
		return identity{database.NewID(at), at}
	}
	h := sha256.New()
	for _, part := range [][]byte{p.Seed, w.agent.ID[:], []byte(w.idempotencyKey)} {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write(part)
	}
	id := database.NewID(now)
	// The items of a request keep their order.
	binary.BigEndian.PutUint16(id[8:], 0x8000|uint16(i))
	copy(id[10:], h.Sum(nil))
	return identity{id, now}
}

// bodyKey is the key of a request that has none, where its body is one. No client can send a
// key with a space.
func bodyKey(hash [32]byte) string { return "body " + hex.EncodeToString(hash[:]) }
