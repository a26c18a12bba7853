package admin

import (
	"context"
	"errors"
	"net/url"
	"strconv"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

var (
	settle            = views.Choice{Value: settlement.KindPredictionSettled, Label: "Settle"}
	correctPrediction = views.Choice{Value: settlement.KindPredictionChanged, Label: "Correct the result"}
	voidPrediction    = views.Choice{Value: settlement.KindPredictionVoided, Label: "Void: take it out of all scores"}
	correctMarket     = views.Choice{Value: settlement.KindMarketCorrected, Label: "Settle or correct the outcome"}
	voidMarket        = views.Choice{Value: settlement.KindMarketVoided, Label: "Void: take all its predictions out of all scores"}
)

// ruling shows a prediction or a market, what can be ruled, and, when the address
// holds a ruling, what it would change.
func (d *Desk) ruling(v *visit) error {
	name, err := entryTarget(v)
	if err != nil {
		return err
	}
	q, err := readQuery(v.Ctx, "kind", "outcome", "value", "note")
	if err != nil {
		return err
	}
	p := views.RulingProps{Frame: d.frame(v, "Ruling", "/admin/settlement"), Outcome: q.get("outcome"), Number: q.get("value"), Note: q.get("note")}
	if v.param("kind") == "markets" {
		err = d.marketRuling(v, &p)
	} else {
		err = d.predictionRuling(v, &p)
	}
	if err != nil {
		return err
	}
	p.Frame.Title = p.Title
	selected(p.Kinds, q.get("kind"))
	selected(p.Options, p.Outcome)
	if q.get("kind") != "" {
		if err := d.preview(v, q.get("kind"), &p); err != nil {
			return err
		}
	}
	if p.Log, err = d.logOf(v.UserContext(), name); err != nil {
		return err
	}
	return show(v.Ctx, views.Ruling(p))
}

func selected(list []views.Choice, value string) {
	for i := range list {
		list[i].Selected = list[i].Value == value
	}
}

// preview asks what the ruling would change; a refusal is shown beside the form.
func (d *Desk) preview(v *visit, kind string, p *views.RulingProps) error {
	r, err := readRuling(p.Outcome, p.Number, kind)
	var change settlement.Change
	if err == nil {
		change, err = d.Settlement.Preview(v.UserContext(), kind, v.param("id"), r)
	}
	if refusal, ok := errors.AsType[*problem.Error](err); ok && refusal.Status < 500 {
		p.Error = refusal.Detail
		return nil
	}
	if err != nil {
		return err
	}
	p.Preview = &views.Preview{Kind: kind, Words: kindWords[kind], From: change.From, To: change.To,
		Open: change.Open, Resolved: change.Resolved, Void: change.Void, Market: change.PredictionID == uuid.Nil}
	return nil
}

// readRuling reads what happened: a name, or for a prediction without a market a
// value instead. A void needs neither.
func readRuling(outcome, value, kind string) (settlement.Ruling, error) {
	var r settlement.Ruling
	switch {
	case kind == settlement.KindPredictionVoided || kind == settlement.KindMarketVoided:
	case value != "":
		y, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return r, problem.InvalidRequest(problem.Field{Field: "value", Message: "must be a number from 0 to 1, like 0.4"})
		}
		r.Value = &y
	default:
		r.Outcome = outcome
	}
	return r, nil
}

