package agent

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// ErrNoCredential: a key or session token is malformed, unknown, expired or revoked.
var ErrNoCredential = errors.New("no such credential")

// Key is one key of an agent in the local registry. Only its hash is kept.
type Key struct {
	bun.BaseModel `bun:"table:agent_keys,alias:k"`

	ID         string `bun:",pk"` // the public part of the key
	AgentID    uuid.UUID
	Label      string // 0..80 characters, by whoever issued it
	Hash       []byte
	CreatedAt  time.Time
	LastUsedAt time.Time `bun:",nullzero"` // to about two minutes
	RevokedAt  time.Time `bun:",nullzero"`
}

func (k *Key) utc() *Key {
	k.CreatedAt, k.LastUsedAt, k.RevokedAt = k.CreatedAt.UTC(), k.LastUsedAt.UTC(), k.RevokedAt.UTC()
	return k
}

// IssueKey makes a key for an agent. The secret is the key itself, to be shown
// once: it is stored nowhere.
func (Store) IssueKey(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, label string, now time.Time,
) (secret string, key *Key, err error) {
	label = strings.TrimSpace(label)
	if message := plaintext.CheckLength(label, 0, 80, false); message != "" {
		return "", nil, problem.InvalidRequest(problem.Field{Field: "label", Message: message})
	}
	secret, id := newKey()
	hash := Hash(secret)
	key = &Key{ID: id, AgentID: agentID, Label: label, Hash: hash[:], CreatedAt: database.Now(now)}
	if _, err := db.NewInsert().Model(key).Exec(ctx); err != nil {
		return "", nil, fmt.Errorf("issue key: %w", err)
	}
	return secret, key, nil
}

// ListKeys gives an agent's keys, the newest first, revoked ones included.
func (Store) ListKeys(ctx context.Context, db bun.IDB, agentID uuid.UUID) ([]*Key, error) {
	keys := []*Key{}
	err := db.NewSelect().Model(&keys).Where("agent_id = ?", agentID).OrderExpr("created_at DESC, id").Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("list keys: %w", err)
	}
	for _, k := range keys {
		k.utc()
	}
	return keys, nil
}

// RevokeKey ends a key of an agent and the sessions begun with it; 404 not_found
// when the agent has no such key. Revoking it again changes nothing.
func (s Store) RevokeKey(ctx context.Context, tx bun.Tx, agentID uuid.UUID, keyID string, now time.Time) error {
	if _, err := s.locked(ctx, tx, agentID); err != nil {
		return err
	}
	exists, err := tx.NewSelect().Model((*Key)(nil)).Where("id = ?", keyID).Where("agent_id = ?", agentID).Exists(ctx)
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	if !exists {
		return problem.NotFound("This agent has no such key.")
	}
	return s.revoke(ctx, tx, []string{keyID}, now)
}

// RotateKeys revokes every key of an agent, ends the sessions begun with them, and
// issues a new one.
func (s Store) RotateKeys(
	ctx context.Context, tx bun.Tx, agentID uuid.UUID, label string, now time.Time,
) (secret string, key *Key, err error) {
	if _, err := s.locked(ctx, tx, agentID); err != nil {
		return "", nil, err
	}
	var ids []string
	err = tx.NewSelect().Model((*Key)(nil)).Column("id").
		Where("agent_id = ?", agentID).Where("revoked_at IS NULL").Scan(ctx, &ids)
	if err != nil {
		return "", nil, fmt.Errorf("rotate keys: %w", err)
	}
	if err := s.revoke(ctx, tx, ids, now); err != nil {
		return "", nil, err
	}
	return s.IssueKey(ctx, tx, agentID, label, now)
}

func (Store) revoke(ctx context.Context, tx bun.Tx, ids []string, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	_, err := tx.NewUpdate().Model((*Key)(nil)).Set("revoked_at = ?", database.Now(now)).
		Where("id IN ?", bun.Tuple(ids)).Where("revoked_at IS NULL").Exec(ctx)
	if err != nil {
		return fmt.Errorf("revoke keys: %w", err)
	}
	if _, err := tx.NewDelete().Model((*Session)(nil)).Where("credential IN ?", bun.Tuple(ids)).Exec(ctx); err != nil {
		return fmt.Errorf("end the sessions of keys: %w", err)
	}
	return bump(ctx, tx)
}

// FindKey is the key and agent that a secret belongs to, in one query by primary
// key; the agent may be disabled. ErrNoCredential when there is none. Whether the
// id exists or only the secret is wrong shows neither in the answer nor in its
// time: a hash is compared either way.
func (Store) FindKey(ctx context.Context, db bun.IDB, secret string) (*Key, *Agent, error) {
	id, ok := keyID(secret)
	if !ok {
		return nil, nil, ErrNoCredential
	}
	row := new(struct {
		Key   `bun:",extend"`
		Agent *Agent `bun:"rel:belongs-to,join:agent_id=id"`
	})
	err := db.NewSelect().Model(row).Relation("Agent").Where("k.id = ?", id).Scan(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("find key: %w", err)
	}
	hash := Hash(secret)
	var stored [len(hash)]byte // no secret hashes to zeros
	copy(stored[:], row.Hash)
	same := subtle.ConstantTimeCompare(hash[:], stored[:]) == 1
	if !same || row.Agent == nil || !row.RevokedAt.IsZero() {
		return nil, nil, ErrNoCredential
	}
	return row.Key.utc(), row.Agent.utc(), nil
}

// noteKeys writes when keys were last used, at most once a minute for each.
func noteKeys(ctx context.Context, db bun.IDB, ids []string, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	at = database.Now(at)
	rows := database.ForUpdate(db.NewSelect().Model((*Key)(nil)).Column("id").
		Where("id IN ?", bun.Tuple(ids)).
		Where("(last_used_at IS NULL OR last_used_at <= ?)", at.Add(-time.Minute)).OrderExpr("id"))
	_, err := db.NewUpdate().Model((*Key)(nil)).Set("last_used_at = ?", at).Where("id IN (?)", rows).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note that keys were used: %w", err)
	}
	return nil
}
