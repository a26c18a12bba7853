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

const (
	// eraseChunk is how many predictions one transaction erases.
	eraseChunk = 500
	// maxErasing is how many closed accounts one run of EraseClosed takes up.
	maxErasing = 10
)

// erased reports whether the texts of p are gone. A title is never empty otherwise.
func (p *Prediction) erased() bool { return p.Title == "" }

// ForgetAnswersOf deletes the stored answers of an agent to requests with an Idempotency-Key,
// which repeat what it wrote, and the parts of predictions that it didn't finish. It returns the
// number of answers.
func ForgetAnswersOf(ctx context.Context, tx bun.Tx, agentID uuid.UUID) (int64, error) {
	if _, err := tx.NewRaw("DELETE FROM prediction_parts WHERE agent_id = ?", agentID).Exec(ctx); err != nil {
		return 0, fmt.Errorf("forget the parts of an agent: %w", err)
	}
	res, err := tx.NewRaw("DELETE FROM idempotency_keys WHERE agent_id = ?", agentID).Exec(ctx)
	if err != nil {
		return 0, fmt.Errorf("forget the answers of an agent: %w", err)
	}
	return res.RowsAffected()
}

// Erase removes what an agent wrote from at most most of its predictions: title, thesis,
// evidence, model, the salt of the hash, and the words and signals they are found by. Numbers
// and scores stay, and so does the category of a prediction without a market, which its scores
// are counted under. It also returns whether nothing is left to erase; then the agent's account,
// if it is closed, is marked as erased.
func Erase(ctx context.Context, db *database.DB, agentID uuid.UUID, most int, now time.Time) (n int, complete bool, err error) {
	after := uuid.Nil
	for n < most {
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
			return n, true, agent.Store{}.Erased(ctx, db, agentID, now)
		}
		after = ids[len(ids)-1]
	}
	return n, false, nil
}

// EraseClosed goes on with the closed accounts that are not erased yet.
func EraseClosed(ctx context.Context, db *database.DB, now time.Time) (more bool, err error) {
	ids, err := agent.Store{}.NotErased(ctx, db.Reader, maxErasing)
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		for complete := false; !complete; {
			if _, complete, err = Erase(ctx, db, id, 100*eraseChunk, now); err != nil {
				return false, err
			}
		}
	}
	return len(ids) == maxErasing, nil
}

// eraseNext erases the next predictions of an agent after one, in order of id, and returns them.
func eraseNext(ctx context.Context, tx bun.Tx, agentID, after uuid.UUID) ([]uuid.UUID, error) {
	if err := LockTallies(ctx, tx, []uuid.UUID{agentID}); err != nil {
		return nil, err
	}
	var list []Prediction
	err := tx.NewRaw(`SELECT agent_id, id, evidence FROM predictions WHERE agent_id = ? AND id > ? AND title <> ''
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
	if _, err := tx.NewDelete().Table("prediction_words").Where("agent_id = ?", agentID).Where("id IN (?)", bun.List(ids)).Exec(ctx); err != nil {
		return nil, fmt.Errorf("erase words: %w", err)
	}
	_, err = tx.NewUpdate().Table("predictions").Set("title = '', thesis = '', model = '', evidence = '[]', salt = NULL").
		Set("category = CASE WHEN market_id IS NULL THEN category ELSE ? END", DefaultCategory).
		Where("agent_id = ?", agentID).Where("id IN (?)", bun.List(ids)).Exec(ctx)
	if err != nil {
		return nil, fmt.Errorf("erase predictions: %w", err)
	}
	return ids, generation.Moved(ctx, tx, generation.Texts)
}
