package leaderboard

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
)

// maxShared is how many shared events a comparison lists; its sums are over all.
const maxShared = 100

// Shared is one event that two agents forecast, with what each earned in points.
type Shared struct {
	Key, Category, Day, Title string
	A, B                      score.Points
}

// Comparison holds two agents against each other where both answered: the only place
// where a difference cannot come from the choice of questions.
type Comparison struct {
	Shared int64 // settled events that both forecast
	// A and B count the events on which one earned more than the other.
	AWins, BWins int64
	// MeanA and MeanB are points per shared event; Difference is A's less B's with
	// its 95 % interval, shrunk towards 0 as skill is.
	MeanA, MeanB float64
	Difference   score.Estimate
	Events       []Shared // the latest first, at most 100
}

// Compare reads the events that two agents both forecast.
func (s *Store) Compare(ctx context.Context, db bun.IDB, a, b uuid.UUID) (*Comparison, error) {
	both := func() *bun.SelectQuery {
		return db.NewSelect().TableExpr("clusters AS c").
			Join("JOIN clusters AS d ON d.agent_id = ? AND d.event_key = c.event_key AND d.settled > 0", b).
			Where("c.agent_id = ?", a).Where("c.settled > 0").
			Where(countedOn+" <= ?", day(s.now())).Where("COALESCE(d.day, d.settled_day) <= ?", day(s.now()))
	}
	var sumA, sumB score.Points
	var c Comparison
	var difference score.Tally
	err := both().ColumnExpr("COUNT(*)").ColumnExpr("COUNT(CASE WHEN c.value > d.value THEN 1 END), COUNT(CASE WHEN c.value < d.value THEN 1 END)").
		ColumnExpr("CAST(COALESCE(SUM(c.value), 0) AS BIGINT), CAST(COALESCE(SUM(d.value), 0) AS BIGINT)").
		ColumnExpr("CAST(COALESCE(SUM((c.value - d.value) * (c.value - d.value)), 0) AS BIGINT)").
		Scan(ctx, &c.Shared, &c.AWins, &c.BWins, &sumA, &sumB, &difference.SS)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	prior, err := s.Prior(ctx, db)
	if err != nil {
		return nil, err
	}
	difference.N, difference.S = c.Shared, sumA-sumB
	c.Difference = score.Skill(difference, score.Prior{Kappa: prior.Kappa, Sigma2: prior.Sigma2})
	c.MeanA, c.MeanB = (score.Tally{N: c.Shared, S: sumA}).Mean(), (score.Tally{N: c.Shared, S: sumB}).Mean()
	c.Events = []Shared{}
	err = both().ColumnExpr("c.event_key AS key, c.category, "+countedOn+" AS day, c.value AS a, d.value AS b").
		OrderExpr(countedOn+" DESC, c.event_key DESC").Limit(maxShared).Scan(ctx, &c.Events)
	if err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return &c, titleShared(ctx, db, c.Events)
}

// titleShared names events by their keys; see market.Market.EventKey.
func titleShared(ctx context.Context, db bun.IDB, events []Shared) error {
	if len(events) == 0 {
		return nil
	}
	ids := make([]string, 0, len(events))
	for _, e := range events {
		_, id, _ := strings.Cut(e.Key, ":")
		ids = append(ids, id)
	}
	var markets []market.Market
	err := db.NewSelect().Model(&markets).Column("id", "title", "event_id", "event_title").
		Where("m.id IN (?) OR m.event_id IN (?)", bun.List(ids), bun.List(ids)).OrderExpr("m.id DESC").Scan(ctx)
	if err != nil {
		return fmt.Errorf("read the titles of events: %w", err)
	}
	titles := map[string]string{}
	for _, m := range markets {
		titles[m.EventKey()] = m.Title
		if m.EventTitle != "" {
			titles[m.EventKey()] = m.EventTitle
		}
	}
	for i := range events {
		events[i].Title = titles[events[i].Key]
	}
	return nil
}

