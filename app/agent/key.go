package agent

import (
	"context"
	"crypto/subtle"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	ExpiresAt  time.Time `bun:",nullzero"` // set when the agent replaced it
	RevokedAt  time.Time `bun:",nullzero"`
}

// MaxKeys is how many keys of an agent may be valid at a time.
const MaxKeys = 10

// ValidAt reports whether the key is neither revoked nor expired at a moment.
func (k *Key) ValidAt(at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(at))
}

func (k *Key) utc() *Key {
	k.CreatedAt, k.LastUsedAt = k.CreatedAt.UTC(), k.LastUsedAt.UTC()
	k.ExpiresAt, k.RevokedAt = k.ExpiresAt.UTC(), k.RevokedAt.UTC()
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
	secret, key = NewKey(agentID, label, now)
	if err := (Store{}).AddKey(ctx, db, key); err != nil {
		return "", nil, err
	}
	return secret, key, nil
}

// NewKey makes a key that is stored nowhere yet.
func NewKey(agentID uuid.UUID, label string, now time.Time) (secret string, key *Key) {
	secret, id := newKey()
	hash := Hash(secret)
	return secret, &Key{ID: id, AgentID: agentID, Label: label, Hash: hash[:], CreatedAt: database.Now(now)}
}

// AddKey stores a key of NewKey. One that is there already stays as it is.
func (Store) AddKey(ctx context.Context, db bun.IDB, key *Key) error {
	if _, err := db.NewInsert().Model(key).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
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
	exists, err := hasKey(ctx, tx, agentID, keyID)
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	if !exists {
		return problem.NotFound("This agent has no such key.")
	}
	return s.revoke(ctx, tx, []string{keyID}, now)
}

func hasKey(ctx context.Context, tx bun.Tx, agentID uuid.UUID, keyID string) (bool, error) {
	if plaintext.Check(keyID, false) != "" { // a database fails on NUL and invalid UTF-8
		return false, nil
	}
	return tx.NewSelect().Model((*Key)(nil)).Where("id = ?", keyID).Where("agent_id = ?", agentID).Exists(ctx)
}

// RotateKeys revokes every key of an agent, ends the sessions begun with them, and
// issues a new one.
func (s Store) RotateKeys(
	ctx context.Context, tx bun.Tx, agentID uuid.UUID, label string, now time.Time,
) (secret string, key *Key, err error) {
	if _, err := s.open(ctx, tx, agentID); err != nil {
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

// Replacement is a key made in place of another.
type Replacement struct {
	Secret    string // the new key itself, to be shown once
	Key       *Key
	OldEndsAt time.Time // when the other key ends
}

// ReplaceKey issues a new key for an agent and lets one of its keys expire after a grace
// period, with the sessions begun with it; a grace of 0 revokes it. ErrNoCredential if the old
// key is not valid, 409 too_many_keys if the agent would have more than MaxKeys valid keys.
func (s Store) ReplaceKey(
	ctx context.Context, tx bun.Tx, agentID uuid.UUID, oldID, label string, grace time.Duration, now time.Time,
) (made Replacement, err error) {
	if _, err := s.open(ctx, tx, agentID); err != nil {
		return made, err
	}
	keys, err := s.ListKeys(ctx, tx, agentID)
	if err != nil {
		return made, err
	}
	keys = slices.DeleteFunc(keys, func(k *Key) bool { return !k.ValidAt(now) })
	old := slices.IndexFunc(keys, func(k *Key) bool { return k.ID == oldID })
	if old < 0 {
		return made, ErrNoCredential
	}
	if len(keys) >= MaxKeys && grace > 0 {
		return made, problem.New(problem.CodeTooManyKeys, fmt.Sprintf(
			"This agent has %d valid keys already. Revoke one with DELETE /api/agents/me/keys/{id}, or send graceSeconds 0.", len(keys),
		))
	}
	made.OldEndsAt = database.Now(now.Add(grace))
	if ends := keys[old].ExpiresAt; !ends.IsZero() && ends.Before(made.OldEndsAt) {
		made.OldEndsAt = ends
	}
	if grace <= 0 {
		err = s.revoke(ctx, tx, []string{oldID}, now)
	} else {
		err = s.expire(ctx, tx, oldID, made.OldEndsAt)
	}
	if err != nil {
		return made, err
	}
	made.Secret, made.Key, err = s.IssueKey(ctx, tx, agentID, label, now)
	return made, err
}

// expire ends a key at a moment, and the sessions begun with it no later.
func (Store) expire(ctx context.Context, tx bun.Tx, id string, at time.Time) error {
	_, err := tx.NewUpdate().Model((*Key)(nil)).Set("expires_at = ?", at).Where("id = ?", id).Exec(ctx)
	if err != nil {
		return fmt.Errorf("let a key expire: %w", err)
	}
	_, err = tx.NewUpdate().Model((*Session)(nil)).Set("expires_at = ?", at).
		Where("credential = ?", id).Where("expires_at > ?", at).Exec(ctx)
	if err != nil {
		return fmt.Errorf("let the sessions of a key expire: %w", err)
	}
	_, err = tx.NewUpdate().Model((*Grant)(nil)).Set("expires_at = ?", at).
		Where("credential = ?", id).Where("expires_at > ?", at).Exec(ctx)
	if err != nil {
		return fmt.Errorf("let the grants of a key expire: %w", err)
	}
	return bump(ctx, tx)
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
	if _, err := endGrants(ctx, tx, "credential IN ?", bun.Tuple(ids)); err != nil {
		return err
	}
	return bump(ctx, tx)
}

// FindKey is the key and agent that a secret belongs to, in one query by primary
// key; the agent may be disabled. ErrNoCredential when there is none, or none that is
// valid at the moment now. Whether the id exists or only the secret is wrong shows
// neither in the answer nor in its time: a hash is compared either way.
func (Store) FindKey(ctx context.Context, db bun.IDB, secret string, now time.Time) (*Key, *Agent, error) {
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
	if !same || row.Agent == nil || !row.ValidAt(now) {
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
