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

// ErrNoCredential is returned for a key or token that is malformed, unknown, expired or revoked.
var ErrNoCredential = errors.New("no such credential")

// Key is a key of an agent in the local registry. Only its hash is stored.
type Key struct {
	bun.BaseModel `bun:"table:agent_keys,alias:k"`

	ID         string `bun:",pk"` // the public part of the key
	AgentID    uuid.UUID
	Label      string // 0..80 characters, chosen when the key was issued
	Hash       []byte
	CreatedAt  time.Time
	LastUsedAt time.Time `bun:",nullzero"` // up to about a minute late
	ExpiresAt  time.Time `bun:",nullzero"` // set when the agent replaced it
	RevokedAt  time.Time `bun:",nullzero"`
}

// maxKeys is the most keys of an agent that may be valid at once when it makes a key with a grace
// period.
const maxKeys = 10

// MaxEndedKeys is the most keys of an agent that are kept after they were revoked or expired. An ended key is
// refused like an unknown one, and its sessions and grants have ended, so nothing needs it but the list of keys.
const MaxEndedKeys = 100

// validAt reports whether the key is neither revoked nor expired at the given time.
func (k *Key) validAt(at time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(at))
}

func (k *Key) utc() *Key {
	k.CreatedAt, k.LastUsedAt = k.CreatedAt.UTC(), k.LastUsedAt.UTC()
	k.ExpiresAt, k.RevokedAt = k.ExpiresAt.UTC(), k.RevokedAt.UTC()
	return k
}

// IssueKey makes a key for an agent and stores its hash. The secret is the key itself. Show it
// once; it isn't stored. IssueKey deletes the oldest ended keys of the agent beyond MaxEndedKeys. A bad
// label is 422 invalid_request.
func (s Store) IssueKey(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, label string, now time.Time,
) (secret string, key *Key, err error) {
	label = strings.TrimSpace(label)
	if message := plaintext.CheckLength(label, 0, 80, false); message != "" {
		return "", nil, problem.InvalidRequest(problem.Field{Field: "label", Message: message})
	}
	secret, key = NewKey(agentID, label, now)
	if err := s.AddKey(ctx, db, key); err != nil {
		return "", nil, err
	}
	if err := deleteEndedKeys(ctx, db, agentID, now); err != nil {
		return "", nil, err
	}
	return secret, key, nil
}

// deleteEndedKeys deletes the oldest ended keys of an agent beyond MaxEndedKeys, at most a thousand.
func deleteEndedKeys(ctx context.Context, db bun.IDB, agentID uuid.UUID, now time.Time) error {
	beyond := db.NewSelect().Model((*Key)(nil)).Column("id").Where("agent_id = ?", agentID).
		Where("(revoked_at IS NOT NULL OR expires_at <= ?)", database.Stored(now)).
		OrderExpr("created_at DESC, id").Limit(1000).Offset(MaxEndedKeys)
	if _, err := db.NewDelete().Model((*Key)(nil)).Where("id IN (?)", beyond).Exec(ctx); err != nil {
		return fmt.Errorf("delete ended keys: %w", err)
	}
	return nil
}

// NewKey makes a key without storing it; see AddKey.
func NewKey(agentID uuid.UUID, label string, now time.Time) (secret string, key *Key) {
	secret, id := newKey()
	hash := Hash(secret)
	return secret, &Key{ID: id, AgentID: agentID, Label: label, Hash: hash[:], CreatedAt: database.Stored(now)}
}

// AddKey stores a key made by NewKey. A key that is stored already stays unchanged.
func (Store) AddKey(ctx context.Context, db bun.IDB, key *Key) error {
	if _, err := db.NewInsert().Model(key).On("CONFLICT DO NOTHING").Exec(ctx); err != nil {
		return fmt.Errorf("add key: %w", err)
	}
	return nil
}

// ListKeys returns an agent's keys, the newest first, including revoked and expired keys. They are few: see
// MaxEndedKeys.
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

// RevokeKey revokes a key of an agent and ends the sessions and grants begun with it. It returns
// 404 not_found if the agent has no such key. Revoking a key again changes nothing.
func (s Store) RevokeKey(ctx context.Context, tx bun.Tx, agentID uuid.UUID, keyID string, now time.Time) error {
	if _, err := s.Lock(ctx, tx, agentID); err != nil {
		return err
	}
	exists, err := hasKey(ctx, tx, agentID, keyID)
	if err != nil {
		return fmt.Errorf("revoke key: %w", err)
	}
	if !exists {
		return problem.NotFound("This agent has no key with this id. The id of a key is its middle part: pc_ID_…. GET /api/agents/me/keys lists the keys.")
	}
	return s.revoke(ctx, tx, agentID, []string{keyID}, now)
}

func hasKey(ctx context.Context, tx bun.Tx, agentID uuid.UUID, keyID string) (bool, error) {
	if plaintext.Check(keyID, false) != "" { // a query with NUL or invalid UTF-8 would fail
		return false, nil
	}
	return tx.NewSelect().Model((*Key)(nil)).Where("id = ?", keyID).Where("agent_id = ?", agentID).Exists(ctx)
}

