package admin

import (
	"net/url"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// SettlementProps lists what needs a ruling.
type SettlementProps struct {
	Frame       Frame
	Listed      int // the most that are listed of each kind; one more means that there are more
	Disputes    []Dispute
	Reports     []Report
	Due         []DuePrediction
	Markets     []WaitingMarket
	Corrections []Correction
}

// Report is one complaint about a prediction. Reporter is an agent's handle, or "" for a reader of
// the site.
type Report struct {
	ID, Kind, Text, Reporter, Prediction, Title string
	At                                          time.Time
}

// DuePrediction is a prediction without a market whose horizon has passed.
type DuePrediction struct {
	ID, Title  string
	Confidence float64
	HorizonAt  time.Time
}

// WaitingMarket is a market that doesn't settle, and the reason.
type WaitingMarket struct {
	ID, Question, Reason string
	ClosedAt, SeenAt     time.Time
}

// Correction is a change of a settlement. PredictionID is "" if it is about a market.
type Correction struct {
	Kind                                string // in words
	MarketID, PredictionID, Actor, Note string
	At                                  time.Time
}

// Dispute is an author's objection to how a prediction was settled.
type Dispute struct {
	ID, Text, Author    string
	PredictionID, Title string
	Confidence          float64
	Outcome             string // outcome that the prediction is about; "" without a market
	Status              string
	Value               *float64 // how far it happened, 0..1
	Happened            string   // name of the winning outcome
	ByAdmin             bool     // an admin settled it
	MarketID, Market    string   // "" if not about a market
	MarketOutcomes      []string
	At                  time.Time
}

// first returns the first n of a list.
func first[T any](list []T, n int) []T { return list[:min(n, len(list))] }

func predictionPath(id string) string { return "/admin/settlement/predictions/" + id }
func marketPath(id string) string     { return "/admin/settlement/markets/" + url.PathEscape(id) }

var reasonWords = map[string]string{
	"vanished":     "not seen for a day",
	"contested":    "result proposed or disputed",
	"unknown":      "closed without prices",
	"undecided":    "closed without a clear result",
	"outcome_gone": "an outcome with predictions no longer exists",
}

// ReasonWords returns the reason why a market waits in words, or "" for an unknown reason.
func ReasonWords(reason string) string { return reasonWords[reason] }

func (p *SettlementProps) due() table {
	t := table{empty: "Nothing is due", heads: []head{{label: "Question"}, {label: "Says", num: true}, {label: "Horizon"}}}
	for _, r := range first(p.Due, p.Listed) {
		t.rows = append(t.rows, []cell{{text: r.Title, href: predictionPath(r.ID)}, text(components.Percent(r.Confidence)), p.Frame.moment(r.HorizonAt)})
	}
	return t
}

func (p *SettlementProps) markets() table {
	t := table{empty: "No market needs a ruling", heads: []head{{label: "Market"}, {label: "Why"},
		{label: "Closed", wide: true}, {label: "Last seen"}}}
	for _, m := range first(p.Markets, p.Listed) {
		t.rows = append(t.rows, []cell{{text: m.Question, href: marketPath(m.ID)}, {
			text: reasonWords[m.Reason], badge: "badge-provisional",
		},
			p.Frame.moment(m.ClosedAt), p.Frame.moment(m.SeenAt)})
	}
	return t
}

func (p *SettlementProps) corrections() table {
	t := table{empty: "No corrections yet", heads: []head{{label: "What"}, {label: "On"}, {label: "By"},
		{label: "Reason", wide: true}, {label: "When"}}}
	for _, c := range p.Corrections {
		on := cell{text: "market " + c.MarketID, href: marketPath(c.MarketID)}
		if c.PredictionID != "" {
			on = cell{text: "prediction " + c.PredictionID[:8] + "…", href: predictionPath(c.PredictionID)}
		}
		t.rows = append(t.rows, []cell{text(c.Kind), on, text(c.Actor), text(c.Note), p.Frame.moment(c.At)})
	}
	return t
}

// settled says how the prediction was settled.
func (d *Dispute) settled() string {
	if d.Value == nil {
		return d.Status
	}
	words := components.Fraction(*d.Value)
	if d.Happened != "" {
		words = d.Happened
	}
	if d.ByAdmin {
		return words + ", by an admin"
	}
	return words + ", by the market"
}

const (
	// disputeNote begins the reason that the previews of a dispute suggest.
	disputeNote = "The author disputed the settlement: "
	// maxNote is the greatest length of a reason, in characters.
	maxNote = 1000
	// maxDisputeOutcomes bounds the previews offered for a dispute. The market's own page offers
	// all outcomes.
	maxDisputeOutcomes = 4
)

// link is a link to a page.
type link struct{ label, href string }

// rulings returns links to previews of other rulings on the disputed prediction.
func (d *Dispute) rulings() (list []link) {
	note := disputeNote + strings.Join(strings.Fields(d.Text), " ")
	if runes := []rune(note); len(runes) > maxNote {
		note = string(runes[:maxNote-1]) + "…"
	}
	add := func(label, path, kind, outcome string) {
		list = append(
			list, link{label, path + "?" + url.Values{"kind": {kind}, "outcome": {outcome}, "note": {note}}.Encode()},
		)
	}
	prediction := predictionPath(d.PredictionID)
	if d.MarketID == "" {
		for _, outcome := range []string{"Yes", "No"} {
			if outcome != d.Happened {
				add("Correct to "+outcome, prediction, "prediction_corrected", outcome)
			}
		}
	}
	for _, outcome := range d.MarketOutcomes[:min(len(d.MarketOutcomes), maxDisputeOutcomes)] {
		if outcome != d.Happened {
			add("Correct the market to "+outcome, marketPath(d.MarketID), "market_corrected", outcome)
		}
	}
	if d.Status != "void" {
		add("Void the prediction", prediction, "prediction_voided", "")
	}
	return list
}
