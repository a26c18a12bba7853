package settlement

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// vanishedAfter is how long an open market with predictions may be missing from the source before
// an admin may rule on it.
const vanishedAfter = 24 * time.Hour

// vanished reports whether an admin may rule on the open market m.
func (s *Service) vanished(m *market.Market) bool {
	return !m.ObservedAt.After(s.now().Add(-vanishedAfter))
}

// Ruling is an admin's decision.
type Ruling struct {
	// Outcome names what happened: one of a market's outcomes, or "yes" or "no" for a prediction
	// without a market.
	Outcome string
	// Value is how far it happened, 0..1. It replaces Outcome, for a prediction without a market
	// only.
	Value *float64
	// Note is the public reason. Actor is the admin's name.
	Note, Actor string
	// Record, if set, runs in the transaction of the ruling, before the ruling is carried out. An
	// error from Record rolls the ruling back.
	Record func(ctx context.Context, tx bun.Tx, c Change) error
}

// Change is what a ruling would change or has changed.
type Change struct {
	Kind         string // kind of the correction that the ruling writes
	MarketID     string
	PredictionID uuid.UUID // uuid.Nil for a market
	From, To     string    // in words: "open", "void", "Yes", "0.4"
	// Open, Resolved and Void count the decided predictions by their status before the ruling. On a
	// market, predictions with their own ruling are not counted.
	Open, Resolved, Void int64
}

// plan is a checked ruling, ready to carry out.
type plan struct {
	change  Change
	market  *market.Market // nil if the ruling is on a prediction
	outcome *Outcome       // set with market
	item    *item          // nil if the ruling is on a market
	to      resolution
}

// check checks a ruling. It reads a prediction with read.
type check func(ctx context.Context, tx bun.Tx, r Ruling, read readsItems) (*plan, error)

// readsItems is lockItems, or readItems for a check that is not carried out.
type readsItems func(ctx context.Context, tx bun.Tx, keys []prediction.Key) ([]item, error)

// Rule checks a ruling and carries it out. kind is one of the Kind constants of admins.
// target is the id of the prediction or market.
//
//   - KindPredictionSettled decides a prediction without a market after its horizon.
//   - KindPredictionChanged replaces that decision. The ledger gets a reversal and a new
//     entry.
//   - KindPredictionVoided takes one prediction, linked or not, out of all scores. After that
//     its market no longer moves it.
//   - KindMarketCorrected sets the outcome of a market that has closed or vanished, and replaces
//     the one it showed, if any. It holds until the market reopens.
//   - KindMarketVoided takes all predictions of such a market out of all scores.
//
// Refusals: 404 not_found, 422 invalid_request, and 409 if there is nothing to decide. If Rule returns a change with
// an error, the ruling is stored, and the next tick settles the predictions that are left.
func (s *Service) Rule(ctx context.Context, kind, target string, r Ruling) (Change, error) {
	check, err := s.checkOf(kind, target)
	if err != nil {
		return Change{}, err
	}
	return s.rule(ctx, r, check)
}

// Preview returns what a ruling would change, or how Rule would refuse it, and changes
// nothing. It needs no writer, because a check of a market counts all its predictions.
func (s *Service) Preview(ctx context.Context, kind, target string, r Ruling) (change Change, err error) {
	check, err := s.checkOf(kind, target)
	if err != nil {
		return Change{}, err
	}
	err = s.db.Reader.RunInTx(ctx, readsOnly(s.db), func(ctx context.Context, tx bun.Tx) error {
		p, err := check(ctx, tx, r, readItems)
		if err == nil {
			change = p.change
		}
		return err
	})
	return change, err
}