// RotateKeys revokes every key of an agent, ends the sessions and grants begun with them, and
// issues a new key.
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
	if err := s.revoke(ctx, tx, agentID, ids, now); err != nil {
		return "", nil, err
	}
	return s.IssueKey(ctx, tx, agentID, label, now)
}

// Replacement is a new key that replaces another.
type Replacement struct {
	Secret    string // the new key itself; show it once
	Key       *Key
	OldEndsAt time.Time // the end of the replaced key
}

// ReplaceKey issues a new key for an agent and lets one of its keys expire after a grace period,
// together with the sessions and grants begun with it. With a grace of 0, the old key is revoked.
// ReplaceKey returns ErrNoCredential if the old key isn't valid, and 409 too_many_keys if the agent
// would have more than maxKeys valid keys.
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
	keys = slices.DeleteFunc(keys, func(k *Key) bool { return !k.validAt(now) })
	old := slices.IndexFunc(keys, func(k *Key) bool { return k.ID == oldID })
	if old < 0 {
		return made, ErrNoCredential
	}
	if len(keys) >= maxKeys && grace > 0 {
		return made, problem.New(problem.CodeTooManyKeys, fmt.Sprintf(
			"This agent has %d valid keys already. Revoke one with DELETE /api/agents/me/keys/{id}, or send graceSeconds 0.", len(keys),
		))
	}
	made.OldEndsAt = database.Stored(now.Add(grace))
	if ends := keys[old].ExpiresAt; !ends.IsZero() && ends.Before(made.OldEndsAt) {
		made.OldEndsAt = ends
	}
	if grace <= 0 {
		err = s.revoke(ctx, tx, agentID, []string{oldID}, now)
	} else {
		err = s.expire(ctx, tx, agentID, oldID, made.OldEndsAt)
	}
	if err != nil {
		return made, err
	}
	made.Secret, made.Key, err = s.IssueKey(ctx, tx, agentID, label, now)
	return made, err
}

// expire sets the end of a key of an agent. Its sessions and grants end then at the latest.
func (Store) expire(ctx context.Context, tx bun.Tx, agentID uuid.UUID, id string, at time.Time) error {
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
	return bump(ctx, tx, agentID)
}

// revoke revokes keys of an agent and ends the sessions and grants begun with them. If all of them are revoked
// already, it changes nothing.
func (Store) revoke(ctx context.Context, tx bun.Tx, agentID uuid.UUID, ids []string, now time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	res, err := tx.NewUpdate().Model((*Key)(nil)).Set("revoked_at = ?", database.Stored(now)).
		Where("id IN ?", bun.Tuple(ids)).Where("revoked_at IS NULL").Exec(ctx)
	if err != nil {
		return fmt.Errorf("revoke keys: %w", err)
	}
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		return err
	}
	if _, err := tx.NewDelete().Model((*Session)(nil)).Where("credential IN ?", bun.Tuple(ids)).Exec(ctx); err != nil {
		return fmt.Errorf("end the sessions of keys: %w", err)
	}
	if _, err := endGrants(ctx, tx, "credential IN ?", bun.Tuple(ids)); err != nil {
		return err
	}
	return bump(ctx, tx, agentID)
}

// FindKey returns the key and the agent that a secret belongs to, with one query by primary key.
// The agent may be disabled. FindKey returns ErrNoCredential if there is no such key or if it isn't
// valid at now. Neither the error nor its time tells whether the id exists and only the secret is
// wrong, because a hash is compared in both cases.
func (Store) FindKey(ctx context.Context, db bun.IDB, secret string, now time.Time) (*Key, *Agent, error) {
	id, ok := keyID(secret)
	if !ok {
		return nil, nil, ErrNoCredential
	}
	row := new(struct {
		Key   `bun:",extend"`
		Agent *Agent `bun:"rel:belongs-to,join:agent_id=id"`
	})
	planned := database.NewPlanned(db)
	err := planned.Scan(ctx, db.NewSelect().Model(row).Relation("Agent").Where("k.id = ?", planned.Value(id)))
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, nil, fmt.Errorf("find key: %w", err)
	}
	hash := Hash(secret)
	var stored [len(hash)]byte // stays zero without a key; no secret has this hash
	copy(stored[:], row.Hash)
	same := subtle.ConstantTimeCompare(hash[:], stored[:]) == 1
	if !same || row.Agent == nil || !row.validAt(now) {
		return nil, nil, ErrNoCredential
	}
	return row.Key.utc(), row.Agent.utc(), nil
}

// noteKeys stores when keys were last used, at most once a minute for each key.
func noteKeys(ctx context.Context, db bun.IDB, ids []string, at time.Time) error {
	if len(ids) == 0 {
		return nil
	}
	at = database.Stored(at)
	rows := database.ForUpdate(db.NewSelect().Model((*Key)(nil)).Column("id").
		Where("id IN ?", bun.Tuple(ids)).
		Where("(last_used_at IS NULL OR last_used_at <= ?)", at.Add(-time.Minute)).OrderExpr("id"))
	_, err := db.NewUpdate().Model((*Key)(nil)).Set("last_used_at = ?", at).Where("id IN (?)", rows).Exec(ctx)
	if err != nil {
		return fmt.Errorf("note that keys were used: %w", err)
	}
	return nil
}
