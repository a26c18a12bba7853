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
	// inFlight is how long a request may hold a key before it is taken for dead: more
	// than any request's deadline.
	inFlight = time.Minute
)

type idempotencyKey struct {
	bun.BaseModel `bun:"table:idempotency_keys,alias:k"`

	AgentID   uuid.UUID `bun:",pk,type:uuid"`
	Key       string    `bun:",pk"`
	BodyHash  []byte
	Response  []byte // nil while the first request is in flight
	CreatedAt time.Time
}

// claim takes the key for this request, or returns the first request's answer. The
// claim is committed before publishing starts, so that a second request sees it.
func (p *Publisher) claim(ctx context.Context, s Submission, now time.Time) (answer []byte, err error) {
	err = p.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		mine := idempotencyKey{AgentID: s.Agent.ID, Key: s.IdempotencyKey, BodyHash: s.BodyHash[:], CreatedAt: now}
		res, err := tx.NewInsert().Model(&mine).On("CONFLICT (agent_id, key) DO NOTHING").Exec(ctx)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 1 {
			return err
		}
		var first idempotencyKey
		err = tx.NewSelect().Model(&first).Where("agent_id = ?", s.Agent.ID).Where("key = ?", s.IdempotencyKey).Scan(ctx)
		if errors.Is(err, sql.ErrNoRows) {
			return taken() // and released since: its request was refused
		}
		if err != nil {
			return err
		}
		answer, err = first.answerTo(s, now)
		if answer != nil || err != nil {
			return err
		}
		return takeOver(ctx, tx, &first, &mine)
	})
	if err != nil {
		return nil, fmt.Errorf("claim idempotency key: %w", err)
	}
	return answer, nil
}

// answerTo is what the first request's row says to a second one: its answer, a
// refusal, or neither when the row is too old to count.
func (k *idempotencyKey) answerTo(s Submission, now time.Time) ([]byte, error) {
	age := now.Sub(k.CreatedAt)
	switch {
	case k.Response != nil && age >= answersKept, k.Response == nil && age >= inFlight:
		return nil, nil
	case !bytes.Equal(k.BodyHash, s.BodyHash[:]):
		return nil, problem.IdempotencyMismatch()
	case k.Response == nil:
		return nil, problem.New(problem.CodeIdempotencyInFlight,
			"The first request with this Idempotency-Key is still being handled. Wait a second and send the same again.")
	}
	return k.Response, nil
}

// takeOver replaces an outdated row, unless another request did it first.
func takeOver(ctx context.Context, tx bun.Tx, old, mine *idempotencyKey) error {
	res, err := tx.NewUpdate().Model(mine).Column("body_hash", "response", "created_at").
		WherePK().Where("created_at = ?", old.CreatedAt).Exec(ctx)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n == 1 {
		return err
	}
	return taken()
}

// taken refuses a request that another one with its key was faster than.
func taken() error {
	return problem.New(problem.CodeIdempotencyInFlight,
		"Another request with this Idempotency-Key is being handled. Wait a second and send the same again.")
}

// remember keeps the answer for the key, in the transaction that publishes.
func (p *Publisher) remember(ctx context.Context, tx bun.Tx, s Submission, answer []byte) error {
	if s.IdempotencyKey == "" {
		return nil
	}
	_, err := tx.NewUpdate().Model((*idempotencyKey)(nil)).Set("response = ?", answer).
		Where("agent_id = ?", s.Agent.ID).Where("key = ?", s.IdempotencyKey).Exec(ctx)
	return err
}

// release gives up a claim whose request was refused.
func (p *Publisher) release(ctx context.Context, s Submission) error {
	_, err := p.db.NewDelete().Model((*idempotencyKey)(nil)).
		Where("agent_id = ?", s.Agent.ID).Where("key = ?", s.IdempotencyKey).Where("response IS NULL").Exec(ctx)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("release idempotency key: %w", err)
	}
	return nil
}

// ForgetAnswers deletes one batch of the idempotency keys that no longer count; more
// tells that some may be left.
func (p *Publisher) ForgetAnswers(ctx context.Context) (more bool, err error) {
	return database.Prune(ctx, p.db, "idempotency_keys", "created_at", p.now().Add(-answersKept), "agent_id", "key")
}
