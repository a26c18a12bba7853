package settlement

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/queue"
)

// Unsettled lists up to limit more markets that must be read by id to learn their outcome: those with an open reference
// row, and those decided within the last week, whose outcome may still change. The longest unseen are first. Decided
// markets that the source no longer knows are last, because they may never be seen again. Undecided ones are left out,
// and so are sample markets, which no source knows.
//
// Open predictions don't matter here: prediction.LiveMarkets lists all their markets, and those that have vanished would
// stay first in this list.
func (s *Service) Unsettled(ctx context.Context, limit int) ([]string, error) {
	db := s.db.Reader
	decided := db.NewSelect().Model((*Outcome)(nil)).Column("o.market_id").Where("o.decided_at > ?", s.now().UTC().AddDate(0, 0, -7))
	open := db.NewSelect().Model((*ReferencePrediction)(nil)).Column("r.market_id").
		Join("JOIN (?) AS m ON m.id = r.market_id", market.Select(db).Column("m.id").Where("m.active OR m.closed")).
		Join("LEFT JOIN market_outcomes AS o ON o.market_id = r.market_id").
		Where("r.status = 'open'").Where("o.market_id IS NULL OR o.state = 'open' OR NOT o.applied")
	var ids []string
	err := market.Select(db).Column("m.id").Where("NOT m.sample").Where("m.id IN (?)", decided.Union(open)).
		OrderExpr("CASE WHEN m.active OR m.closed THEN 0 ELSE 1 END, m.observed_at, m.id").Limit(int64(limit)).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("read unsettled markets: %w", err)
	}
	return ids, nil
}

// Ended returns those of the given markets that have closed or are decided. Sample markets are left out, because no
// source knows them by id.
func (s *Service) Ended(ctx context.Context, marketIDs []string) ([]string, error) {
	if len(marketIDs) == 0 {
		return nil, nil
	}
	db := s.db.Reader
	decided := db.NewSelect().Model((*Outcome)(nil)).Column("o.market_id").Where("o.state <> ?", stateOpen)
	var ended []string
	err := market.Select(db).Column("m.id").Where("m.id IN (?)", bun.List(marketIDs)).Where("NOT m.sample").
		Where("m.closed OR m.id IN (?)", decided.Where("o.market_id IN (?)", bun.List(marketIDs))).Order("m.id").Scan(ctx, &ended)
	if err != nil {
		return nil, fmt.Errorf("look for ended markets: %w", err)
	}
	return ended, nil
}

// The reasons why a market needs an admin.
const (
	ReasonVanished    = "vanished"     // open when last seen, which was over a day ago
	ReasonContested   = "contested"    // closed, its result proposed or disputed
	ReasonUnknown     = "unknown"      // closed without prices
	ReasonUndecided   = "undecided"    // closed without a clear result
	ReasonOutcomeGone = "outcome_gone" // settled, but without an outcome that a prediction names
)

// waiting selects, as m, the markets that have ended and still have open predictions.
func waiting(db bun.IDB, now time.Time) *bun.SelectQuery {
	return market.Ended(db, now.Add(-vanishedAfter)).Where("m.id IN (?)", prediction.OpenMarkets(db))
}

// MarketQueue measures the markets that Waiting lists, by the time since each ended.
func MarketQueue(ctx context.Context, db bun.IDB, now time.Time) (queue.Depth, error) {
	d, err := queue.Read(ctx, waiting(db, now), market.EndedAt)
	if err != nil {
		return d, fmt.Errorf("count waiting markets: %w", err)
	}
	return d, nil
}

// OutcomeQueue measures the decided markets that still have predictions to move, by the time since
// the decision.
func OutcomeQueue(ctx context.Context, db bun.IDB) (queue.Depth, error) {
	d, err := queue.Read(ctx, db.NewSelect().Model((*Outcome)(nil)).Where("NOT o.applied"), "o.decided_at")
	if err != nil {
		return d, fmt.Errorf("count outcomes to apply: %w", err)
	}
	return d, nil
}

// EntryQueue measures the ledger entries created after a moment that count by now. Entries of later
// days don't count yet. The condition on ids uses their index, so the query doesn't read the whole
// ledger.
func EntryQueue(ctx context.Context, db bun.IDB, after, now time.Time) (queue.Depth, error) {
	entries := db.NewSelect().Model((*Entry)(nil)).
		Where("s.id >= ?", database.FirstID(after)).Where("s.created_at > ?", after.UTC()).
		Where("s.day <= ?", dayOf(now))
	d, err := queue.Read(ctx, entries, "s.created_at")
	if err != nil {
		return d, fmt.Errorf("count new entries of the ledger: %w", err)
	}
	return d, nil
}

// Stuck is a market that waits for the source or an admin.
type Stuck struct {
	Market market.Market
	Reason string
}

// Waiting lists up to limit markets that wait for the source or an admin, the longest unseen first.
func (s *Service) Waiting(ctx context.Context, limit int) ([]Stuck, error) {
	var rows []market.Market
	err := waiting(s.db.Reader, s.now()).Order("m.observed_at", "m.id").Limit(int64(limit)).Scan(ctx, &rows)
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
