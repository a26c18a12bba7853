package admin

import (
	"errors"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// subject is the prediction or market that the address of a ruling names.
type subject struct {
	market     bool
	id         string
	prediction uuid.UUID // zero if market is true
}

func pathSubject(v *visit) (s subject, err error) {
	s.id = v.param("id")
	switch v.param("kind") {
	case "markets":
		s.market = true
		return s, nil
	case "predictions":
		s.prediction, err = prediction.ParseID(s.id)
		return s, err
	}
	return s, noSuchPage(v)
}

// target returns the subject's name in the audit log.
func (s subject) target() string {
	if s.market {
		return audit.MarketTarget(s.id)
	}
	return audit.PredictionTarget(s.prediction)
}

func (s subject) path() string {
	if s.market {
		return marketPath(s.id)
	}
	return predictionPath(s.prediction)
}

// kinds returns the rulings that are possible on the subject.
func (s subject) kinds() []string {
	if s.market {
		return []string{settlement.KindMarketCorrected, settlement.KindMarketVoided}
	}
	return []string{settlement.KindPredictionSettled, settlement.KindPredictionChanged, settlement.KindPredictionVoided}
}

// read makes a ruling from a form. It needs the name of the outcome, or for a prediction without a
// market a value instead. A void needs neither.
func (s subject) read(kind, outcome, value string) (moderation.Ruling, error) {
	r := moderation.Ruling{Kind: kind, Subject: s.id}
	switch {
	case !slices.Contains(s.kinds(), kind):
		return r, problem.InvalidRequest(problem.Field{Field: "kind", Message: "must be a ruling that the page offers"})
	case kind == settlement.KindPredictionVoided || kind == settlement.KindMarketVoided:
	case value != "":
		y, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return r, problem.InvalidRequest(
				problem.Field{Field: "value", Message: "must be a number from 0 to 1, like 0.4"},
			)
		}
		r.Value = &y
	default:
		r.Outcome = outcome
	}
	return r, nil
}

// ruling shows a prediction or a market and its possible rulings. If the address holds a ruling,
// the page also shows what that would change.
func (d *Site) ruling(v *visit) error {
	s, err := pathSubject(v)
	if err != nil {
		return err
	}
	q, err := readQuery(v.Ctx, "kind", "outcome", "value", "note")
	if err != nil {
		return err
	}
	p := views.RulingProps{Kind: q.get("kind"), Outcome: q.get("outcome"), Number: q.get("value"), Note: q.get("note")}
	title := ""
	if s.market {
		title, err = d.addMarket(v, s, &p)
	} else {
		title, err = d.addPrediction(v, s, &p)
	}
	if err != nil {
		return err
	}
	p.Frame = d.frame(v, title, settlementPath)
	if p.Kind != "" {
		if err := d.addPreview(v, s, &p); err != nil {
			return err
		}
	}
	if p.Log, err = d.entriesOn(v.UserContext(), s.target(), logSize); err != nil {
		return err
	}
	return show(v.Ctx, views.Ruling(p))
}

// addPreview adds what the ruling would change, or its refusal.
func (d *Site) addPreview(v *visit, s subject, p *views.RulingProps) error {
	r, err := s.read(p.Kind, p.Outcome, p.Number)
	var change settlement.Change
	if err == nil {
		change, err = d.Moderation.PreviewRuling(v.UserContext(), r)
	}
	if refusal, ok := errors.AsType[*problem.Error](err); ok && refusal.Status < 500 {
		p.Error = refusal.Detail
		return nil
	}
	if err != nil {
		return err
	}
	p.Preview = &views.Preview{
		Kind: settlement.KindWords(p.Kind), From: change.From, To: change.To, Market: s.market,
		Open: change.Open, Resolved: change.Resolved, Void: change.Void,
	}
	return nil
}

func (d *Site) addMarket(v *visit, s subject, p *views.RulingProps) (title string, err error) {
	m, found, err := d.markets.ByID(v.UserContext(), d.DB.Reader, s.id)
	if err != nil {
		return "", err
	}
	if !found {
		return "", problem.NotFound("There is no market with this id.")
	}
	p.Market = &views.RulingMarket{ID: m.ID, Question: m.Question, Closed: m.Closed, Resolution: m.Resolution,
		ClosesAt: m.ClosesAt, ClosedAt: m.ClosedAt, SeenAt: m.ObservedAt, Rules: m.Description}
	for i, name := range m.Outcomes {
		o := views.OutcomePrice{Name: name}
		if price, ok := m.PriceOf(i); ok {
			o.Price = &price
		}
		p.Market.Outcomes = append(p.Market.Outcomes, o)
	}
	outcome, err := settlement.OutcomeOf(v.UserContext(), d.DB.Reader, s.id)
	if err == nil && outcome != nil {
		p.Market.Decided, p.Market.ByAdmin, p.Market.Reason = outcome.String(), outcome.Ruled(), outcome.Note
	}
	return m.Question, err
}

func (d *Site) addPrediction(v *visit, s subject, p *views.RulingProps) (title string, err error) {
	r, err := d.predictions.ByID(v.UserContext(), d.DB.Reader, s.prediction)
	if err != nil {
		return "", err
	}
	if r == nil {
		return "", prediction.NotFound()
	}
	p.Prediction = rulingPrediction(r)
	p.Disputes, err = d.disputes(v.UserContext(), s.prediction)
	return r.Title, err
}

func rulingPrediction(r *prediction.Record) *views.RulingPrediction {
	return &views.RulingPrediction{
		ID: r.ID.String(), Title: r.Title, Thesis: r.Thesis, AgentHandle: r.Agent.Handle, AgentName: r.Agent.Name,
		Confidence: r.Confidence, Status: string(r.Status), MarketID: r.MarketID, Outcome: r.Outcome,
		Value: r.ResolutionValue, Happened: r.ResolutionOutcome, Source: r.ResolutionSource, Reason: r.ResolutionNote, Ruled: r.Ruled,
		Brier: r.Brier, Edge: points(r.Edge), Hidden: r.HiddenAlone, TextsHidden: r.Agent.Visibility.HidesTexts(), Until: until(r), HorizonAt: r.HorizonAt, CreatedAt: r.CreatedAt,
	}
}

func points(p *score.Points) *float64 {
	if p == nil {
		return nil
	}
	return new(p.Float())
}

// rule carries a ruling out, if its effect is still what the admin saw.
func (d *Site) rule(v *visit) error {
	s, err := pathSubject(v)
	if err != nil {
		return err
	}
	r, err := s.read(v.form("kind"), v.form("outcome"), v.form("value"))
	if err == nil {
		err = d.Moderation.Rule(v.UserContext(), v.bySeen(), r)
	}
	return d.afterAct(v, true, err, s.target(), s.path(), "ruled")
}

// setHidden hides a prediction's text or shows it again.
func (d *Site) setHidden(v *visit) error {
	id, err := prediction.ParseID(v.param("id"))
	if err != nil {
		return err
	}
	act, word := d.Moderation.ShowPrediction, "shown"
	if v.form("hidden") == "true" {
		act, word = d.Moderation.HidePrediction, "hidden"
	}
	err = act(v.UserContext(), v.by(), id)
	return d.afterAct(v, true, err, audit.PredictionTarget(id), predictionPath(id), word)
}