func (d *Desk) marketRuling(v *visit, p *views.RulingProps) error {
	ctx, id := v.UserContext(), v.param("id")
	m, found, err := d.markets.ByID(ctx, d.DB.Reader, id)
	if err != nil {
		return err
	}
	if !found {
		return problem.NotFound("There is no market with this id.")
	}
	p.Path, p.Title, p.Public = marketPath(id), m.Question, "/markets/"+url.PathEscape(id)
	p.Kinds = []views.Choice{correctMarket, voidMarket}
	for _, o := range m.Outcomes {
		p.Options = append(p.Options, views.Choice{Value: o, Label: o})
	}
	state := "open"
	if m.Closed {
		state = "closed"
	}
	if m.Resolution != "" {
		state += ", " + m.Resolution
	}
	outcome, err := settlement.OutcomeOf(ctx, d.DB.Reader, id)
	if err != nil {
		return err
	}
	here := "nothing yet"
	if outcome != nil {
		here = outcome.String()
		if outcome.Ruled() {
			here += ", by an admin"
		}
	}
	p.Facts = []views.Fact{{Name: "Id", Cell: views.Cell{Text: m.ID}}, {Name: "Upstream", Cell: views.Cell{Text: state}}, {Name: "Decided here", Cell: views.Cell{Text: here}}}
	if outcome != nil && outcome.Note != "" {
		p.Facts = append(p.Facts, views.Fact{Name: "Reason", Cell: views.Cell{Text: outcome.Note}})
	}
	for i, o := range m.Outcomes {
		text := "no price"
		if price, ok := m.PriceOf(i); ok {
			text = components.ExactPercent(price)
		}
		p.Facts = append(p.Facts, views.Fact{Name: o, Cell: views.Cell{Text: text}})
	}
	p.Facts = append(p.Facts, views.Fact{Name: "Scheduled", Cell: d.moment(m.ClosesAt)}, views.Fact{Name: "Closed", Cell: d.moment(m.ClosedAt)},
		views.Fact{Name: "Last seen", Cell: d.moment(m.ObservedAt)}, views.Fact{Name: "Rules", Cell: views.Cell{Text: m.Description}})
	return nil
}

func (d *Desk) predictionRuling(v *visit, p *views.RulingProps) error {
	id, err := uuid.Parse(v.param("id"))
	if err != nil {
		return problem.NotFound("There is no prediction with this id.")
	}
	r, err := d.predictions.ByID(v.UserContext(), d.DB.Reader, id)
	if err != nil {
		return err
	}
	if r == nil {
		return problem.NotFound("There is no prediction with this id.")
	}
	disputes, err := d.admins.Disputes(v.UserContext(), d.DB.Reader, id, queueSize)
	if err != nil {
		return err
	}
	p.Disputes = d.disputeProps(disputes)
	p.Path, p.Title, p.Public, p.Hidden = predictionPath(id), r.Title, "/predictions/"+id.String(), r.Hidden
	p.Facts = d.predictionFacts(r)
	linked := r.MarketID != ""
	switch {
	case linked:
	case r.Status == prediction.Open:
		p.Kinds = append(p.Kinds, settle)
	default:
		p.Kinds = append(p.Kinds, correctPrediction)
	}
	if r.Status != prediction.Void {
		p.Kinds = append(p.Kinds, voidPrediction)
	}
	if !linked {
		p.Value = true
		p.Options = []views.Choice{{Value: "Yes", Label: "Yes, it happened"}, {Value: "No", Label: "No, it did not"}}
		if p.Number != "" {
			p.Outcome = ""
		}
	}
	p.Hide = &views.Button{Action: p.Path + "/text", Label: "Hide the text", Danger: true, Fields: []components.Field{{Name: "hidden", Value: "true"}}}
	if r.Hidden {
		p.Hide = &views.Button{Action: p.Path + "/text", Label: "Show the text again", Fields: []components.Field{{Name: "hidden", Value: "false"}}}
	}
	return nil
}

func (d *Desk) predictionFacts(r *prediction.Record) []views.Fact {
	list := []views.Fact{
		{Name: "Agent", Cell: views.Cell{Text: r.Agent.Name, Href: agentPath(&r.Agent)}},
		{Name: "Says", Cell: views.Cell{Text: components.ExactPercent(r.Confidence)}},
		{Name: "Status", Cell: views.Cell{Text: string(r.Status), Badge: "badge-" + string(r.Status)}},
		{Name: "Horizon", Cell: d.moment(r.HorizonAt)},
		{Name: "Published", Cell: d.moment(r.CreatedAt)},
	}
	add := func(name, text string) {
		if text != "" {
			list = append(list, views.Fact{Name: name, Cell: views.Cell{Text: text}})
		}
	}
	if r.MarketID != "" {
		list = append(list, views.Fact{Name: "Market", Cell: views.Cell{Text: r.MarketID, Href: marketPath(r.MarketID)}})
		add("Outcome", r.Outcome)
	}
	if r.ResolutionValue != nil {
		add("Result", components.Fraction(*r.ResolutionValue)+" "+r.ResolutionOutcome)
	}
	add("Decided by", r.ResolutionSource)
	add("Why", r.ResolutionNote)
	add("Brier", figure(r.Brier, components.Brier).Text)
	if r.Edge != nil {
		add("Edge", components.Signed(r.Edge.Float(), 2))
	}
	if r.Hidden {
		add("Text", "hidden from the public")
	}
	add("Thesis", r.Thesis)
	return list
}

