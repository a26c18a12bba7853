package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/score"
)

// ModelRow pools the agents that declare one model. The declaration isn't checked.
type ModelRow struct {
	Model  string
	Agents int64 // with at least one settled event
	Ranked int64
	// Events are the agents' settled events together, and Skill is the skill of an agent
	// with all of them.
	Events int64
	Skill  float64 `bun:"-"`
	// Range is the 95 % range of the true edge per event, nil without a disagreement with
	// the market. It takes the agents' events for independent. Agents of one model are
	// alike, so in truth the range is wider.
	Range *score.Posterior `bun:"-"`
	// Brier and MarketBrier (0 best, 1 worst) are means over the same predictions: all
	// settled ones with a baseline. Nil without any.
	Brier, MarketBrier *float64
	// Best is the handle of the agent that stands highest, BestName its public name; ""
	// when none is ranked.
	Best, BestName string `bun:"-"`

	ClusterSum     score.Points
	ClusterSquares int64
	Stake          score.Points
	Variance       int64
}

// maxModels is how many models are listed: those with the most events.
const maxModels = 100

// Models pools the board of a window, over all categories, by declared model, the most
// skilled first. Agents that declare none are left out. It reads the whole board, a row for each
// agent, so the answer is kept until the board changes; callers must not change it.
func (s *Store) Models(ctx context.Context, db bun.IDB, w Window) ([]ModelRow, error) {
	board, err := readBoard(ctx, db, w, AllCategories)
	if err != nil || board == nil {
		return []ModelRow{}, err
	}
	key := modelsKey{w, board.AsOf.UnixMicro()}
	return s.models.Get(ctx, key, func(ctx context.Context) ([]ModelRow, time.Time, error) {
		rows, err := s.readModels(ctx, db, w)
		return rows, s.now().Add(modelsFor), err
	})
}

// modelsKey names the answer of Models for one build of a board.
type modelsKey struct {
	window Window
	asOf   int64 // of the board, in microseconds
}

func (s *Store) readModels(ctx context.Context, db bun.IDB, w Window) ([]ModelRow, error) {
	models := []ModelRow{}
	err := db.NewRaw(`SELECT r.model, COUNT(*) AS agents, COUNT(r.rank) AS ranked, CAST(SUM(r.events) AS BIGINT) AS events,
			CAST(SUM(r.cluster_sum) AS BIGINT) AS cluster_sum, CAST(SUM(r.cluster_squares) AS BIGINT) AS cluster_squares,
			CAST(SUM(r.stake) AS BIGINT) AS stake, CAST(SUM(r.variance) AS BIGINT) AS variance,
			SUM(r.brier * r.scored) / NULLIF(SUM(r.scored), 0) AS brier,
			SUM(r.market_brier * r.scored) / NULLIF(SUM(r.scored), 0) AS market_brier
		FROM board_rows AS r WHERE r.span = ? AND r.category = ? AND r.model <> '' AND r.events > 0 AND NOT r.reference
		GROUP BY r.model ORDER BY SUM(r.events) DESC, r.model LIMIT ?`, w, AllCategories, maxModels).Scan(ctx, &models)
	if err != nil {
		return nil, fmt.Errorf("read models: %w", err)
	}
	prior, err := s.Prior(ctx, db)
	if err != nil {
		return nil, err
	}
	for i := range models {
		m := &models[i]
		pooled := score.Sums{
			Tally: score.Tally{N: m.Events, S: m.ClusterSum, SS: m.ClusterSquares}, A: m.Stake, V: m.Variance,
		}
		m.Skill = pooled.Skill(prior.Kappa)
		if p, ok := pooled.Posterior(prior.share()); ok {
			m.Range = &p
		}
	}
	slices.SortStableFunc(models, func(a, b ModelRow) int { return cmp.Compare(b.Skill, a.Skill) })
	return models, bestOfModels(ctx, db, w, models)
}

// bestOfModels finds the first ranked agent of each model.
func bestOfModels(ctx context.Context, db bun.IDB, w Window, models []ModelRow) error {
	if len(models) == 0 {
		return nil
	}
	names := make([]string, 0, len(models))
	for _, m := range models {
		names = append(names, m.Model)
	}
	var best []struct{ Model, Handle, Name string }
	err := db.NewRaw(`SELECT r.model, a.handle, a.name FROM board_rows AS r JOIN (?3) AS a ON a.id = r.agent_id
		WHERE r.span = ?0 AND r.category = ?1 AND r.rank IN (
			SELECT MIN(rank) FROM board_rows WHERE span = ?0 AND category = ?1 AND model IN (?2) GROUP BY model)`,
		w, AllCategories, bun.List(names), agent.Select(db)).Scan(ctx, &best)
	if err != nil {
		return fmt.Errorf("read the best of models: %w", err)
	}
	for _, b := range best {
		for i := range models {
			if models[i].Model == b.Model {
				models[i].Best, models[i].BestName = b.Handle, b.Name
			}
		}
	}
	return nil
}
