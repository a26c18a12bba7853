package admin

import (
	"net/url"
	"strings"

	"github.com/google/uuid"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// queueSize is how many of each kind the queue shows.
const queueSize = 100

func predictionPath(id uuid.UUID) string { return "/admin/settlement/predictions/" + id.String() }
func marketPath(id string) string        { return "/admin/settlement/markets/" + url.PathEscape(id) }

var kindWords = map[string]string{
	settlement.KindMarketChanged:     "outcome changed",
	settlement.KindMarketReopened:    "reopened",
	settlement.KindMarketCorrected:   "outcome corrected",
	settlement.KindMarketVoided:      "market void",
	settlement.KindPredictionSettled: "settled",
	settlement.KindPredictionChanged: "result corrected",
	settlement.KindPredictionVoided:  "prediction void",
}

var reasonWords = map[string]string{
	settlement.ReasonVanished:    "not seen for a day",
	settlement.ReasonContested:   "result proposed or disputed",
	settlement.ReasonUnknown:     "closed without prices",
	settlement.ReasonUndecided:   "closed without a clear result",
	settlement.ReasonOutcomeGone: "an outcome predicted upon is gone",
}

func (d *Desk) settlement(v *visit) error {
	ctx, db := v.UserContext(), d.DB.Reader
	p := views.SettlementProps{Frame: d.frame(v, "Settlement", "/admin/settlement")}
	reports, err := d.admins.OpenReports(ctx, db, queueSize)
	if err != nil {
		return err
	}
	for _, r := range reports {
		p.Reports = append(p.Reports, views.Report{ID: r.ID.String(), Kind: string(r.Kind), Text: r.Text, Reporter: r.Reporter, Prediction: r.PredictionID.String(), Title: r.Title, At: d.when(r.CreatedAt)})
	}
	disputes, err := d.admins.Disputes(ctx, db, uuid.Nil, queueSize)
	if err != nil {
		return err
	}
	p.Disputes = d.disputeProps(disputes)
	due, err := d.predictions.Due(ctx, db, d.Now(), queueSize)
	if err != nil {
		return err
	}
	p.Due = views.Table{Empty: "Nothing is due", Heads: []views.Head{{Label: "Question"}, {Label: "Says", Num: true}, {Label: "Horizon"}}}
	for _, r := range due {
		p.Due.Rows = append(p.Due.Rows, []views.Cell{{Text: r.Title, Href: predictionPath(r.ID)}, {Text: components.Percent(r.Confidence), Num: true}, d.moment(r.HorizonAt)})
	}
	stuck, err := d.Settlement.Waiting(ctx, queueSize)
	if err != nil {
		return err
	}
	p.Markets = views.Table{Empty: "Every market settles by itself", Heads: []views.Head{{Label: "Market"}, {Label: "Why"}, {Label: "Closed", Wide: true}, {Label: "Last seen"}}}
	for _, s := range stuck {
		closed := d.moment(s.Market.ClosedAt)
		closed.Wide = true
		p.Markets.Rows = append(p.Markets.Rows, []views.Cell{{Text: s.Market.Question, Href: marketPath(s.Market.ID)}, {Text: reasonWords[s.Reason], Badge: "badge-provisional"}, closed, d.moment(s.Market.ObservedAt)})
	}
	changes, err := settlement.Changes(ctx, db, 50)
	if err != nil {
		return err
	}
	p.Corrections = d.correctionTable(changes)
	return show(v.Ctx, views.Settlement(p))
}

func (d *Desk) correctionTable(list []settlement.Correction) views.Table {
	t := views.Table{Empty: "Nothing was corrected", Heads: []views.Head{{Label: "What"}, {Label: "On"}, {Label: "By"}, {Label: "Reason", Wide: true}, {Label: "When"}}}
	for _, c := range list {
		on := views.Cell{Text: "market " + c.MarketID, Href: marketPath(c.MarketID)}
		if c.PredictionID != uuid.Nil {
			on = views.Cell{Text: "prediction " + c.PredictionID.String()[:8] + "…", Href: predictionPath(c.PredictionID)}
		}
		t.Rows = append(t.Rows, []views.Cell{{Text: kindWords[c.Kind]}, on, {Text: c.Actor}, {Text: c.Note, Wide: true}, d.moment(c.CreatedAt)})
	}
	return t
}

// find leads to the page of an id or of a public address.
func (d *Desk) find(v *visit) error {
	q, err := readQuery(v.Ctx, "id")
	if err != nil {
		return err
	}
	text := q.get("id")
	if u, err := url.Parse(text); err == nil {
		text = u.Path[strings.LastIndex(u.Path, "/")+1:]
	}
	if id, err := uuid.Parse(text); err == nil {
		return v.Redirect(predictionPath(id), 303)
	}
	if _, found, err := d.markets.ByID(v.UserContext(), d.DB.Reader, text); err != nil || found {
		if err != nil {
			return err
		}
		return v.Redirect(marketPath(text), 303)
	}
	return problem.NotFound("There is no prediction and no market with this id.")
}

// entryTarget names what the address is about, for the audit log.
func entryTarget(v *visit) (name string, err error) {
	id := v.param("id")
	switch v.param("kind") {
	case "predictions":
		one, err := uuid.Parse(id)
		if err != nil {
			return "", problem.NotFound("There is no prediction with this id.")
		}
		return domain.PredictionTarget(one), nil
	case "markets":
		return domain.MarketTarget(id), nil
	}
	return "", nowhere(v)
}