// rule carries a ruling out, if it still changes what the admin saw.
func (d *Desk) rule(v *visit) error {
	name, err := entryTarget(v)
	if err != nil {
		return err
	}
	path := "/admin/settlement/" + v.param("kind") + "/" + url.PathEscape(v.param("id"))
	kind := v.form("kind")
	r, err := readRuling(v.form("outcome"), v.form("value"), kind)
	if err == nil {
		r.Note, err = domain.CheckText("note", v.form("note"), true)
	}
	if err != nil {
		return about(err, name, path)
	}
	r.Actor = v.admin.Name
	r.Record = func(ctx context.Context, tx bun.Tx, c settlement.Change) error {
		if seen := v.form("seen"); seen != c.From {
			return changedMeanwhile(seen, c.From)
		}
		e := d.entry(v, domain.ActRuling+"."+c.Kind, name)
		e.Before, e.After, e.Note = c.From, c.To, r.Note
		return d.admins.Record(ctx, tx, e)
	}
	if err := d.decide(v, kind, r); err != nil {
		return about(err, name, path)
	}
	return goOn(v.Ctx, path, "ruled")
}

func (d *Desk) decide(v *visit, kind string, r settlement.Ruling) (err error) {
	ctx, id := v.UserContext(), v.param("id")
	if v.param("kind") == "markets" {
		switch kind {
		case settlement.KindMarketCorrected:
			_, err = d.Settlement.CorrectMarket(ctx, id, r)
		case settlement.KindMarketVoided:
			_, err = d.Settlement.VoidMarket(ctx, id, r)
		default:
			err = noSuchRuling()
		}
		return err
	}
	one, err := uuid.Parse(id)
	if err != nil {
		return problem.NotFound("There is no prediction with this id.")
	}
	switch kind {
	case settlement.KindPredictionSettled:
		_, err = d.Settlement.Settle(ctx, one, r)
	case settlement.KindPredictionChanged:
		_, err = d.Settlement.CorrectPrediction(ctx, one, r)
	case settlement.KindPredictionVoided:
		_, err = d.Settlement.VoidPrediction(ctx, one, r)
	default:
		err = noSuchRuling()
	}
	return err
}

func noSuchRuling() error {
	return problem.InvalidRequest(problem.Field{Field: "kind", Message: "must be one of those the page offers"})
}

// hide takes a prediction's text out of sight or brings it back.
func (d *Desk) hide(v *visit) error {
	id, err := uuid.Parse(v.param("id"))
	if err != nil {
		return problem.NotFound("There is no prediction with this id.")
	}
	hidden := v.form("hidden") == "true"
	e := d.entry(v, domain.ActTextShown, domain.PredictionTarget(id))
	e.Before, e.After = "hidden", "shown"
	word := "shown"
	if hidden {
		e.Action, e.Before, e.After, word = domain.ActTextHidden, "shown", "hidden", "hidden"
	}
	if e.Note, err = domain.CheckText("note", v.form("note"), true); err == nil {
		err = d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) error {
			_, changed, err := d.predictions.Hide(ctx, tx, id, hidden)
			if err != nil {
				return err
			}
			if !changed {
				return changedMeanwhile(e.Before, e.After)
			}
			return d.admins.Record(ctx, tx, e)
		})
	}
	if err != nil {
		return about(err, e.Target, predictionPath(id))
	}
	d.recheck(v)
	return goOn(v.Ctx, predictionPath(id), word)
}

// closeReport answers a report.
func (d *Desk) closeReport(v *visit) error {
	id, err := uuid.Parse(v.param("id"))
	if err != nil {
		return problem.NotFound("There is no report with this id.")
	}
	e := d.entry(v, domain.ActReportClosed, domain.ReportTarget(id))
	if e.Note, err = domain.CheckText("note", v.form("note"), true); err == nil {
		err = d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) error {
			r, err := d.admins.CloseReport(ctx, tx, id, v.admin.Name, e.Note, d.Now())
			if err != nil {
				return err
			}
			e.Before, e.After = string(r.Kind)+" on prediction "+r.PredictionID.String(), "closed"
			return d.admins.Record(ctx, tx, e)
		})
	}
	if err != nil {
		return about(err, e.Target, "/admin/settlement")
	}
	return goOn(v.Ctx, "/admin/settlement", "reported")
}
