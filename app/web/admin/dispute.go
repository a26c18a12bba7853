package admin

import (
	"net/url"
	"strings"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// disputeNote is the reason that the previews of a disputed settlement begin with; an
// admin writes a better one there.
const disputeNote = "Its author disputed the settlement: "

func (d *Desk) disputeProps(list []domain.Dispute) []views.Dispute {
	out := make([]views.Dispute, len(list))
	for i := range list {
		x := &list[i]
		p := &x.Prediction
		out[i] = views.Dispute{
			ID: x.ID.String(), Text: x.Text, Author: x.Author, Title: p.Title, Href: predictionPath(p.ID), At: d.when(x.CreatedAt),
			Says: components.ExactPercent(p.Confidence), Outcome: p.Outcome, Settled: settledWords(x), Rulings: disputeRulings(x),
		}
		if x.Market != nil {
			out[i].Market, out[i].MarketHref = x.Market.Question, marketPath(x.Market.ID)
		}
	}
	return out
}

// settledWords is how a disputed prediction stands now.
func settledWords(x *domain.Dispute) string {
	p := &x.Prediction
	if p.ResolutionValue == nil {
		return string(p.Status)
	}
	words := components.Fraction(*p.ResolutionValue)
	if p.ResolutionOutcome != "" {
		words = p.ResolutionOutcome
	}
	if p.ResolutionSource == "admin" {
		return words + ", by an admin"
	}
	return words + ", by the market"
}

// disputeRulings are the previews of what could be ruled instead.
func disputeRulings(x *domain.Dispute) []views.Link {
	p := &x.Prediction
	note := disputeNote + strings.Join(strings.Fields(x.Text), " ")
	if runes := []rune(note); len(runes) > domain.MaxNote {
		note = string(runes[:domain.MaxNote-1]) + "…"
	}
	preview := func(path, kind, outcome string) string {
		return path + "?" + url.Values{"kind": {kind}, "outcome": {outcome}, "note": {note}}.Encode()
	}
	var list []views.Link
	if x.Market == nil {
		for _, outcome := range []string{"Yes", "No"} {
			if outcome != p.ResolutionOutcome {
				list = append(list, views.Link{Label: "Correct to " + outcome, Href: preview(predictionPath(p.ID), settlement.KindPredictionChanged, outcome)})
			}
		}
	} else {
		for _, outcome := range x.Market.Outcomes[:min(len(x.Market.Outcomes), maxDisputeOutcomes)] {
			if outcome != p.ResolutionOutcome {
				list = append(list, views.Link{Label: "Correct the market to " + outcome, Href: preview(marketPath(x.Market.ID), settlement.KindMarketCorrected, outcome)})
			}
		}
	}
	if p.Status != "void" {
		list = append(list, views.Link{Label: "Void the prediction", Href: preview(predictionPath(p.ID), settlement.KindPredictionVoided, "")})
	}
	return list
}

// maxDisputeOutcomes bounds the previews offered; the market's own page has them all.
const maxDisputeOutcomes = 4
