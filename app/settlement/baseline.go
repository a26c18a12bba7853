package settlement

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// storedWithin is how long after a price was read it may still be on its way into the
// database.
const storedWithin = time.Minute

// FixBaselines decides the pending predictions that can be decided: a baseline, or
// none. With ids, only those on the events of these markets. An agent's predictions
// on one event are decided in the order of their publication, so one that still
// waits for its price holds up the later ones: the weights then follow from the
// published times alone.
//
// It takes up whatever is pending, however old, so nothing is lost to a stop.
func (s *Service) FixBaselines(ctx context.Context, marketIDs ...string) error {
	run := baselineRun{service: s, markets: marketIDs, fixed: map[string]struct{}{}}
	for more := true; more; {
		err := s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
			more, err = run.chunk(ctx, tx)
			return err
		})
		if err != nil {
			return fmt.Errorf("fix baselines: %w", err)
		}
		if err := s.afterChunk(); err != nil {
			return err
		}
	}
	return s.formConsensus(ctx, run.fixed)
}

// pending is a prediction that waits for its baseline, with what is known of its
// market.
type pending struct {
	ID               uuid.UUID `bun:",type:uuid"`
	AgentID          uuid.UUID `bun:",type:uuid"`
	MarketID         string
	OutcomeIndex     int
	EventKey         string
	Confidence       float64
	CreatedAt        time.Time
	ScheduledCloseAt time.Time `bun:",nullzero"`
	Previous         *float64
	Closed           bool
	ClosedAt         time.Time `bun:",nullzero"`
	MarketCategory   string    `bun:",nullzero"`
}

// baselineRow is what deciding one writes.
type baselineRow struct {
	AgentID     uuid.UUID                `bun:",type:uuid"`
	ID          uuid.UUID                `bun:",type:uuid"`
	State       prediction.BaselineState `bun:",type:text"`
	Q           *float64                 `bun:",type:double precision"`
	Before      *float64                 `bun:",type:double precision"`
	After       *float64                 `bun:",type:double precision"`
	Previous    *float64                 `bun:",type:double precision"`
	ObservedAt  time.Time                `bun:",nullzero,type:timestamptz"`
	WeightIndex *int64                   `bun:",type:bigint"`
}

// baselineRun walks through the pending predictions, agent by agent, event by event.
type baselineRun struct {
	service *Service
	markets []string
	last    pending             // the last one seen
	blocked bool                // the last one's agent and event wait for an earlier one
	fixed   map[string]struct{} // the markets that got a baseline
}

func (r *baselineRun) chunk(ctx context.Context, tx bun.Tx) (more bool, err error) {
	rows, err := r.load(ctx, tx)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	prices, err := loadPrices(ctx, tx, rows, score.BeforeMaxIntervals*r.service.interval)
	if err != nil {
		return false, err
	}
	enrol, err := newEnrolment(ctx, tx, rows)
	if err != nil {
		return false, err
	}
	now := r.service.now()
	decided := make([]baselineRow, 0, len(rows))
	for _, p := range rows {
		if p.AgentID != r.last.AgentID || p.EventKey != r.last.EventKey {
			r.blocked = false
		}
		r.last = p
		if r.blocked {
			continue
		}
		row, ok := prices[p.MarketID].decide(&p, now, r.service.interval)
		if !ok {
			r.blocked = true
			continue
		}
		if row.State == prediction.Fixed {
			index := enrol.next(p.AgentID, p.EventKey, p.MarketCategory, p.ScheduledCloseAt)
			row.WeightIndex = &index
			r.fixed[p.MarketID] = struct{}{}
		}
		decided = append(decided, row)
	}
	if err := enrol.save(ctx, tx); err != nil {
		return false, err
	}
	return len(rows) == r.service.chunk, saveBaselines(ctx, tx, decided)
}

