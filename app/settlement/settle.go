package settlement

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// settleObserved decides and applies the outcomes of the markets just observed. It also continues
// outcomes whose application was interrupted.
func (s *Service) settleObserved(ctx context.Context, observed []market.Market) error {
	stored, err := s.storedOutcomes(ctx, observed)
	if err != nil {
		return err
	}
	candidates, err := s.candidates(ctx, observed, stored)
	if err != nil {
		return err
	}
	unsettled, err := s.withOpen(ctx, candidates)
	if err != nil {
		return err
	}
	work := map[string]struct{}{}
	for id, o := range stored {
		if !o.Applied {
			work[id] = struct{}{}
		}
	}
	late, err := s.ruledOpen(ctx)
	if err != nil {
		return err
	}
	for _, id := range late {
		work[id] = struct{}{}
	}
	var errs []error
	var unclear []*market.Market
	for i := range candidates {
		m := &candidates[i]
		_, open := unsettled[m.ID]
		// A prediction published while the market closed may have missed the application of the
		// outcome. It is still open. Other open predictions on the market wait for an admin.
		if o := stored[m.ID]; open && decided(o) && o.Applied {
			if open, err = differs(ctx, s.db.Reader, o, s.chunk, false); err != nil {
				errs = append(errs, fmt.Errorf("settle market %s: %w", m.ID, err))
			}
			if open {
				work[m.ID] = struct{}{}
			}
		}
		v := m.Verdict()
		if open && v.Stage == market.AskBook && s.winner != nil && !s.outdated(m, stored[m.ID]) && !stored[m.ID].Ruled() {
			unclear = append(unclear, m)
			continue
		}
		changed, err := s.observe(ctx, m, stored[m.ID], v)
		if err != nil {
			errs = append(errs, fmt.Errorf("decide market %s: %w", m.ID, err))
			continue
		}
		if changed {
			work[m.ID] = struct{}{}
		}
	}
	for id := range work {
		errs = append(errs, s.apply(ctx, id))
	}
	return errors.Join(append(errs, s.askBook(ctx, unclear, stored))...)
}

// ruledOpen lists the markets that an admin has decided although they were not closed, and on which agents have
// published since. No reading of such a market may come again.
func (s *Service) ruledOpen(ctx context.Context) (ids []string, err error) {
	var rows []Outcome
	err = s.db.Reader.NewSelect().Model(&rows).
		Join("JOIN (?) AS m ON m.id = o.market_id", market.Select(s.db.Reader)).
		Where("o.source = ?", sourceAdmin).Where("o.state <> ?", stateOpen).Where("o.applied").Where("NOT m.closed").
		Where("o.market_id IN (?)", prediction.OpenMarkets(s.db.Reader)).Scan(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for predictions after a ruling: %w", err)
	}
	for i := range rows {
		more, err := differs(ctx, s.db.Reader, rows[i].utc(), s.chunk, false)
		if err != nil {
			return nil, err
		}
		if more {
			ids = append(ids, rows[i].MarketID)
		}
	}
	return ids, nil
}

// differs reports whether an open prediction or reference row doesn't match the outcome of its market, or still waits
// for its baseline. A prediction on an outcome that is gone matches, because it waits for an admin. differs reads a chunk
// of the newest predictions or, if all is true, every chunk until one differs.
func differs(ctx context.Context, db bun.IDB, o *Outcome, chunk int, all bool) (bool, error) {
	refs, err := loadReferences(ctx, db, o.MarketID)
	if err != nil {
		return false, err
	}
	for _, r := range refs {
		if r.Status == prediction.Open && o.resolutionOf(r.named(), r.ObservedAt).Status != prediction.Open {
			return true, nil
		}
	}
	open := prediction.SelectResults(db).Where("s.market_id = ?", o.MarketID).Where("s.status = 'open'").Where("NOT s.ruled").
		Order("s.id DESC").Limit(int64(chunk))
	for q := open; ; {
		var rows []item
		if err := q.Scan(ctx, &rows); err != nil {
			return false, fmt.Errorf("look for open predictions: %w", err)
		}
		more := slices.ContainsFunc(rows, func(i item) bool {
			return i.BaselineState == prediction.Pending || o.resolutionOf(i.named(), i.CreatedAt.UTC()).Status != prediction.Open
		})
		if more || !all || len(rows) < chunk {
			return more, nil
		}
		q = open.Clone().Where("s.id < ?", rows[len(rows)-1].ID)
	}
}

// bookPatience is how long the order book may take for all markets of one reading, and answerPatience for one of them.
const (
	bookPatience   = 15 * time.Second
	answerPatience = 5 * time.Second
)

