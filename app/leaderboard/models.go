package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/score"
)

// ModelRow pools the agents that declare one model. The declarations aren't verified.
type ModelRow struct {
	Model  string
	Agents int64 // agents with at least one settled event
	Ranked int64
	// Events counts the settled events of all agents together. Skill is the skill that one agent
	// with all these events would have.
	Events int64
	Skill  float64 `bun:"-"`
	// Range is the 95 % range of the true edge per event, nil without a disagreement with the
	// market. It treats the agents' events as independent. They aren't, because agents with the
	// same model are alike, so a correct range would be wider.
	Range *score.Posterior `bun:"-"`
	// Brier and MarketBrier (0 best, 1 worst) are means over the settled predictions with a
	// baseline. Both are nil if there are none.
	Brier, MarketBrier *float64
	// Best is the handle of the best ranked agent and BestName its public name. Both are "" if no
	// agent is ranked.
	Best, BestName string `bun:"-"`
	best           uuid.UUID

	ClusterSum     score.Points
	ClusterSquares int64
	Stake          score.Points
	Variance       int64
}

// ModelPlace is the place of a model in the order of Models: by skill, then by events, highest first, then by name. The
// zero ModelPlace is before all models.
type ModelPlace struct {
	Model  string
	Skill  float64
	Events int64
}

func (r *ModelRow) place() ModelPlace { return ModelPlace{r.Model, r.Skill, r.Events} }

func (a ModelPlace) compare(b ModelPlace) int {
	return cmp.Or(cmp.Compare(b.Skill, a.Skill), cmp.Compare(b.Events, a.Events), cmp.Compare(a.Model, b.Model))
}

// ModelsAfter returns at most limit of the rows of Models after a place, and the cursor of the next page, which is "" on
// the last page.
func ModelsAfter(rows []ModelRow, after ModelPlace, limit int) (page []ModelRow, next string) {
	if after != (ModelPlace{}) {
		rows = slices.DeleteFunc(slices.Clone(rows), func(r ModelRow) bool { return after.compare(r.place()) >= 0 })
	}
	if len(rows) <= limit {
		return rows, ""
	}
	last := rows[limit-1].place()
	skill := strconv.FormatFloat(last.Skill, 'g', -1, 64)
	return rows[:limit], cursor.Encode(modelMark, skill, strconv.FormatInt(last.Events, 10), last.Model)
}

// modelMark begins the cursor of a ModelPlace.
const modelMark = "model"

// ParseModelPlace returns the place that a cursor of ModelsAfter names, and the zero ModelPlace for "".
func ParseModelPlace(text string) (ModelPlace, error) {
	if text == "" {
		return ModelPlace{}, nil
	}
	parts, err := cursor.Decode(text, 4)
	if err != nil || parts[0] != modelMark || parts[3] == "" {
		return ModelPlace{}, cursor.Invalid()
	}
	skill, err := strconv.ParseFloat(parts[1], 64)
	if err != nil || math.IsNaN(skill) {
		return ModelPlace{}, cursor.Invalid()
	}
	events, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return ModelPlace{}, cursor.Invalid()
	}
	return ModelPlace{parts[3], skill, events}, nil
}

// maxModels is the most models that are listed. The ones with the most events are chosen.
const maxModels = 100

// Models pools the agents of a window's board over all categories by the model they declare, the
// highest skill first. It leaves out agents that declare no model. It reads the whole board, a row
// for each agent, so it keeps the sums until the board changes. Names are always read.
func (s *Store) Models(ctx context.Context, db bun.IDB, w Window) ([]ModelRow, error) {
	board, err := readBoard(ctx, db, w, AllCategories)
	if err != nil || board == nil {
		return []ModelRow{}, err
	}
	key, kept := modelsKey{w, board.AsOf.UnixMicro(), database.ReadsReplica(ctx)}, modelsFor
	if key.replica {
		kept = modelsForReplica
	}
	rows, err := s.models.Get(ctx, key, func(ctx context.Context) ([]ModelRow, time.Time, error) {
		rows, err := s.readModels(ctx, db, w)
		return rows, s.now().Add(kept), err
	})
	if err != nil {
		return nil, err
	}
	return named(ctx, db, rows)
}

// named returns rows with the names of the best agents.
func named(ctx context.Context, db bun.IDB, rows []ModelRow) ([]ModelRow, error) {
	var ids []uuid.UUID
	for _, r := range rows {
		if r.best != uuid.Nil {
			ids = append(ids, r.best)
		}
	}
	agents, err := agent.Store{}.ByIDs(ctx, db, ids)
	if err != nil {
		return nil, fmt.Errorf("read the best of models: %w", err)
	}
	rows = slices.Clone(rows)
	for i := range rows {
		if a := agents[rows[i].best]; a != nil {
			rows[i].Best, rows[i].BestName = a.Handle, a.Name
		}
	}
	return rows, nil
}

// modelsKey identifies the answer of Models for one build of a board.
type modelsKey struct {
	window  Window
	asOf    int64 // Board.AsOf in Unix microseconds
	replica bool
}

func (s *Store) readModels(ctx context.Context, db bun.IDB, w Window) ([]ModelRow, error) {
	models := []ModelRow{}
	err := db.NewRaw(`SELECT r.model, COUNT(*) AS agents, COUNT(r.rank) AS ranked, CAST(SUM(r.events) AS BIGINT) AS events,
			CAST(SUM(r.cluster_sum) AS BIGINT) AS cluster_sum, CAST(SUM(r.cluster_squares) AS BIGINT) AS cluster_squares,
			CAST(SUM(r.stake) AS BIGINT) AS stake, CAST(SUM(r.variance) AS BIGINT) AS variance,
			SUM(r.brier * r.scored) / NULLIF(SUM(r.scored), 0) AS brier,
			SUM(r.market_brier * r.scored) / NULLIF(SUM(r.scored), 0) AS market_brier
		FROM board_rows AS r WHERE r.span = ?0 AND r.category = ?1 AND r.version = (`+versionShown+`) AND r.model <> '' AND r.events > 0 AND NOT r.reference
		GROUP BY r.model ORDER BY SUM(r.events) DESC, r.model LIMIT ?2`, w, AllCategories, maxModels).Scan(ctx, &models)
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
	slices.SortFunc(models, func(a, b ModelRow) int { return a.place().compare(b.place()) })
	return models, bestOfModels(ctx, db, w, models)
}

// bestOfModels fills in the id of the best ranked agent of each model.
func bestOfModels(ctx context.Context, db bun.IDB, w Window, models []ModelRow) error {
	if len(models) == 0 {
		return nil
	}
	names := make([]string, 0, len(models))
	for _, m := range models {
		names = append(names, m.Model)
	}
	var best []struct {
		Model   string
		AgentID uuid.UUID `bun:",type:uuid"`
	}
	err := db.NewRaw(`SELECT r.model, r.agent_id FROM board_rows AS r WHERE r.span = ?0 AND r.category = ?1 AND r.version = (`+versionShown+`) AND r.rank IN (
			SELECT MIN(rank) FROM board_rows WHERE span = ?0 AND category = ?1 AND version = (`+versionShown+`) AND model IN (?2) GROUP BY model)`,
		w, AllCategories, bun.List(names)).Scan(ctx, &best)
	if err != nil {
		return fmt.Errorf("read the best of models: %w", err)
	}
	for _, b := range best {
		for i := range models {
			if models[i].Model == b.Model {
				models[i].best = b.AgentID
			}
		}
	}
	return nil
}
