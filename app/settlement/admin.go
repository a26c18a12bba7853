package settlement

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/plaintext"
	"github.com/pulsecast/pulsecast/app/problem"
)

// vanishedAfter is how long an open market with predictions may go unseen before it
// counts as gone upstream, and an admin may rule on it.
const vanishedAfter = 24 * time.Hour

// Ruling is an admin's decision.
type Ruling struct {
	// Outcome names what happened: of a market one of its outcomes, of a prediction
	// without a market "yes" or "no".
	Outcome string
	// Value is how far it happened, 0..1, for a prediction without a market only,
	// instead of Outcome.
	Value *float64
	// Note is the public reason, Actor the admin's name.
	Note, Actor string
	// Record, if set, writes down what is changed in the transaction that changes it;
	// its error takes the ruling back.
	Record func(ctx context.Context, tx bun.Tx, c Change) error
}

// Change is what a ruling changes, or has changed.
type Change struct {
	Kind         string // of the correction it writes
	MarketID     string
	PredictionID uuid.UUID // uuid.Nil for a market
	From, To     string    // in words: "open", "void", "Yes", "0.4"
	// Open, Resolved and Void count the predictions it decides on by where they stood.
	// Of a market, those that an admin has ruled on by themselves are not among them.
	Open, Resolved, Void int64
}

// plan is a checked ruling: what it changes and how it is done.
type plan struct {
	change  Change
	outcome *Outcome // of a market
	item    *item    // of a prediction
	to      place
}

type check func(ctx context.Context, tx bun.Tx, r Ruling) (*plan, error)

// Settle decides a prediction without a market after its horizon. One that is
// decided already is a conflict; CorrectPrediction changes it.
func (s *Service) Settle(ctx context.Context, id uuid.UUID, r Ruling) (Change, error) {
	return s.rule(ctx, r, s.checkSettle(id))
}

// CorrectPrediction replaces what an admin decided about a prediction without a
// market: the ledger gets a reversal and a new row.
func (s *Service) CorrectPrediction(ctx context.Context, id uuid.UUID, r Ruling) (Change, error) {
	return s.rule(ctx, r, s.checkCorrectPrediction(id))
}

// VoidPrediction takes one prediction, linked or not, out of all scores. From then on
// its market no longer moves it.
func (s *Service) VoidPrediction(ctx context.Context, id uuid.UUID, r Ruling) (Change, error) {
	return s.rule(ctx, r, s.checkVoidPrediction(id))
}

// CorrectMarket says what happened in a closed market, in place of what it showed, if
// anything. It holds until the market reopens.
func (s *Service) CorrectMarket(ctx context.Context, id string, r Ruling) (Change, error) {
	return s.rule(ctx, r, s.checkMarket(id, false))
}

// VoidMarket takes all predictions of a closed market out of all scores.
func (s *Service) VoidMarket(ctx context.Context, id string, r Ruling) (Change, error) {
	return s.rule(ctx, r, s.checkMarket(id, true))
}

// Preview says what a ruling of a kind (one of the Kind constants of admins) would
// change, or how it would be refused, and changes nothing. target is a prediction's
// or a market's id.
func (s *Service) Preview(ctx context.Context, kind, target string, r Ruling) (Change, error) {
	var c check
	switch kind {
	case KindMarketCorrected, KindMarketVoided:
		c = s.checkMarket(target, kind == KindMarketVoided)
	default:
		id, err := uuid.Parse(target)
		if err != nil {
			return Change{}, problem.NotFound("There is no prediction with this id.")
		}
		switch kind {
		case KindPredictionSettled:
			c = s.checkSettle(id)
		case KindPredictionChanged:
			c = s.checkCorrectPrediction(id)
		case KindPredictionVoided:
			c = s.checkVoidPrediction(id)
		default:
			return Change{}, problem.NotFound("There is no such ruling.")
		}
	}
	var change Change
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		p, err := c(ctx, tx, r)
		if err == nil {
			change = p.change
		}
		return err
	})
	return change, err
}

// rule checks and carries out a ruling. The check runs under the ledger lock, so of
// two admins who press the button together one is told what the other did.
func (s *Service) rule(ctx context.Context, r Ruling, c check) (Change, error) {
	if err := r.signed(); err != nil {
		return Change{}, err
	}
	var done *plan
	err := s.inLedger(ctx, func(ctx context.Context, tx bun.Tx) error {
		p, err := c(ctx, tx, r)
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
			return saveOutcome(ctx, tx, p.outcome)
		}
		b, err := newBatch(ctx, tx, []bet{p.item.bet()}, database.Now(s.now()), s.now())
		if err != nil {
			return err
		}
		if err := b.move(p.item, p.to); err != nil {
			return err
		}
		return b.write(ctx, tx)
	})
	if err != nil {
		return Change{}, err
	}
	// From here on the ruling stands; what a failure leaves undone, the next tick does.
	if done.outcome != nil {
		err = s.FixBaselines(ctx, done.change.MarketID)
		if err == nil {
			err = s.apply(ctx, done.change.MarketID)
		}
	}
	return done.change, err
}

// maxNote is the longest reason, in characters.
const maxNote = 1000

func (r *Ruling) signed() error {
	r.Note = strings.TrimSpace(r.Note)
	var fields []problem.Field
	if message := plaintext.CheckLength(r.Note, 1, maxNote, true); message != "" {
		fields = append(fields, problem.Field{Field: "note", Message: message + "; it is the reason, shown in public"})
	}
	if r.Actor == "" {
		fields = append(fields, problem.Field{Field: "actor", Message: "must name who decides"})
	}
	if fields != nil {
		return problem.InvalidRequest(fields...)
	}
	return nil
}