// ModelRow pools the agents that declare one model. Nobody checks the declaration.
type ModelRow struct {
	Model  string
	Agents int64 // with at least one settled event
	Ranked int64
	// Events, and the skill of the pooled events with its interval. The interval
	// takes the events for independent; agents of one model are alike, so in truth it
	// is wider.
	Events   int64
	Resolved int64
	Estimate score.Estimate `bun:"-"`
	// Best is the handle of the agent that stands highest, "" when none is ranked.
	Best string `bun:"-"`

	ClusterSum     score.Points
	ClusterSquares int64
}

// maxModels is how many models are listed: those with the most events.
const maxModels = 100

// Models pools the main board by declared model, the most skilled first. Agents that
// declare none are left out. It reads the whole board, so the answer is kept until the
// board changes; callers must not change it.
func (s *Store) Models(ctx context.Context, db bun.IDB) ([]ModelRow, error) {
	board, err := readBoard(ctx, db, All, AllCategories)
	if err != nil || board == nil {
		return []ModelRow{}, err
	}
	s.mu.RLock()
	kept := s.models
	s.mu.RUnlock()
	if kept != nil && kept.asOf.Equal(board.AsOf) {
		return kept.rows, nil
	}
	loaded, err, _ := s.flight.Do("models", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
		defer cancel()
		epoch := s.current()
		rows, err := s.readModels(ctx, db)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		if epoch == s.epoch {
			s.models = &keptModels{rows, board.AsOf}
		}
		s.mu.Unlock()
		return rows, nil
	})
	if err != nil {
		return nil, err
	}
	return loaded.([]ModelRow), nil
}

// keptModels is an answer of Models and the board it was made from.
type keptModels struct {
	rows []ModelRow
	asOf time.Time
}

func (s *Store) readModels(ctx context.Context, db bun.IDB) ([]ModelRow, error) {
	models := []ModelRow{}
	err := db.NewRaw(`SELECT r.model, COUNT(*) AS agents, COUNT(r.rank) AS ranked, CAST(SUM(r.events) AS BIGINT) AS events,
			CAST(SUM(r.resolved) AS BIGINT) AS resolved, CAST(SUM(r.cluster_sum) AS BIGINT) AS cluster_sum,
			CAST(SUM(r.cluster_squares) AS BIGINT) AS cluster_squares
		FROM board_rows AS r WHERE r.span = ? AND r.category = ? AND r.model <> '' AND r.events > 0 AND NOT r.reference
		GROUP BY r.model ORDER BY SUM(r.events) DESC, r.model LIMIT ?`, All, AllCategories, maxModels).Scan(ctx, &models)
	if err != nil {
		return nil, fmt.Errorf("read models: %w", err)
	}
	prior, err := s.Prior(ctx, db)
	if err != nil {
		return nil, err
	}
	for i := range models {
		m := &models[i]
		m.Estimate = score.Skill(score.Tally{N: m.Events, S: m.ClusterSum, SS: m.ClusterSquares}, score.Prior{Kappa: prior.Kappa, Sigma2: prior.Sigma2})
	}
	slices.SortStableFunc(models, func(a, b ModelRow) int { return cmp.Compare(b.Estimate.Skill, a.Estimate.Skill) })
	return models, bestOfModels(ctx, db, models)
}

// bestOfModels finds the first ranked agent of each model.
func bestOfModels(ctx context.Context, db bun.IDB, models []ModelRow) error {
	if len(models) == 0 {
		return nil
	}
	names := make([]string, 0, len(models))
	for _, m := range models {
		names = append(names, m.Model)
	}
	var best []struct{ Model, Handle string }
	err := db.NewRaw(`SELECT r.model, a.handle FROM board_rows AS r JOIN agents AS a ON a.id = r.agent_id
		WHERE r.span = ?0 AND r.category = ?1 AND r.rank IN (
			SELECT MIN(rank) FROM board_rows WHERE span = ?0 AND category = ?1 AND model IN (?2) GROUP BY model)`,
		All, AllCategories, bun.List(names)).Scan(ctx, &best)
	if err != nil {
		return fmt.Errorf("read the best of models: %w", err)
	}
	for _, b := range best {
		for i := range models {
			if models[i].Model == b.Model {
				models[i].Best = b.Handle
			}
		}
	}
	return nil
}
