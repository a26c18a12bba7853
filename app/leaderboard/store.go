package leaderboard

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/memo"
)

// modelsFor is the longest time that the models of a board are kept in memory. The next build of the
// board replaces them earlier.
const modelsFor = time.Hour

// modelsForReplica is modelsFor for models that a replica gave. It may be behind, and so name a model that was hidden since.
const modelsForReplica = 5 * time.Second

// Store reads boards and agents' records. It keeps models in memory. Its methods are safe for
// concurrent use.
type Store struct {
	thresholds Thresholds
	now        func() time.Time

	models *memo.Cache[modelsKey, []ModelRow]
}

// Forget drops the models kept in memory. Call it when models have changed.
func (s *Store) Forget() { s.models.Forget() }

// Relabel sets an agent's declared model on every board immediately, without waiting for the next
// build.
func Relabel(ctx context.Context, tx bun.Tx, agentID uuid.UUID, model string) error {
	// By span and category, because there is no index over agents alone.
	_, err := tx.NewUpdate().Model((*Row)(nil)).Set("model = ?", model).Where("agent_id = ?", agentID).
		Where("(span, category) IN (SELECT b.span, b.category FROM boards AS b)").Exec(ctx)
	if err != nil {
		return fmt.Errorf("relabel an agent: %w", err)
	}
	return nil
}

// NewStore returns a Store. It uses the thresholds for the progress in Stats; they should be the
// Builder's.
func NewStore(t Thresholds, now func() time.Time) *Store {
	return &Store{
		thresholds: t, now: now,
		models: memo.New[modelsKey](memo.Options[[]ModelRow]{Size: 2 * len(Windows), Now: now}),
	}
}
