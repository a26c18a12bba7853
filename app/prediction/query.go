package prediction

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
)

// Select begins a query on all predictions AS p, with the columns of Prediction. Other packages can join it as
// a subquery to their own rows.
func Select(db bun.IDB) *bun.SelectQuery { return db.NewSelect().Model((*Prediction)(nil)) }

// SelectTallies begins a query on tallies AS t, with the columns of Tally.
func SelectTallies(db bun.IDB) *bun.SelectQuery { return db.NewSelect().Model((*Tally)(nil)) }

// SelectBy selects an agent's predictions AS p: market_id, title and created_at.
func SelectBy(db bun.IDB, agentID uuid.UUID) *bun.SelectQuery {
	return db.NewSelect().TableExpr("predictions AS p").Column("p.market_id", "p.title", "p.created_at").
		Where("p.agent_id = ?", agentID)
}

// PublishedAfter reports whether a prediction on the market was published after the given time.
func PublishedAfter(ctx context.Context, db bun.IDB, marketID string, at time.Time) (found bool, err error) {
	err = db.NewRaw("SELECT EXISTS (SELECT 1 FROM predictions WHERE market_id = ? AND id >= ? AND created_at > ?)",
		marketID, database.FirstID(at), database.Stored(at)).Scan(ctx, &found)
	if err != nil {
		return false, fmt.Errorf("look for predictions after a moment: %w", err)
	}
	return found, nil
}

// MarketsWithOpen returns those of the given markets that have an open prediction.
func (Store) MarketsWithOpen(ctx context.Context, db bun.IDB, marketIDs []string) ([]string, error) {
	var found []string
	if len(marketIDs) == 0 {
		return nil, nil
	}
	err := db.NewSelect().TableExpr("results AS o").ColumnExpr("DISTINCT o.market_id").
		Where("o.market_id IN (?)", bun.List(marketIDs)).
		Where("o.status = 'open'").Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("look for open predictions: %w", err)
	}
	return found, nil
}

// NamedOutcome is an outcome as a prediction names it: its name and its place in the market's list, from 0, both at
// publication.
type NamedOutcome struct {
	Outcome      string
	OutcomeIndex int
}

// OutcomesNamed lists the outcomes that the predictions on a market name. It lists an outcome once for each name and
// place that it had.
func (Store) OutcomesNamed(ctx context.Context, db bun.IDB, marketID string) ([]NamedOutcome, error) {
	var found []NamedOutcome
	err := db.NewRaw("SELECT DISTINCT outcome, outcome_index FROM predictions WHERE market_id = ? AND outcome IS NOT NULL AND outcome_index IS NOT NULL"+
		" ORDER BY outcome_index, outcome", marketID).Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("list the outcomes that predictions name: %w", err)
	}
	return found, nil
}

// LiveMarkets lists the ids of the live markets with an open prediction. They must be observed until they settle, so
// those that weren't observed for the longest time come first: a source may not answer for all of them in one tick.
// Samples are left out because no source knows them.
func (Store) LiveMarkets(ctx context.Context, db bun.IDB) ([]string, error) {
	var found []string
	err := market.Select(db).Column("m.id").Where("NOT m.sample").Where("m.id IN (?)", OpenMarkets(db)).
		Order("m.observed_at", "m.id").Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("list markets with open predictions: %w", err)
	}
	return found, nil
}

// TallyAndNextClose returns an agent's tally and the next scheduled close after the given time among its open
// predictions. They are zero if it has none.
func (Store) TallyAndNextClose(ctx context.Context, db bun.IDB, agentID uuid.UUID, after time.Time) (Tally, time.Time, error) {
	planned := database.NewPlanned(db)
	next := db.NewSelect().Table("results").Column("scheduled_close_at").
		Where("agent_id = ?", planned.Value(agentID)).Where("status = 'open'").
		Where("scheduled_close_at > ?", planned.Value(after)).Order("scheduled_close_at").Limit(1)
	var found struct {
		Tally       `bun:",extend"`
		NextCloseAt time.Time `bun:",nullzero"`
	}
	q := SelectTallies(db).ColumnExpr("?TableColumns").ColumnExpr("(?) AS next_close_at", next).Where("t.agent_id = ?", planned.Value(agentID))
	if err := planned.Scan(ctx, q, &found); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return Tally{}, time.Time{}, fmt.Errorf("read a tally and the next close: %w", err)
	}
	found.LastPublishedAt = found.LastPublishedAt.UTC()
	return found.Tally, found.NextCloseAt.UTC(), nil
}

// Bet is an open prediction with a baseline.
type Bet struct {
	AgentID              uuid.UUID `bun:",type:uuid"`
	MarketID             string
	OutcomeIndex         int
	Confidence, Baseline float64
	BaselineObservedAt   time.Time
	Prices               []float64 `bun:"type:json"` // of the market's outcomes now, nil if unknown
}