// askBook decides and applies the outcomes of closed markets for which the order book must be asked. It runs after
// everything else and has a time limit. So an order book that doesn't answer delays nothing else. It asks in another
// order each time, so that markets without an answer don't keep it from the others.
func (s *Service) askBook(ctx context.Context, list []*market.Market, stored map[string]*Outcome) error {
	asking, cancel := context.WithTimeout(ctx, bookPatience)
	defer cancel()
	ask := func(m *market.Market) (winner int, ok bool, err error) {
		one, cancel := context.WithTimeout(asking, answerPatience)
		defer cancel()
		return s.winner(one, m)
	}
	var errs []error
	for _, i := range rand.Perm(len(list)) {
		m := list[i]
		winner, ok, err := ask(m)
		if err != nil {
			errs = append(errs, fmt.Errorf("ask the order book about market %s: %w", m.ID, err))
			if asking.Err() != nil {
				break
			}
			continue
		}
		v := m.Verdict()
		if ok {
			v = m.DecidedBy(winner)
		}
		changed, err := s.observe(ctx, m, stored[m.ID], v)
		if err == nil && changed {
			err = s.apply(ctx, m.ID)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("decide market %s: %w", m.ID, err))
		}
	}
	return errors.Join(errs...)
}

func decided(o *Outcome) bool { return o != nil && o.State != stateOpen }

// storedOutcomes reads the outcomes of the observed markets and all outcomes not yet applied.
func (s *Service) storedOutcomes(ctx context.Context, observed []market.Market) (map[string]*Outcome, error) {
	var rows []Outcome
	ids := make([]string, 0, len(observed))
	for _, m := range observed {
		ids = append(ids, m.ID)
	}
	q := s.db.Reader.NewSelect().Model(&rows).Where("NOT o.applied")
	if len(ids) > 0 {
		q = q.WhereOr("o.market_id IN (?)", bun.List(ids))
	}
	if err := q.Scan(ctx); err != nil {
		return nil, fmt.Errorf("read outcomes: %w", err)
	}
	found := make(map[string]*Outcome, len(rows))
	for i := range rows {
		found[rows[i].MarketID] = rows[i].utc()
	}
	return found, nil
}

// candidates returns the observed markets that are closed or decided. It returns them as stored,
// because a reading may lack fields that an earlier one had.
func (s *Service) candidates(
	ctx context.Context, observed []market.Market, stored map[string]*Outcome,
) ([]market.Market, error) {
	var ids []string
	for _, m := range observed {
		if m.Closed || decided(stored[m.ID]) {
			ids = append(ids, m.ID)
		}
	}
	return market.Store{}.ByIDs(ctx, s.db.Reader, ids)
}

// withOpen returns the ids of the closed candidates that still have an open prediction or reference
// row.
func (s *Service) withOpen(ctx context.Context, candidates []market.Market) (map[string]struct{}, error) {
	var closed, found []string
	for _, m := range candidates {
		if m.Closed {
			closed = append(closed, m.ID)
		}
	}
	if len(closed) == 0 {
		return nil, nil
	}
	predicted, err := prediction.Store{}.MarketsWithOpen(ctx, s.db.Reader, closed)
	if err != nil {
		return nil, err
	}
	err = s.db.Reader.NewSelect().Model((*ReferencePrediction)(nil)).ColumnExpr("DISTINCT r.market_id").
		Where("r.market_id IN (?)", bun.List(closed)).Where("r.status = 'open'").Scan(ctx, &found)
	if err != nil {
		return nil, fmt.Errorf("look for open reference rows: %w", err)
	}
	open := make(map[string]struct{}, len(found))
	for _, id := range append(found, predicted...) {
		open[id] = struct{}{}
	}
	return open, nil
}

// outdated reports whether an outcome was decided after a reading of its market. A decision that bears a time of the
// future came earlier, while a clock was ahead.
func (s *Service) outdated(m *market.Market, o *Outcome) bool {
	return o != nil && m.ObservedAt.Before(o.DecidedAt) && !o.DecidedAt.After(database.LatestPlausible(s.now()))
}

// observe decides the market's outcome as v says if that differs from the current
// outcome, and reports whether it did. An admin's ruling stays until the market reopens, whatever the
// closed market shows. But a correction of the closing time always counts, because a ruling and the
// order book say what happened and not when the market closed.
func (s *Service) observe(ctx context.Context, m *market.Market, before *Outcome, v market.Verdict) (bool, error) {
	if s.outdated(m, before) {
		return false, nil
	}
	if !m.Closed {
		if !decided(before) {
			return false, nil
		}
		return s.decide(ctx, m, market.Verdict{Stage: market.Waiting}, before)
	}
	if before.Ruled() {
		return s.moveClosing(ctx, m, before)
	}
	if v.Stage == market.AskBook && decided(before) {
		return s.moveClosing(ctx, m, before) // the book decided the outcome before
	}
	if v.Stage != market.Settled && v.Stage != market.Voided {
		return false, nil
	}
	return s.decide(ctx, m, v, before)
}

