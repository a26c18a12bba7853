package release

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
)

// ownerKey is the setting that holds the key for hashing owners.
const ownerKey = "release_owner_key"

// profiles writes the agents named in the day's rows.
func (x *export) profiles(ctx context.Context) error {
	key, err := x.ownerKey(ctx)
	if err != nil {
		return err
	}
	texts, err := newSpool(x.salt)
	if err != nil {
		return err
	}
	defer texts.close()
	rows := converted(x.named(ctx), func(a **agent.Agent) archive.AgentRow {
		row, said := agentRow(*a), agentTexts(*a)
		if owner := (*a).OwnerID(); owner != "" {
			mac := hmac.New(sha256.New, []byte(key))
			mac.Write([]byte(owner))
			said.Owner = hex.EncodeToString(mac.Sum(nil)[:16])
		}
		row.Texts = texts.add(row.ID, "", said)
		return row
	})
	if err := archive.WriteTable(ctx, x.w, archive.Agents, "", rows); err != nil {
		return err
	}
	return x.w.WriteTexts(ctx, archive.Agents, "", texts.rows())
}

// named yields these agents, ordered by id.
func (x *export) named(ctx context.Context) iter.Seq2[*agent.Agent, error] {
	ids := slices.SortedFunc(maps.Keys(x.agents), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return func(yield func(*agent.Agent, error) bool) {
		for chunk := range slices.Chunk(ids, exportRows) {
			found, err := agent.Store{}.ByIDs(ctx, x.DB.Reader, chunk)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, id := range chunk {
				if a := found[id]; a != nil && !yield(a, nil) {
					return
				}
			}
		}
	}
}

// ownerKey returns the key for hashing owners. It is the same for all days, so that agents of one
// owner have the same hash on all days. It is never published.
func (x *export) ownerKey(ctx context.Context) (string, error) {
	if _, err := database.AddSetting(ctx, x.DB, ownerKey, rand.Text()); err != nil {
		return "", err
	}
	key, _, err := database.Setting(ctx, x.DB, ownerKey)
	return key, err
}
