package leaderboard

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
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
		return db.NewSelect().TableExpr("(?) AS c", settlement.SelectClusters(db, a)).
			Join("JOIN (?) AS d ON d.event_key = c.event_key", settlement.SelectClusters(db, b)).
			Where("c.day <= ?", day(s.now())).Where("d.day <= ?", day(s.now()))
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
	err = both().ColumnExpr("c.event_key AS key, c.category, c.day, c.value AS a, d.value AS b").
		OrderExpr("c.day DESC, c.event_key DESC").Limit(maxShared).Scan(ctx, &c.Events)
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
	titles, err := market.Store{}.TitlesByEventKey(ctx, db, ids)
	if err != nil {
		return err
	}
	for i := range events {
		events[i].Title = titles[events[i].Key]
	}
	return nil
}