// load reads the next pending ones. SQLite takes the tables around a CROSS JOIN in the
// order they are written, and would otherwise walk through all predictions.
func (r *baselineRun) load(ctx context.Context, tx bun.Tx) ([]pending, error) {
	var rows []pending
	q := tx.NewSelect().TableExpr("results AS s CROSS JOIN predictions AS p").Join("JOIN markets AS m ON m.id = p.market_id").
		Column("p.id", "p.agent_id", "p.market_id", "p.outcome_index", "p.event_key", "p.confidence", "p.created_at", "p.scheduled_close_at").
		ColumnExpr("m.closed, m.closed_at, m.category AS market_category").
		ColumnExpr("(SELECT r.confidence FROM predictions AS r WHERE r.agent_id = p.agent_id AND r.market_id = p.market_id"+
			" AND r.outcome_index = p.outcome_index AND r.id < p.id ORDER BY r.id DESC LIMIT 1) AS previous").
		Where("p.agent_id = s.agent_id").Where("p.id = s.id").Where("s.baseline_state = 'pending'").
		Where("(p.agent_id, p.event_key, p.id) > (?, ?, ?)", r.last.AgentID, r.last.EventKey, r.last.ID).
		Order("p.agent_id", "p.event_key", "p.id").Limit(int64(r.service.chunk))
	if len(r.markets) > 0 {
		q = q.Where("p.event_key IN (SELECT f.event_key FROM results AS e JOIN predictions AS f ON f.agent_id = e.agent_id AND f.id = e.id WHERE e.baseline_state = 'pending' AND e.market_id IN (?))", bun.List(r.markets))
	}
	if err := q.Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read pending predictions: %w", err)
	}
	for i := range rows {
		rows[i].CreatedAt, rows[i].ClosedAt = rows[i].CreatedAt.UTC(), rows[i].ClosedAt.UTC()
	}
	return rows, nil
}

// priceRow is one observation of a market.
type priceRow struct {
	MarketID   string
	ObservedAt time.Time
	Prices     []float64 `bun:"type:json"`
}

func (r *priceRow) of(outcome int) (float64, bool) {
	if outcome < 0 || outcome >= len(r.Prices) || !slices.ContainsFunc(r.Prices, func(p float64) bool { return p > 0 }) {
		return 0, false // all zero is the upstream's way to say unknown
	}
	return r.Prices[outcome], true
}

// history is a market's observations, oldest first.
type history []priceRow

// loadPrices reads the observations that may bound the rows, by market.
func loadPrices(ctx context.Context, tx bun.Tx, rows []pending, fresh time.Duration) (map[string]history, error) {
	first, last := rows[0].CreatedAt, rows[0].CreatedAt
	markets := make([]string, 0, len(rows))
	for _, p := range rows {
		markets = append(markets, p.MarketID)
		if p.CreatedAt.Before(first) {
			first = p.CreatedAt
		}
		if p.CreatedAt.After(last) {
			last = p.CreatedAt
		}
	}
	slices.Sort(markets)
	var prices []priceRow
	err := tx.NewSelect().TableExpr("market_prices AS x").Column("x.market_id", "x.observed_at", "x.prices").
		Where("x.market_id IN (?)", bun.List(slices.Compact(markets))).
		Where("x.observed_at BETWEEN ? AND ?", first.Add(-fresh), last.Add(score.AfterWithin)).
		Order("x.market_id", "x.observed_at").Scan(ctx, &prices)
	if err != nil {
		return nil, fmt.Errorf("read prices: %w", err)
	}
	found := map[string]history{}
	for _, p := range prices {
		p.ObservedAt = p.ObservedAt.UTC()
		found[p.MarketID] = append(found[p.MarketID], p)
	}
	return found, nil
}

// decide finds the bounds of one prediction's baseline. It reports false while the
// price after publication may still come.
func (h history) decide(p *pending, now time.Time, interval time.Duration) (baselineRow, bool) {
	row := baselineRow{AgentID: p.AgentID, ID: p.ID, State: prediction.Missed, Previous: p.Previous}
	for i := range h {
		at := h[i].ObservedAt
		price, ok := h[i].of(p.OutcomeIndex)
		open := p.ClosedAt.IsZero() || at.Before(p.ClosedAt)
		switch {
		case !ok:
		case score.CountsBefore(p.CreatedAt, at, interval):
			row.Before = &price
		case open && score.CountsAfter(p.CreatedAt, at, interval):
			q, _ := score.Clamp(p.Confidence, row.Before, &price, p.Previous)
			row.State, row.Q, row.After, row.ObservedAt = prediction.Fixed, &q, &price, at
			return row, true
		}
	}
	late := now.After(p.CreatedAt.Add(score.AfterWithin + storedWithin))
	// What is known without a price after stays unwritten: there is no baseline.
	row.Before, row.Previous = nil, nil
	return row, p.Closed || late
}

func saveBaselines(ctx context.Context, tx bun.Tx, rows []baselineRow) error {
	if len(rows) == 0 {
		return nil
	}
	_, err := database.ExecRows(ctx, tx, "UPDATE results AS p SET baseline_state = v.state, baseline = v.q, baseline_before = v.before,"+
		" baseline_after = v.after, baseline_previous = v.previous, baseline_observed_at = v.observed_at, weight_index = v.weight_index"+
		" FROM v WHERE p.agent_id = v.agent_id AND p.id = v.id AND p.baseline_state = 'pending'", rows)
	if err != nil {
		return fmt.Errorf("write baselines: %w", err)
	}
	return nil
}
