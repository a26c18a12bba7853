package settlement

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// apply gives each prediction of a market the status and resolution that the market's outcome
// decides, one transaction at a time.
func (s *Service) apply(ctx context.Context, marketID string) error {
	run := applyRun{service: s, market: marketID}
	for run.stage != done {
		if err := s.inLedger(ctx, run.step); err != nil {
			return fmt.Errorf("settle market %s: %w", marketID, err)
		}
		if err := s.afterChunk(); err != nil {
			return err
		}
	}
	return nil
}

// applyRun moves a market's predictions, then its reference rows, and then marks its outcome
// applied. It starts over if the outcome changes in between.
type applyRun struct {
	service  *Service
	market   string
	revision int64
	last     uuid.UUID // the last prediction read
	matched  bool      // no prediction differed from the outcome when finish looked
	stage    applyStage
}

type applyStage int

const (
	movePredictions applyStage = iota
	moveReferences
	markApplied
	done
)

// step makes the changes of one transaction. It locks the outcome, so the outcome can't change
// meanwhile. Only the last stage writes the outcome, so only that stage takes the exclusive lock.
func (r *applyRun) step(ctx context.Context, tx bun.Tx) error {
	hold := database.ForShare
	if r.stage == markApplied {
		hold = database.ForUpdate
	}
	o, err := readOutcome(ctx, hold(selectOutcome(tx, r.market)))
	if err != nil {
		return err
	}
	if o == nil {
		r.stage = done
		return nil
	}
	if o.Revision != r.revision {
		*r = applyRun{service: r.service, market: r.market, revision: o.Revision}
	}
	switch r.stage {
	case movePredictions:
		return r.chunk(ctx, tx, o)
	case moveReferences:
		return r.references(ctx, tx, o)
	}
	return r.finish(ctx, tx, o)
}

// chunk moves the next predictions that may not yet match o. For a market's first outcome these are
// the open predictions only. Each is read again after its agent is locked.
func (r *applyRun) chunk(ctx context.Context, tx bun.Tx, o *Outcome) error {
	which := prediction.OpenOrNot
	switch {
	case o.Revision == 1:
		which = prediction.OnlyOpen
	case o.State == stateOpen:
		which = prediction.NotOpen
	}
	next, err := prediction.Store{}.NextToSettle(ctx, tx, r.market, which, r.last, r.service.chunk)
	if err != nil {
		return err
	}
	if len(next) < r.service.chunk {
		r.stage = moveReferences
	}
	if len(next) == 0 {
		return nil
	}
	r.last = next[len(next)-1].ID
	// Publishers wait for the locks of this transaction, so commit without waiting for the disk. A
	// crash can undo only the last steps. Their outcome isn't marked applied yet, so the next tick
	// moves those predictions again.
	if err := database.CommitLater(ctx, tx); err != nil {
		return err
	}
	rows, err := lockItems(ctx, tx, next)
	if err != nil {
		return err
	}
	return r.move(ctx, tx, o, rows)
}

func (r *applyRun) move(ctx context.Context, tx bun.Tx, o *Outcome, rows []item) error {
	b, err := loadBatch(ctx, tx, r.service, o, rows, (*item).bet)
	if err != nil {
		return err
	}
	for i := range rows {
		p := &rows[i]
		if p.Ruled {
			continue
		}
		if err := b.move(p, o.resolutionOf(p.named(), p.CreatedAt)); err != nil {
			return err
		}
	}
	if err := b.write(ctx, tx); err != nil || len(b.predictions) == 0 {
		return err
	}
	return b.writeMarkets(ctx, tx, r.market)
}

