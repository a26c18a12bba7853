package settlement

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/market"
)

// withOpenPredictions holds for a market with an open prediction.
const withOpenPredictions = "EXISTS (SELECT 1 FROM results AS p WHERE p.market_id = m.id AND p.status = 'open')"

// Unsettled lists up to limit markets, the longest unseen first, that must be read by
// id to learn their outcome: those with something open, and those that closed within
// the last week and may still change their mind. No upstream knows a sample.
func (s *Service) Unsettled(ctx context.Context, limit int) ([]string, error) {
	var ids []string
	err := s.db.Reader.NewSelect().TableExpr("markets AS m").Column("m.id").
		Join("LEFT JOIN market_outcomes AS o ON o.market_id = m.id").
		Where("NOT m.sample").
		Where("o.decided_at > ? OR ((o.market_id IS NULL OR o.state = 'open' OR NOT o.applied) AND ("+withOpenPredictions+
			" OR EXISTS (SELECT 1 FROM reference_predictions AS r WHERE r.market_id = m.id AND r.status = 'open')))", s.now().UTC().AddDate(0, 0, -7)).
		Order("m.observed_at", "m.id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("read unsettled markets: %w", err)
	}
	return ids, nil
}

// The reasons a market needs an admin's eye.
const (
	ReasonVanished    = "vanished"     // open as far as we know, and not seen for a day
	ReasonContested   = "contested"    // closed, its result proposed or disputed
	ReasonUnknown     = "unknown"      // closed without prices
	ReasonUndecided   = "undecided"    // closed without a clear result
	ReasonOutcomeGone = "outcome_gone" // settled, but an outcome predicted upon is no longer there
)

// Stuck is a market with open predictions that does not settle by itself.
type Stuck struct {
	Market market.Market
	Reason string
}

// Waiting lists up to limit markets with open predictions that wait for the upstream
// or an admin, the longest unseen first. A sample waits for neither.
func (s *Service) Waiting(ctx context.Context, limit int) ([]Stuck, error) {
	var rows []market.Market
	err := s.db.Reader.NewSelect().Model(&rows).
		Where("NOT m.sample").Where("m.closed OR m.observed_at < ?", s.now().UTC().Add(-vanishedAfter)).Where(withOpenPredictions).
		Order("m.observed_at", "m.id").Limit(int64(limit)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("read waiting markets: %w", err)
	}
	settled, err := s.settledAmong(ctx, rows)
	if err != nil {
		return nil, err
	}
	stuck := make([]Stuck, 0, len(rows))
	for _, m := range rows {
		stuck = append(stuck, Stuck{Market: m, Reason: reasonOf(&m, settled[m.ID])})
	}
	return stuck, nil
}

func (s *Service) settledAmong(ctx context.Context, rows []market.Market) (map[string]bool, error) {
	settled := map[string]bool{}
	if len(rows) == 0 {
		return settled, nil
	}
	ids := make([]string, 0, len(rows))
	for _, m := range rows {
		ids = append(ids, m.ID)
	}
	var found []string
	err := s.db.Reader.NewSelect().Model((*Outcome)(nil)).Column("o.market_id").
		Where("o.market_id IN (?)", bun.List(ids)).Where("o.state = ?", stateSettled).Scan(ctx, &found)
	for _, id := range found {
		settled[id] = true
	}
	return settled, err
}

func reasonOf(m *market.Market, settled bool) string {
	switch {
	case settled:
		return ReasonOutcomeGone
	case !m.Closed:
		return ReasonVanished
	case m.Resolution == "proposed", m.Resolution == "disputed":
		return ReasonContested
	case m.Verdict().Stage == market.Unknown:
		return ReasonUnknown
	}
	return ReasonUndecided
}

// Due lists up to limit open predictions without a market whose horizon has passed,
// the longest due first: what an admin settles.
func (s *Service) Due(ctx context.Context, limit int) ([]DuePrediction, error) {
	var rows []DuePrediction
	err := s.db.Reader.NewSelect().TableExpr("results AS s").Join("JOIN predictions AS p ON p.agent_id = s.agent_id AND p.id = s.id").
		Column("p.id", "p.title", "p.confidence", "p.horizon_at").
		Where("s.status = 'open'").Where("s.market_id IS NULL").Where("s.horizon_at <= ?", s.now().UTC()).
		Order("s.horizon_at", "s.id").Limit(int64(limit)).Scan(ctx, &rows)
	if err != nil {
		return nil, fmt.Errorf("read due predictions: %w", err)
	}
	for i := range rows {
		rows[i].HorizonAt = rows[i].HorizonAt.UTC()
	}
	return rows, nil
}

// Queue counts what waits for an admin.
type Queue struct {
	Due     int64 // predictions without a market, past their horizon
	Markets int64 // those that Waiting lists
	// Oldest is the horizon of the longest due; zero without one.
	Oldest time.Time
}

// Queued counts what waits for an admin.
func (s *Service) Queued(ctx context.Context) (q Queue, err error) {
	err = s.db.Reader.NewSelect().TableExpr("results AS p").ColumnExpr("count(*)").
		Where("p.status = 'open'").Where("p.market_id IS NULL").Where("p.horizon_at <= ?", s.now().UTC()).Scan(ctx, &q.Due)
	if err != nil {
		return q, fmt.Errorf("count due predictions: %w", err)
	}
	err = s.db.Reader.NewSelect().TableExpr("markets AS m").ColumnExpr("count(*)").
		Where("m.closed OR m.observed_at < ?", s.now().UTC().Add(-vanishedAfter)).Where(withOpenPredictions).Scan(ctx, &q.Markets)
	if err != nil {
		return q, fmt.Errorf("count waiting markets: %w", err)
	}
	first, err := s.Due(ctx, 1)
	if err == nil && len(first) == 1 {
		q.Oldest = first[0].HorizonAt
	}
	return q, err
}

// DuePrediction is one that waits for an admin.
type DuePrediction struct {
	ID         uuid.UUID `bun:",type:uuid"`
	Title      string
	Confidence float64
	HorizonAt  time.Time
}
