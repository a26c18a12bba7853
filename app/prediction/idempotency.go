package prediction

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

const (
	// answersKept is how long a key gives the first answer again.
	answersKept = 24 * time.Hour
	// repeatWait is how long a repeat waits for the first request with its key.
	repeatWait = 5 * time.Second
)

// idempotencyKey is the answer that a request with a key got. It is stored in the
// transaction that publishes: a request that fails leaves no key behind.
type idempotencyKey struct {
	bun.BaseModel `bun:"table:idempotency_keys,alias:k"`

	AgentID   uuid.UUID `bun:",pk,type:uuid"`
	Key       string    `bun:",pk"`
	BodyHash  []byte
	Response  []byte
	CreatedAt time.Time
}

// firstAnswer returns the answer of an earlier request with the same key, nil without
// one. Refusal: idempotency_mismatch.
func firstAnswer(ctx context.Context, tx bun.Tx, s Submission, now time.Time) ([]byte, error) {
	var first idempotencyKey
	err := tx.NewSelect().Model(&first).Where("k.agent_id = ?", s.Agent.ID).Where("k.key = ?", s.IdempotencyKey).
		Where("k.created_at > ?", now.Add(-answersKept)).Scan(ctx)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read idempotency key: %w", err)
	case !bytes.Equal(first.BodyHash, s.BodyHash[:]):
		return nil, problem.IdempotencyMismatch()
	}
	return first.Response, nil
}

// keepAnswer stores the answer under its key, in place of one that has expired. It
// reports false if another request stored its answer first. On Postgres it waits while
// such a request is under way, until waitUntil; then the refusal is unavailable. A request
// that waited long for its connection still has a tenth of repeatWait for the statement.
// SQLite has one writer, so there is nothing to wait for.
func (p *Publisher) keepAnswer(
	ctx context.Context, tx bun.Tx, s Submission, answer []byte, now, waitUntil time.Time,
) (bool, error) {
	key := idempotencyKey{
		AgentID: s.Agent.ID, Key: s.IdempotencyKey, BodyHash: s.BodyHash[:], Response: answer, CreatedAt: now,
	}
	waiting, cancel := context.WithTimeout(ctx, max(time.Until(waitUntil), p.repeatWait/10))
	defer cancel()
	res, err := tx.NewInsert().Model(&key).On("CONFLICT (agent_id, key) DO UPDATE").
		Set("body_hash = EXCLUDED.body_hash").Set("response = EXCLUDED.response").Set("created_at = EXCLUDED.created_at").
		Where("k.created_at <= ?", now.Add(-answersKept)).Exec(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return false, problem.Unavailable("The first request with this Idempotency-Key is still being handled. Send the same again.", time.Second).With(err)
	}
	if err != nil {
		return false, fmt.Errorf("store idempotency key: %w", err)
	}
	n, err := res.RowsAffected()
	return n == 1, err
}

// ForgetAnswers deletes one batch of the idempotency keys that no longer count. more
// reports whether some may be left.
func (p *Publisher) ForgetAnswers(ctx context.Context) (more bool, err error) {
	return database.Prune(ctx, p.db, "idempotency_keys", "created_at", p.now().Add(-answersKept), "agent_id", "key")
}
