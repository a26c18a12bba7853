package admin

import (
	"context"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
)

const (
	settlementPath = "/admin/settlement"
	queueSize      = 100 // of each kind; one more is read, to know whether there are more
	correctionSize = 50
)

func predictionPath(id uuid.UUID) string { return settlementPath + "/predictions/" + id.String() }
func marketPath(id string) string        { return settlementPath + "/markets/" + url.PathEscape(id) }

func (d *Site) settlement(v *visit) error {
	p := views.SettlementProps{Frame: d.frame(v, "Settlement", settlementPath), Listed: queueSize}
	for _, add := range []func(context.Context, *views.SettlementProps) error{d.addReports, d.addDue, d.addMarkets, d.addCorrections} {
		if err := add(v.UserContext(), &p); err != nil {
			return err
		}
	}
	var err error
	if p.Disputes, err = d.disputes(v.UserContext(), uuid.Nil); err != nil {
		return err
	}
	return show(v.Ctx, views.Settlement(p))
}

func (d *Site) addReports(ctx context.Context, p *views.SettlementProps) error {
	reports, err := d.Moderation.OpenReports(ctx, queueSize+1)
	for _, r := range reports {
		p.Reports = append(p.Reports, views.Report{ID: r.ID.String(), Kind: string(r.Kind), Text: r.Text, Reporter: r.Reporter,
			Prediction: r.PredictionID.String(), Title: r.Title, At: r.CreatedAt})
	}
	return err
}

func (d *Site) addDue(ctx context.Context, p *views.SettlementProps) error {
	due, err := d.predictions.Due(ctx, d.DB.Reader, d.Now(), queueSize+1)
	for _, r := range due {
		p.Due = append(p.Due, views.DuePrediction{
			ID: r.ID.String(), Title: r.Title, Confidence: r.Confidence, HorizonAt: r.HorizonAt,
		})
	}
	return err
}

func (d *Site) addMarkets(ctx context.Context, p *views.SettlementProps) error {
	waiting, err := d.Settlement.Waiting(ctx, queueSize+1)
	for _, w := range waiting {
		p.Markets = append(p.Markets, views.WaitingMarket{ID: w.Market.ID, Question: w.Market.Question, Reason: w.Reason,
			ClosedAt: w.Market.ClosedAt, SeenAt: w.Market.ObservedAt})
	}
	return err
}

func (d *Site) addCorrections(ctx context.Context, p *views.SettlementProps) error {
	list, _, err := settlement.Corrections(ctx, d.DB.Reader, settlement.CorrectionFilter{Limit: correctionSize})
	for _, c := range list {
		out := views.Correction{Kind: settlement.KindWords(c.Kind), MarketID: c.MarketID, Actor: c.Actor, Note: c.Note, At: c.CreatedAt}
		if c.PredictionID != uuid.Nil {
			out.PredictionID = c.PredictionID.String()
		}
		p.Corrections = append(p.Corrections, out)
	}
	return err
}

// disputes reads the open disputes. If about isn't uuid.Nil, it reads only those about that
// prediction.
func (d *Site) disputes(ctx context.Context, about uuid.UUID) ([]views.Dispute, error) {
	list, err := d.Moderation.Disputes(ctx, about, queueSize+1)
	out := make([]views.Dispute, len(list))
	for i := range list {
		out[i] = disputeProps(&list[i])
	}
	return out, err
}

func disputeProps(x *moderation.Dispute) views.Dispute {
	p := &x.Prediction
	out := views.Dispute{
		ID: x.ID.String(), Text: x.Text, Author: x.Author, At: x.CreatedAt, PredictionID: p.ID.String(), Title: p.Title,
		Confidence: p.Confidence, Outcome: p.Outcome, Status: string(p.Status), Value: p.ResolutionValue,
		Happened: p.ResolutionOutcome, ByAdmin: p.ResolutionSource == "admin",
	}
	if x.Market != nil {
		out.MarketID, out.Market, out.MarketOutcomes = x.Market.ID, x.Market.Question, x.Market.Outcomes
	}
	return out
}

// find redirects to the page of an id or of a public address.
func (d *Site) find(v *visit) error {
	q, err := readQuery(v.Ctx, "id")
	if err != nil {
		return err
	}
	text := q.get("id")
	if u, err := url.Parse(text); err == nil {
		text = u.Path[strings.LastIndex(u.Path, "/")+1:]
	}
	if id, err := uuid.Parse(text); err == nil {
		return redirect(v.Ctx, predictionPath(id), "")
	}
	_, found, err := d.markets.ByID(v.UserContext(), d.DB.Reader, text)
	if err != nil {
		return err
	}
	if !found {
		return problem.NotFound("There is no prediction and no market with this id.")
	}
	return redirect(v.Ctx, marketPath(text), "")
}

// closeReport answers and closes a report.
func (d *Site) closeReport(v *visit) error {
	id, err := uuid.Parse(v.param("id"))
	if err != nil {
		return problem.NotFound("There is no report with this id.")
	}
	if err := d.Moderation.CloseReport(v.UserContext(), v.by(), id); err != nil {
		return about(err, audit.ReportTarget(id), settlementPath)
	}
	return redirect(v.Ctx, settlementPath, "reported")
}
