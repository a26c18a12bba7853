package moderation

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Ruling is a decision about one prediction or one market.
type Ruling struct {
	// Kind is one of settlement.KindPredictionSettled, KindPredictionChanged,
	// KindPredictionVoided, KindMarketCorrected and KindMarketVoided.
	Kind string
	// Subject is the id of the prediction or market.
	Subject string
	// Outcome and Value are those of settlement.Ruling.
	Outcome string
	Value   *float64
}

// Rule carries out a ruling. It requires a reason, which is public. Act.Seen is the state that the
// preview showed (settlement.Change.From). Scores follow within seconds. Refusals: 404 not_found,
// 422 invalid_request, and 409 if the subject can't be ruled on, already has this outcome, or
// changed after the preview.
func (s *Service) Rule(ctx context.Context, act Act, r Ruling) error {
	if err := act.requireReason(); err != nil {
		return err
	}
	decision := settlement.Ruling{Outcome: r.Outcome, Value: r.Value, Note: act.Reason, Actor: act.Actor}
	decision.Record = func(ctx context.Context, tx bun.Tx, c settlement.Change) error {
		if err := act.checkSeen(c.From); err != nil {
			return err
		}
		target := audit.MarketTarget(c.MarketID)
		if c.PredictionID != uuid.Nil {
			target = audit.PredictionTarget(c.PredictionID)
		}
		return s.record(ctx, tx, act, &audit.Entry{
			Action: audit.Ruling + "." + c.Kind, Target: target, Before: c.From, After: c.To,
		})
	}
	done, err := s.Settlement.Rule(ctx, r.Kind, r.Subject, decision)
	if err != nil && done == (settlement.Change{}) {
		return err
	}
	if err != nil { // the ruling is stored, and the next tick settles the rest
		s.Log.Warn("predictions of a ruling are settled later", "kind", r.Kind, "subject", r.Subject, "error", err)
	}
	s.recheck(ctx)
	return nil
}

// PreviewRuling returns what a ruling would change, or its refusal. It changes nothing.
func (s *Service) PreviewRuling(ctx context.Context, r Ruling) (settlement.Change, error) {
	return s.Settlement.Preview(ctx, r.Kind, r.Subject, settlement.Ruling{Outcome: r.Outcome, Value: r.Value})
}
