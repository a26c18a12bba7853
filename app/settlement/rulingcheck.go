package settlement

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
)

func (s *Service) checkSettle(id uuid.UUID) check {
	return func(ctx context.Context, tx bun.Tx, r Ruling, read readsItems) (*plan, error) {
		i, err := loadUnlinked(ctx, tx, id, read)
		if err != nil {
			return nil, err
		}
		if i.Status != prediction.Open {
			return nil, problem.New(problem.CodeAlreadySettled,
				fmt.Sprintf("This prediction is %s. Nothing was changed; correct it instead if that is wrong.", i.decisionWords()))
		}
		if i.HorizonAt.After(s.now()) {
			return nil, problem.New(problem.CodeNotDue,
				fmt.Sprintf("This prediction's horizon is %s. Settle it after that.", i.HorizonAt.UTC().
					Format(time.RFC3339)))
		}
		return planPrediction(i, KindPredictionSettled, r, s.now())
	}
}

func (s *Service) checkCorrectPrediction(id uuid.UUID) check {
	return func(ctx context.Context, tx bun.Tx, r Ruling, read readsItems) (*plan, error) {
		i, err := loadUnlinked(ctx, tx, id, read)
		if err != nil {
			return nil, err
		}
		if i.Status == prediction.Open {
			return nil, problem.New(
				problem.CodeNotSettled, "This prediction is open, so there is nothing to correct. Settle it instead.",
			)
		}
		p, err := planPrediction(i, KindPredictionChanged, r, s.now())
		if err == nil && i.Status == prediction.Resolved && score.SameValue(*i.ResolutionValue, p.to.Value) {
			return nil, problem.New(problem.CodeAlreadySettled, fmt.Sprintf(
				"This prediction is %s already. Nothing was changed.", i.decisionWords(),
			))
		}
		return p, err
	}
}

func (s *Service) checkVoidPrediction(id uuid.UUID) check {
	return func(ctx context.Context, tx bun.Tx, r Ruling, read readsItems) (*plan, error) {
		i, err := loadItem(ctx, tx, id, read)
		if err != nil {
			return nil, err
		}
		if i.Status == prediction.Void {
			return nil, problem.New(
				problem.CodeAlreadyVoid, "This prediction is void already"+i.reason()+". Nothing was changed.",
			)
		}
		to := resolution{Status: prediction.Void, Source: sourceAdmin, Note: r.Note, At: database.Stored(s.now()), Ruled: true}
		return i.plan(KindPredictionVoided, "void", to), nil
	}
}

func loadItem(ctx context.Context, tx bun.Tx, id uuid.UUID, read readsItems) (*item, error) {
	key, err := prediction.Store{}.KeyOf(ctx, tx, id)
	if err != nil {
		return nil, err
	}
	if key == nil {
		return nil, prediction.NotFound()
	}
	rows, err := read(ctx, tx, []prediction.Key{*key})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("prediction %s has no result", id)
	}
	return &rows[0], nil
}

func loadUnlinked(ctx context.Context, tx bun.Tx, id uuid.UUID, read readsItems) (*item, error) {
	i, err := loadItem(ctx, tx, id, read)
	if err == nil && i.MarketID != "" {
		return nil, problem.New(problem.CodeMarketDecides,
			fmt.Sprintf("This prediction is on market %s, whose settlement decides it. Correct the market, or void this prediction.", i.MarketID))
	}
	return i, err
}

func planPrediction(i *item, kind string, r Ruling, now time.Time) (*plan, error) {
	y, err := r.value()
	if err != nil {
		return nil, err
	}
	to := resolution{
		Status: prediction.Resolved, Value: y, Source: sourceAdmin, Note: r.Note, At: database.Stored(now), Ruled: true,
	}
	switch y {
	case 1:
		to.Outcome = "Yes"
	case 0:
		to.Outcome = "No"
	}
	return i.plan(kind, valueWords(to.Outcome, y), to), nil
}

