package prediction

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
)

// identity is the id and the time of publication of a new prediction.
type identity struct {
	id uuid.UUID
	at time.Time
}

// identify assigns an identity to item i of a request.
func (p *Publisher) identify(w *request, i int, tally *Tally, now time.Time) identity {
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
	// The item's index comes first, so that ids sort in the order of the request.
	binary.BigEndian.PutUint16(id[8:], 0x8000|uint16(i))
	copy(id[10:], h.Sum(nil))
	return identity{id, now}
}

// bodyKey returns the key for a request without one, made from its body. It contains a space, which no client's
// key can.
func bodyKey(hash [32]byte) string { return "body " + hex.EncodeToString(hash[:]) }