// checkOf returns the check of a kind of ruling.
func (s *Service) checkOf(kind, target string) (check, error) {
	if kind == KindMarketCorrected || kind == KindMarketVoided {
		return s.checkMarket(target, kind == KindMarketVoided), nil
	}
	id, err := prediction.ParseID(target)
	if err != nil {
		return nil, err
	}
	switch kind {
	case KindPredictionSettled:
		return s.checkSettle(id), nil
	case KindPredictionChanged:
		return s.checkCorrectPrediction(id), nil
	case KindPredictionVoided:
		return s.checkVoidPrediction(id), nil
	}
	return nil, problem.NotFound("There is no such ruling.")
}

// rule checks and carries out a ruling.
func (s *Service) rule(ctx context.Context, r Ruling, c check) (Change, error) {
	if err := r.signed(); err != nil {
		return Change{}, err
	}
	done, err := s.record(ctx, r, c)
	for errors.Is(err, errDecided) {
		done, err = s.record(ctx, r, c)
	}
	if err != nil {
		return Change{}, err
	}
	// The ruling is stored. If the steps below fail, the next tick completes them.
	if done.outcome != nil {
		ctx = database.Patient(ctx)
		err = s.FixBaselines(ctx, done.change.MarketID)
		if err == nil {
			err = s.apply(ctx, done.change.MarketID)
		}
	}
	return done.change, err
}

// record checks a ruling and stores it with its correction in one transaction. It fails with
// errDecided if the market got another outcome since the check. So if two admins submit at once,
// the second sees the first one's ruling.
func (s *Service) record(ctx context.Context, r Ruling, c check) (done *plan, err error) {
	err = s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) error {
		p, err := c(ctx, tx, r, lockItems)
		if err != nil {
			return err
		}
		done = p
		correction := Correction{Kind: p.change.Kind, MarketID: p.change.MarketID, PredictionID: p.change.PredictionID, Note: r.Note, Actor: r.Actor}
		if err := s.correct(ctx, tx, correction); err != nil {
			return err
		}
		if r.Record != nil {
			if err := r.Record(ctx, tx, p.change); err != nil {
				return err
			}
		}
		if p.outcome != nil {
			return s.saveOutcome(ctx, tx, p.market, p.outcome)
		}
		return s.movePrediction(ctx, tx, p)
	})
	return done, err
}

// movePrediction carries out a ruling on one prediction.
func (s *Service) movePrediction(ctx context.Context, tx bun.Tx, p *plan) error {
	b, err := newBatch(ctx, tx, []bet{p.item.bet()}, database.Stored(s.now()), s.now())
	if err != nil {
		return err
	}
	if b.withheld, err = p.item.staysWithheld(ctx, tx); err != nil {
		return err
	}
	if err := b.move(p.item, p.to); err != nil {
		return err
	}
	if err := b.write(ctx, tx); err != nil || p.item.MarketID == "" {
		return err
	}
	if err := lockReferences(ctx, tx); err != nil {
		return err
	}
	if err := applyEventChanges(ctx, tx); err != nil {
		return err
	}
	return b.writeMarkets(ctx, tx, p.item.MarketID)
}

// staysWithheld reports whether a prediction that is decided alone stays withheld until its market closes or is
// decided. Its baseline may be the confidence of the agent's earlier prediction on the market, which may be withheld as
// long.
func (i *item) staysWithheld(ctx context.Context, tx bun.Tx) (bool, error) {
	if !i.Unrevealed || i.Reveal != prediction.RevealClose {
		return false, nil
	}
	o, err := loadOutcome(ctx, tx, i.MarketID)
	return !decided(o), err
}

// MaxNote is the maximum length of a ruling's note, in characters.
const MaxNote = 1000

func (r *Ruling) signed() error {
	r.Note = strings.TrimSpace(r.Note)
	var fields []problem.Field
	if message := plaintext.CheckLength(r.Note, 1, MaxNote, true); message != "" {
		fields = append(fields, problem.Field{Field: "note", Message: message + "; the note is the public reason"})
	}
	if r.Actor == "" {
		fields = append(fields, problem.Field{Field: "actor", Message: "must be the name of the admin who decides"})
	}
	if fields != nil {
		return problem.InvalidRequest(fields...)
	}
	return nil
}