func (i *item) plan(kind, words string, to resolution) *plan {
	c := Change{Kind: kind, MarketID: i.MarketID, PredictionID: i.ID, From: "open", To: words}
	switch i.Status {
	case prediction.Open:
		c.Open = 1
	case prediction.Resolved:
		c.Resolved, c.From = 1, valueWords(i.ResolutionOutcome, *i.ResolutionValue)
	case prediction.Void:
		c.Void, c.From = 1, "void"
	}
	return &plan{change: c, item: i, to: to}
}

// decisionWords returns how a prediction that isn't open was decided: `resolved as Yes` or `void ("the reason")`.
func (i *item) decisionWords() string {
	if i.Status == prediction.Void {
		return "void" + i.reason()
	}
	return "resolved as " + valueWords(i.ResolutionOutcome, *i.ResolutionValue)
}

// valueWords returns what happened in words: the outcome or, if it has no name, how far it happened.
func valueWords(outcome string, y float64) string { return cmp.Or(outcome, fmt.Sprint(y)) }

// reason returns the note of a resolution in parentheses, or "".
func (i *item) reason() string {
	if i.ResolutionNote == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", i.ResolutionNote)
}

// value returns the y that a ruling gives a prediction without a market.
func (r *Ruling) value() (float64, error) {
	name := strings.TrimSpace(r.Outcome)
	switch {
	case r.Value != nil && name != "":
		return 0, problem.InvalidRequest(
			problem.Field{Field: "value", Message: "cannot be given together with outcome; send one"},
		)
	case r.Value != nil && *r.Value >= 0 && *r.Value <= 1:
		return score.RoundValue(*r.Value), nil
	case r.Value != nil:
		return 0, problem.InvalidRequest(
			problem.Field{Field: "value", Message: "must be a number from 0 to 1: how far it happened"},
		)
	case strings.EqualFold(name, "yes"):
		return 1, nil
	case strings.EqualFold(name, "no"):
		return 0, nil
	}
	return 0, problem.InvalidRequest(problem.Field{Field: "outcome", Message: `must be "Yes" or "No", or send value from 0 to 1`})
}

func (s *Service) checkMarket(id string, void bool) check {
	return func(ctx context.Context, tx bun.Tx, r Ruling, _ readsItems) (*plan, error) {
		markets, err := market.Store{}.ByIDs(ctx, tx, []string{id})
		if err != nil {
			return nil, err
		}
		if len(markets) == 0 {
			return nil, problem.NotFound("There is no market with this id.")
		}
		m := &markets[0]
		before, err := loadOutcome(ctx, tx, id)
		if err != nil {
			return nil, err
		}
		if !m.Closed && !s.vanished(m) {
			return nil, problem.New(problem.CodeMarketOpen,
				"This market is still open upstream, so nothing has happened yet. Rule on it once it has closed, or has not been seen for a day.")
		}
		known, err := loadKnown(ctx, tx, id, before)
		if err != nil {
			return nil, err
		}
		v, kind := market.Verdict{Stage: market.Voided, Winner: -1}, KindMarketVoided
		if !void {
			if v, err = verdictOf(m, r.Outcome, known); err != nil {
				return nil, err
			}
			kind = KindMarketCorrected
		}
		o := newOutcome(m, v, before, sourceAdmin, r.Note, s.now())
		same := o.equal(before)
		o.setPlaces(known, before)
		if same && (void || o.ByName || !before.ByName) {
			return nil, problem.New(problem.CodeAlreadySettled, fmt.Sprintf(
				"The outcome of this market is %s already. Nothing was changed.", before,
			))
		}
		p := &plan{change: Change{Kind: kind, MarketID: id, From: before.String(), To: o.String()}, market: m, outcome: o}
		if !void {
			p.change.To += o.renamed(known)
		}
		return p, countPredictions(ctx, tx, &p.change, id)
	}
}

func countPredictions(ctx context.Context, tx bun.Tx, c *Change, marketID string) error {
	counts, err := prediction.Store{}.CountByStatus(ctx, tx, marketID)
	c.Open, c.Resolved, c.Void = counts[prediction.Open], counts[prediction.Resolved], counts[prediction.Void]
	return err
}