// LiveEdge returns the edge that the prediction would have at the market's current price. ok is false without a price.
func (b *Bet) LiveEdge() (edge score.Points, ok bool) {
	if b.OutcomeIndex < 0 || b.OutcomeIndex >= len(b.Prices) {
		return 0, false
	}
	return score.LiveEdge(b.Confidence, b.Baseline, b.Prices[b.OutcomeIndex]), true
}

// BetsOf reads an agent's open predictions that have a baseline and that the viewer may see. It reads at most
// limit, in the order of their scheduled close.
func (s Store) BetsOf(ctx context.Context, db bun.IDB, agentID uuid.UUID, limit int) ([]Bet, error) {
	planned := database.NewPlanned(db)
	next := db.NewSelect().TableExpr("results AS r").Column("r.agent_id", "r.id", "r.baseline", "r.baseline_observed_at").
		Where("r.agent_id = ?", planned.Value(agentID)).Where("r.status = 'open'").Where("r.baseline_state = 'fixed'").
		OrderExpr("r.scheduled_close_at NULLS LAST").Limit(int64(limit)) // SQLite would put NULL first
	q := db.NewSelect().TableExpr("(?) AS s", next)
	if !s.viewer.Admin && !s.viewer.Wrote(agentID) {
		q.Where(revealed)
	}
	var bets []Bet
	q.Join("JOIN predictions AS p ON p.agent_id = s.agent_id AND p.id = s.id").
		Column("p.agent_id", "p.market_id", "p.outcome_index", "p.confidence", "s.baseline", "s.baseline_observed_at")
	err := planned.Scan(ctx, market.JoinPrices(q, "p.market_id"), &bets)
	if err != nil {
		return nil, fmt.Errorf("read open predictions: %w", err)
	}
	for i := range bets {
		bets[i].BaselineObservedAt = bets[i].BaselineObservedAt.UTC()
	}
	return bets, nil
}

// lookedAtOn is how many predictions of an agent on one event ResolvedOn looks at. Weight indexes
// rise in order of publication, so it finds those that weigh most.
const lookedAtOn = 100

// eventsAtOnce is how many events one query of ResolvedOn names.
const eventsAtOnce = 50

// ResolvedOn reads an agent's resolved predictions on events, up to a weight index, in order of
// publication and without thesis and evidence. It examines the first 100 predictions of each event.
func (Store) ResolvedOn(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, eventKeys []string, maxIndex int,
) ([]Prediction, error) {
	var list []Prediction
	for keys := range slices.Chunk(eventKeys, eventsAtOnce) {
		ids, err := firstIDsOn(ctx, db, agentID, keys)
		if err != nil {
			return nil, err
		}
		for part := range slices.Chunk(ids, 500) {
			var some []Prediction
			planned := database.NewPlanned(db)
			q := db.NewSelect().Model(&some).ExcludeColumn("thesis", "evidence").Where("p.agent_id = ?", planned.Value(agentID)).
				Where("p.status = ?", Resolved).Where("p.weight_index <= ?", maxIndex)
			if err := planned.Scan(ctx, planned.In(q, "p.id", part)); err != nil {
				return nil, fmt.Errorf("read the predictions on events: %w", err)
			}
			list = append(list, some...)
		}
	}
	slices.SortFunc(list, func(a, b Prediction) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	return list, nil
}

// firstIDsOn finds the ids of an agent's first predictions on each of the given events. A separate query reads
// the predictions, because Postgres would join these ids to all results.
func firstIDsOn(ctx context.Context, db bun.IDB, agentID uuid.UUID, keys []string) (ids []uuid.UUID, err error) {
	planned := database.NewPlanned(db)
	first := func(key any) *bun.SelectQuery {
		return db.NewSelect().TableExpr("predictions AS p").Column("p.id").Where("p.agent_id = ?", planned.Value(agentID)).
			Where("p.event_key = ?", key).Order("p.id").Limit(lookedAtOn)
	}
	var parts []string
	var args []any
	if database.IsPostgres(db) { // Postgres takes longer to plan a UNION with more parts.
		parts = []string{"SELECT f.id FROM unnest((SELECT ?::text[])) AS v (event_key) CROSS JOIN LATERAL (?) AS f"}
		args = []any{planned.Value(pgdialect.Array(keys)), first(bun.Safe("v.event_key"))}
	} else {
		for _, key := range keys {
			parts, args = append(parts, "SELECT f.id FROM (?) AS f"), append(args, first(planned.Value(key)))
		}
	}
	q := db.NewSelect().TableExpr("(?) AS found", db.NewRaw(strings.Join(parts, " UNION ALL "), args...)).Column("found.id")
	if err := planned.Scan(ctx, q, &ids); err != nil {
		return nil, fmt.Errorf("find the predictions on events: %w", err)
	}
	return ids, nil
}
