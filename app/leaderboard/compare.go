package leaderboard

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

const (
	// maxShared is the most shared events that a comparison lists. Its sums are over all shared
	// events.
	maxShared = 100
	// MaxCompared is the number of each agent's newest settled events that a comparison reads.
	MaxCompared = 5000
)

// Shared is one event that two agents forecast. A and B are their clusters, in points.
type Shared struct {
	Key, Category, Day, Title string
	A, B                      score.Points
}

// Comparison compares agents A and B on the events that both forecast. It is the only place where a
// difference can't come from the choice of questions.
type Comparison struct {
	Shared int64 // number of settled events that both forecast
	// AWins counts the events on which A earned more than B, BWins those on which B earned more.
	AWins, BWins int64
	// MeanA and MeanB are the means in points per shared event.
	MeanA, MeanB float64
	// Difference estimates A's true edge per shared event minus B's, in points. Odds are the odds
	// that A's is higher, OddsB the odds that B's is; see score.Pair. All are nil if neither agent
	// disagreed with the market.
	Difference  *score.Posterior
	Odds, OddsB *float64
	Events      []Shared // the latest first, at most 100
}

// Compare compares two agents on the events that both forecast, among the newest MaxCompared
// settled events of each.
func (s *Store) Compare(ctx context.Context, db bun.IDB, a, b uuid.UUID) (*Comparison, error) {
	c := Comparison{Events: []Shared{}}
	if err := s.pair(ctx, db, a, b, &c); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	p := database.NewPlanned(db)
	latest := s.shared(db, p, a, b).ColumnExpr("e.event_key AS key, e.category, e.day, e.a, e.b").
		OrderExpr("e.day DESC, e.event_key DESC").Limit(maxShared)
	if err := p.Scan(ctx, latest, &c.Events); err != nil {
		return nil, fmt.Errorf("compare: %w", err)
	}
	return &c, titleShared(ctx, db, c.Events)
}

// shared begins a query on the events AS e that two agents share. It groups the union of both lists, because
// without statistics SQLite would join them by comparing every row with every other.
func (s *Store) shared(db bun.IDB, p *database.Planned, a, b uuid.UUID) *bun.SelectQuery {
	newest := func(agentID uuid.UUID) *bun.SelectQuery {
		return settlement.SelectNewestClusters(db, p, agentID, day(s.now()), MaxCompared)
	}
	q := db.NewSelect().TableExpr("(SELECT TRUE AS first, c.* FROM (?) AS c UNION ALL SELECT FALSE AS first, d.* FROM (?) AS d) AS u",
		newest(a), newest(b)).
		ColumnExpr("u.event_key").ColumnExpr("SUM(u.spread * u.spread) AS spread_squares").
		// Two agents can know an event by different days and categories, if its market changed in between. The choice
		// must not depend on which of them comes first.
		ColumnExpr("MAX(u.category) AS category, MAX(u.day) AS day").
		GroupExpr("u.event_key").Having("COUNT(*) = 2")
	for _, of := range []struct{ side, column, as string }{
		{"u.first", "value", "a"}, {"NOT u.first", "value", "b"}, {"u.first", "stake", "stake_a"}, {"NOT u.first", "stake", "stake_b"},
	} {
		q.ColumnExpr("MAX(CASE WHEN "+of.side+" THEN ? END) AS ?", bun.Ident("u."+of.column), bun.Ident(of.as))
	}
	return db.NewSelect().TableExpr("(?) AS e", q)
}

// sharedDay is one day of the events that two agents share.
type sharedDay struct {
	N                      int64
	AWins                  int64 `bun:"a_wins"`
	BWins                  int64 `bun:"b_wins"`
	A, B                   score.Points
	StakeA                 score.Points `bun:"stake_a"`
	StakeB                 score.Points `bun:"stake_b"`
	Squares, SpreadSquares int64
}

// pair computes the comparison's numbers from one row of sums per day.
func (s *Store) pair(ctx context.Context, db bun.IDB, agentA, agentB uuid.UUID, c *Comparison) error {
	planned := database.NewPlanned(db)
	q := s.shared(db, planned, agentA, agentB).ColumnExpr("COUNT(*) AS n").
		ColumnExpr("COUNT(CASE WHEN e.a > e.b THEN 1 END) AS a_wins, COUNT(CASE WHEN e.a < e.b THEN 1 END) AS b_wins").
		ColumnExpr("CAST(SUM(e.a) AS BIGINT) AS a, CAST(SUM(e.b) AS BIGINT) AS b").
		ColumnExpr("CAST(SUM(e.stake_a) AS BIGINT) AS stake_a, CAST(SUM(e.stake_b) AS BIGINT) AS stake_b").
		ColumnExpr("CAST(SUM((e.a - e.b) * (e.a - e.b)) AS BIGINT) AS squares").
		ColumnExpr("CAST(SUM(e.spread_squares) AS BIGINT) AS spread_squares").
		GroupExpr("e.day")
	var days []sharedDay
	if err := planned.Scan(ctx, q, &days); err != nil {
		return err
	}
	var pair score.Pair
	var a, b score.Points
	for _, d := range days {
		a, b = a+d.A, b+d.B
		c.AWins, c.BWins = c.AWins+d.AWins, c.BWins+d.BWins
		pair.AddDay(score.Tally{N: d.N, S: d.A - d.B, SS: d.Squares}, d.StakeA, d.StakeB, d.SpreadSquares)
	}
	c.Shared = pair.Difference.N
	c.MeanA = score.Tally{N: c.Shared, S: a}.Mean()
	c.MeanB = score.Tally{N: c.Shared, S: b}.Mean()
	prior, err := s.Prior(ctx, db)
	if err != nil {
		return err
	}
	if p, ok := pair.Posterior(prior.share()); ok {
		c.Difference = &p
	}
	if odds, ok := pair.Odds(); ok {
		c.Odds = &odds
	}
	if odds, ok := pair.Swapped().Odds(); ok {
		c.OddsB = &odds
	}
	return nil
}

// titleShared fills in the titles of events by their keys; see market.Market.EventKey.
func titleShared(ctx context.Context, db bun.IDB, events []Shared) error {
	if len(events) == 0 {
		return nil
	}
	keys := make([]string, len(events))
	for i, e := range events {
		keys[i] = e.Key
	}
	titles, err := market.Store{}.TitlesByEventKey(ctx, db, keys)
	if err != nil {
		return err
	}
	for i := range events {
		events[i].Title = titles[events[i].Key]
	}
	return nil
}
