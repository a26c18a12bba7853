package prediction

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
)

// eraseChunk is how many predictions one transaction erases. On SQLite this took 10 ms in a small database, and 170 ms
// among 1,000,000 predictions that all shared 14 words. Ten predictions took 105 ms there, so shorter transactions
// hardly help: the lists of common words are long.
const eraseChunk = 50

// erased reports whether the texts of p were erased. A stored title is empty only after erasure.
func (p *Prediction) erased() bool { return p.Title == "" }

// ForgetAnswersOf deletes the stored answers of a closed account to requests with an Idempotency-Key, because they
// repeat its texts. It also deletes the unfinished parts of its predictions. It works in short transactions,
// because an agent can have 172,800 answers: 24 hours at 120 a minute. It returns the number of deleted answers.
func ForgetAnswersOf(ctx context.Context, db *database.DB, agentID uuid.UUID) (n int64, err error) {
	if _, err := database.DeleteOf(ctx, db, "prediction_parts", agentID, "market_id"); err != nil {
		return 0, err
	}
	return database.DeleteOf(ctx, db, "idempotency_keys", agentID, "key")
}

// Erase removes an agent's texts from at most limit of its predictions: title, thesis, evidence, model, the salt
// of the hash, and the index entries for words and cited signals. Numbers and scores stay. A prediction without
// a market keeps its category, because its scores are counted under it. n is the number of erased predictions.
// If complete is true, nothing is left to erase, and a closed account is marked as erased.
func Erase(ctx context.Context, db *database.DB, agentID uuid.UUID, limit int, now time.Time) (n int, complete bool, err error) {
	after := uuid.Nil
	for n < limit {
		var ids []uuid.UUID
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			ids, err = eraseNext(ctx, tx, agentID, after)
			return err
		})
		if err != nil {
			return n, false, err
		}
		n += len(ids)
		if len(ids) < eraseChunk {
			return n, true, noteErased(ctx, db, agentID, now)
		}
		after = ids[len(ids)-1]
		if err := db.Pause(ctx); err != nil {
			return n, false, err
		}
	}
	return n, false, nil
}

// noteErased marks a closed account as erased. Only admins saw the texts since the closing, so the generation of texts
// moves once, not with each chunk: that would drop the kept copies of all answers again and again.
func noteErased(ctx context.Context, db *database.DB, agentID uuid.UUID, now time.Time) error {
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := (agent.Store{}).Erased(ctx, tx, agentID, now); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Texts)
	})
}

// eraseNext erases the next predictions of an agent with ids greater than after, in the order of ids, and returns
// their ids.
func eraseNext(ctx context.Context, tx bun.Tx, agentID, after uuid.UUID) ([]uuid.UUID, error) {
	if err := LockTallies(ctx, tx, []uuid.UUID{agentID}); err != nil {
		return nil, err
	}
	var list []Prediction
	err := tx.NewRaw(`SELECT agent_id, id, evidence, unrevealed FROM predictions WHERE agent_id = ? AND id > ? AND title <> ''
		ORDER BY id LIMIT ?`, agentID, after, eraseChunk).Scan(ctx, &list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids, found := make([]uuid.UUID, len(list)), make([]*Prediction, len(list))
	for i := range list {
		ids[i], found[i] = list[i].ID, &list[i]
	}
	if cited := citationsOf(found); len(cited) > 0 {
		if _, err := database.ExecRows(ctx, tx, `DELETE FROM citations WHERE (kind, signal_id, prediction_id, agent_id) IN
			(SELECT kind, signal_id, prediction_id, agent_id FROM v)`, cited); err != nil {
			return nil, fmt.Errorf("erase citations: %w", err)
		}
	}
	if err := deleteWords(ctx, tx, agentID, list); err != nil {
		return nil, err
	}
	_, err = tx.NewUpdate().Table("predictions").Set("title = '', thesis = '', model = '', evidence = '[]', salt = NULL").
		Set("category = CASE WHEN market_id IS NULL THEN category ELSE ? END", DefaultCategory).
		Where("agent_id = ?", agentID).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("erase predictions: %w", err)
	}
	return ids, nil
}
