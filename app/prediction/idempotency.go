package prediction

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// AnswersKept is how long a key gives the first answer again.
const AnswersKept = 24 * time.Hour

// agentKey is an Idempotency-Key of an agent.
type agentKey struct {
	AgentID uuid.UUID `bun:",type:uuid"`
	Key     string    `bun:",type:text"`
}

// storedAnswer is what the first request with a key was, and got.
type storedAnswer struct{ BodyHash, Response []byte }

// repeat answers a further request with the key; idempotency_mismatch for another body.
func (s storedAnswer) repeat(bodyHash [32]byte) ([]byte, error) {
	if !bytes.Equal(s.BodyHash, bodyHash[:]) {
		return nil, problem.IdempotencyMismatch()
	}
	return s.Response, nil
}

// Answered returns the answer of the first request with the key of s, nil if there was none
// with it yet; idempotency_mismatch if that had another body.
func (p *Publisher) Answered(ctx context.Context, s *BatchSubmission) ([]byte, error) {
	first, err := firstAnswers(ctx, p.db.Reader, []*waiting{s.waiting()}, p.now())
	if err != nil {
		return nil, err
	}
	if answer, ok := first[agentKey{s.Agent.ID, s.IdempotencyKey}]; ok {
		return answer.repeat(s.BodyHash)
	}
	return nil, nil
}

// firstAnswers returns the answers of earlier requests with the keys of those in list.
func firstAnswers(ctx context.Context, db bun.IDB, list []*waiting, now time.Time) (map[agentKey]storedAnswer, error) {
	found := map[agentKey]storedAnswer{}
	var keys []agentKey
	for _, w := range list {
		if w.idempotencyKey != "" {
			keys = append(keys, agentKey{w.agent.ID, w.idempotencyKey})
		}
	}
	if len(keys) == 0 {
		return found, nil
	}
	var rows []newAnswer
	err := database.ScanRows(ctx, db, `SELECT k.agent_id, k.key, k.body_hash, k.response, k.created_at FROM idempotency_keys AS k
		WHERE (k.agent_id, k.key) IN (SELECT agent_id, key FROM v)`, keys, &rows)
	if err != nil {
		return nil, fmt.Errorf("read idempotency keys: %w", err)
	}
	for _, r := range rows {
		if r.CreatedAt.After(now.Add(-AnswersKept)) {
			found[agentKey{r.AgentID, r.Key}] = storedAnswer{r.BodyHash, r.Response}
		}
	}
	return found, nil
}

// newAnswer is the answer that a request with a key got. It is stored in the transaction
// that publishes: a request that fails leaves no key behind.
type newAnswer struct {
	AgentID   uuid.UUID `bun:",type:uuid"`
	Key       string    `bun:",type:text"`
	BodyHash  []byte    `bun:",type:bytea"`
	Response  []byte    `bun:",type:bytea"`
	CreatedAt time.Time `bun:",type:timestamptz"`
}

// answersWrite stores answers under their keys, in place of those that have expired. The
// transaction must hold the tallies of the agents, so that it alone stores answers of theirs.
func answersWrite(list []newAnswer) database.Write {
	return database.NewWrite(`INSERT INTO idempotency_keys (agent_id, key, body_hash, response, created_at)
		SELECT * FROM v WHERE TRUE ON CONFLICT (agent_id, key)
		DO UPDATE SET body_hash = EXCLUDED.body_hash, response = EXCLUDED.response, created_at = EXCLUDED.created_at`, list)
}

// ForgetAnswers deletes one batch of the idempotency keys that no longer count. more
// reports whether some may be left.
func (p *Publisher) ForgetAnswers(ctx context.Context) (more bool, err error) {
	return database.Prune(ctx, p.db, "idempotency_keys", "created_at", p.now().Add(-AnswersKept), "agent_id", "key")
}