// references moves the market's reference rows and counts the events that the chunks changed. All
// workers share its lock, so it commits without waiting for the disk, as chunk does.
func (r *applyRun) references(ctx context.Context, tx bun.Tx, o *Outcome) error {
	r.stage = markApplied
	if err := database.CommitLater(ctx, tx); err != nil {
		return err
	}
	if err := lockReferences(ctx, tx); err != nil {
		return err
	}
	rows, err := loadReferences(ctx, tx, r.market)
	if err != nil {
		return err
	}
	b, err := loadBatch(ctx, tx, r.service, o, rows, (*ReferencePrediction).bet)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := b.moveReference(row, o.resolutionOf(row.named(), row.ObservedAt)); err != nil {
			return err
		}
	}
	if err := b.write(ctx, tx); err != nil {
		return err
	}
	return applyEventChanges(ctx, tx)
}

// loadBatch returns a batch for rows that the outcome o decides.
func loadBatch[R any](ctx context.Context, tx bun.Tx, s *Service, o *Outcome, rows []R, betOf func(*R) bet) (*batch, error) {
	bets := make([]bet, len(rows))
	for i := range rows {
		bets[i] = betOf(&rows[i])
	}
	return newBatch(ctx, tx, bets, database.Stored(s.now()), o.DecidedAt)
}

// finish marks the outcome applied, unless a prediction waits for its baseline, or got it since it
// was passed. Before that, it reveals what is still withheld on the decided market, some predictions in each step. Only
// the first of these steps compares the predictions with the outcome, because publishers wait for each step.
func (r *applyRun) finish(ctx context.Context, tx bun.Tx, o *Outcome) error {
	r.stage = done
	if o.Applied {
		return nil
	}
	if decided(o) {
		if !r.matched {
			more, err := differs(ctx, tx, o, r.service.chunk, true)
			if err != nil || more {
				return err
			}
			r.matched = true
		}
		revealed, err := prediction.RevealLeft(ctx, tx, o.MarketID, r.service.now())
		if err != nil {
			return err
		}
		if revealed {
			r.stage = markApplied
			return nil
		}
	}
	_, err := tx.NewUpdate().Model(o).Set("applied = TRUE").WherePK().Exec(ctx)
	if err != nil {
		return fmt.Errorf("mark the outcome applied: %w", err)
	}
	return nil
}

// lockItems locks the agents of the given predictions, then reads the predictions.
func lockItems(ctx context.Context, tx bun.Tx, keys []prediction.Key) ([]item, error) {
	if err := prediction.LockTalliesOf(ctx, tx, keys); err != nil {
		return nil, err
	}
	return readItems(ctx, tx, keys)
}

// readItems reads predictions with their latest ledger entries, and locks nothing.
func readItems(ctx context.Context, tx bun.Tx, keys []prediction.Key) ([]item, error) {
	rows := make([]item, 0, len(keys))
	q := prediction.SelectResults(tx).Join("JOIN v ON v.agent_id = p.agent_id AND v.id = p.id")
	if err := database.ScanRows(ctx, tx, q.String(), keys, &rows); err != nil {
		return nil, fmt.Errorf("read predictions: %w", err)
	}
	return rows, addEntries(ctx, tx, rows)
}

// addEntries adds to each prediction its latest ledger entry.
func addEntries(ctx context.Context, tx bun.Tx, rows []item) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, 0, len(rows))
	at := make(map[uuid.UUID]*item, len(rows))
	for i := range rows {
		rows[i].CreatedAt = rows[i].CreatedAt.UTC()
		ids = append(ids, rows[i].ID)
		at[rows[i].ID] = &rows[i]
	}
	var entries []Entry
	if err := database.WhereIDs(tx.NewSelect().Model(&entries), "s.prediction_id", ids).Scan(ctx); err != nil {
		return fmt.Errorf("read the ledger: %w", err)
	}
	for i := range entries {
		e := &entries[i]
		if p := at[e.PredictionID]; p.last == nil || p.last.Seq < e.Seq {
			p.last = e
		}
	}
	return nil
}

func loadReferences(ctx context.Context, db bun.IDB, marketID string) ([]ReferencePrediction, error) {
	var rows []ReferencePrediction
	if err := db.NewSelect().Model(&rows).Where("r.market_id = ?", marketID).Order("r.agent_id").Scan(ctx); err != nil {
		return nil, fmt.Errorf("read reference rows: %w", err)
	}
	return rows, nil
}
