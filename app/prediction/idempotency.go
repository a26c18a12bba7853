package prediction

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/problem"
)

// AnswersKept is how long a repeated request with the same key gets the first answer.
const AnswersKept = 24 * time.Hour

// agentKey is an Idempotency-Key of one agent.
type agentKey struct {
	AgentID uuid.UUID `bun:",type:uuid"`
	Key     string    `bun:",type:text"`
}

// storedAnswer holds the body's hash and the answer of the first request with a key.
type storedAnswer struct{ BodyHash, Response []byte }

// repeat returns the answer for another request with the same key, or idempotency_mismatch if its body differs.
func (s storedAnswer) repeat(bodyHash [32]byte) ([]byte, error) {
	if !bytes.Equal(s.BodyHash, bodyHash[:]) {
		return nil, problem.IdempotencyMismatch()
	}
	return s.Response, nil
}

// claims are the keys of the requests that this node is handling.
type claims struct {
	mu   sync.Mutex
	held map[agentKey]chan struct{} // closed on release
}

// Claim waits until this node handles no other request with the key of s, so that a repeat isn't charged while the
// first request is between its charge and its answer. The caller must call release after the answer. Claim returns
// unavailable after five seconds.
func (p *Publisher) Claim(ctx context.Context, s *BatchSubmission) (release func(), err error) {
	key, mine := agentKey{s.Agent.ID, s.IdempotencyKey}, make(chan struct{})
	patience := time.NewTimer(p.committer.heldWait)
	defer patience.Stop()
	for {
		p.claims.mu.Lock()
		first, held := p.claims.held[key]
		if !held {
			p.claims.held[key] = mine
		}
		p.claims.mu.Unlock()
		if !held {
			return func() {
				p.claims.mu.Lock()
				delete(p.claims.held, key)
				p.claims.mu.Unlock()
				close(mine)
			}, nil
		}
		select {
		case <-first:
		case <-patience.C:
			return nil, problem.Unavailable("The first request with this Idempotency-Key is still being handled. Send the same request again.", time.Second)
		case <-ctx.Done():
			return nil, fmt.Errorf("publish: %w", ctx.Err())
		}
	}
}

// Answered returns the answer to the first request with the key of s, or nil if there was none. It returns
// idempotency_mismatch if that request had another body.
func (p *Publisher) Answered(ctx context.Context, s *BatchSubmission) ([]byte, error) {
	first := map[agentKey]storedAnswer{}
	asked := []*request{{agent: s.Agent, idempotencyKey: s.IdempotencyKey}}
	if err := database.ScanReads(ctx, p.db.Reader, firstAnswers(asked, p.now(), first)); err != nil {
		return nil, err
	}
	if answer, ok := first[agentKey{s.Agent.ID, s.IdempotencyKey}]; ok {
		return answer.repeat(s.BodyHash)
	}
	return nil, nil
}

// AwaitAnswer is like Answered, but waits for a request that is being stored, for as long as Publish would wait. It
// doesn't see an earlier request that another node has not begun to store.
func (p *Publisher) AwaitAnswer(ctx context.Context, s *BatchSubmission) ([]byte, error) {
	r := p.committer.do(ctx, &request{agent: s.Agent, idempotencyKey: s.IdempotencyKey, bodyHash: s.BodyHash, repeatOnly: true})
	return r.answer, r.err
}

// firstAnswers reads the unexpired answers to earlier requests with the keys of the requests in list into found.
func firstAnswers(list []*request, now time.Time, found map[agentKey]storedAnswer) database.Read {
	var keys []agentKey
	for _, w := range list {
		if w.idempotencyKey != "" {
			keys = append(keys, agentKey{w.agent.ID, w.idempotencyKey})
		}
	}
	const query = `SELECT k.agent_id, k.key, k.body_hash, k.response, k.created_at FROM idempotency_keys AS k
		WHERE (k.agent_id, k.key) IN (SELECT agent_id, key FROM v)`
	return database.NewRead("read idempotency keys", query, keys, func(rows []newAnswer) {
		for _, r := range rows {
			if r.CreatedAt.After(now.Add(-AnswersKept)) {
				found[agentKey{r.AgentID, r.Key}] = storedAnswer{r.BodyHash, r.Response}
			}
		}
	})
}

// newAnswer is the answer to a request with a key. It is stored in the transaction that publishes, so a request
// that fails stores no key.
type newAnswer struct {
	AgentID   uuid.UUID `bun:",type:uuid"`
	Key       string    `bun:",type:text"`
	BodyHash  []byte    `bun:",type:bytea"`
	Response  []byte    `bun:",type:bytea"`
	CreatedAt time.Time `bun:",type:timestamptz"`
}

// answersWrite stores answers under their keys and replaces expired ones. The transaction must hold the tallies
// of the agents, so that no other transaction stores answers for them.
func answersWrite(list []newAnswer) database.Write {
	return database.NewInsert("idempotency_keys", list, `ON CONFLICT (agent_id, key) DO UPDATE SET
		body_hash = EXCLUDED.body_hash, response = EXCLUDED.response, created_at = EXCLUDED.created_at`)
}

// ForgetAnswers deletes one batch of expired idempotency keys. more reports whether some may be left.
func (p *Publisher) ForgetAnswers(ctx context.Context) (more bool, err error) {
	return database.Prune(ctx, p.db, "idempotency_keys", "created_at", p.now().Add(-AnswersKept), "agent_id", "key")
}