// moveClosing stores the current outcome again if the source has corrected the market's closing time,
// and reports whether it did.
func (s *Service) moveClosing(ctx context.Context, m *market.Market, before *Outcome) (bool, error) {
	o := *before
	o.Revision, o.ClosedAt, o.DecidedAt, o.Applied = before.Revision+1, m.ClosedAt, database.Stored(s.now()), false
	return s.replace(ctx, m, &o, before)
}

// decide makes v the market's outcome after before. changed is false if the outcome was the same
// already, or if another worker decided first.
func (s *Service) decide(
	ctx context.Context, m *market.Market, v market.Verdict, before *Outcome,
) (changed bool, err error) {
	return s.replace(ctx, m, newOutcome(m, v, before, sourceMarket, "", s.now()), before)
}

// replace makes o the market's outcome in place of before. changed is as in decide.
func (s *Service) replace(ctx context.Context, m *market.Market, o, before *Outcome) (changed bool, err error) {
	same := o.equal(before)
	if same {
		if moved, err := s.movesClosing(ctx, o, before); err != nil || !moved {
			return false, err
		}
		// The names under which predictions were decided stay, so that a renaming alone changes none of them.
		o.Outcomes, o.OutcomeValues, o.Winner, o.ByName = before.Outcomes, before.OutcomeValues, before.Winner, before.ByName
	} else {
		known, err := loadKnown(ctx, s.db.Reader, m.ID, before)
		if err != nil {
			return false, err
		}
		o.setPlaces(known, before)
	}
	err = s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := s.saveOutcome(ctx, tx, m, o); err != nil || !decided(before) {
			return err
		}
		c := Correction{Kind: KindMarketChanged, MarketID: m.ID, Actor: sourceMarket,
			Note: fmt.Sprintf("The market changed its outcome from %s to %s.", before, o)}
		if same {
			c.Note = fmt.Sprintf("The market's closing time was corrected to %s.", o.ClosedAt.UTC().Format("2 January 2006 15:04:05 UTC"))
		}
		if o.State == stateOpen {
			c.Kind, c.Note = KindMarketReopened, fmt.Sprintf("The market reopened; its outcome was %s.", before)
		}
		return s.correct(ctx, tx, c)
	})
	if errors.Is(err, errDecided) {
		return false, nil
	}
	return err == nil, err
}

// movesClosing reports whether o has another closing time than before, and something on the market
// was published after the earlier of the two. Such a prediction may become void, or valid again.
func (s *Service) movesClosing(ctx context.Context, o, before *Outcome) (bool, error) {
	if o.State != stateSettled || o.ClosedAt.IsZero() || o.ClosedAt.Equal(before.ClosedAt) {
		return false, nil
	}
	earlier := o.ClosedAt
	if !before.ClosedAt.IsZero() && before.ClosedAt.Before(earlier) {
		earlier = before.ClosedAt
	}
	if after, err := prediction.PublishedAfter(ctx, s.db.Reader, o.MarketID, earlier); err != nil || after {
		return after, err
	}
	after, err := s.db.Reader.NewSelect().Model((*ReferencePrediction)(nil)).Where("r.market_id = ?", o.MarketID).
		Where("r.observed_at > ?", earlier).Exists(ctx)
	if err != nil {
		return false, fmt.Errorf("look for late reference rows: %w", err)
	}
	return after, nil
}

// errDecided means that the market got another outcome after it was read.
var errDecided = errors.New("the market was decided meanwhile")

// saveOutcome stores a market's outcome if it directly follows the stored one, and otherwise fails
// with errDecided. It waits for steps under way on the market.
func (s *Service) saveOutcome(ctx context.Context, tx bun.Tx, m *market.Market, o *Outcome) error {
	res, err := tx.NewInsert().Model(o).On("CONFLICT (market_id) DO UPDATE").
		Set("revision = EXCLUDED.revision").Set("state = EXCLUDED.state").Set("winner = EXCLUDED.winner").
		Set("outcomes = EXCLUDED.outcomes").Set("outcome_values = EXCLUDED.outcome_values").
		Set("source = EXCLUDED.source").Set("note = EXCLUDED.note").Set("closed_at = EXCLUDED.closed_at").
		Set("decided_at = EXCLUDED.decided_at").Set("applied = EXCLUDED.applied").Set("by_name = EXCLUDED.by_name").
		Where("o.revision = EXCLUDED.revision - 1").Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the outcome: %w", err)
	}
	n, err := res.RowsAffected()
	if err == nil && n == 0 {
		err = errDecided
	}
	if err != nil || o.State == stateOpen {
		return err
	}
	return update.Record(ctx, tx, o.settledUpdate(m, database.Stored(s.now())))
}
