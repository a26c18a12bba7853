package admin

import (
	"net/url"
	"strconv"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// RulingProps is one prediction or one market, its possible rulings, and a preview.
type RulingProps struct {
	Frame      Frame
	Market     *RulingMarket // nil if Prediction is set
	Prediction *RulingPrediction
	Kind       string // the ruling in the form
	Outcome    string
	Number     string // value in the form, as typed: how far it happened
	Note       string
	Preview    *Preview
	Error      string    // why there is no preview
	Disputes   []Dispute // open disputes of the prediction
	Log        []Entry
}

// RulingMarket is the market of a RulingProps.
type RulingMarket struct {
	ID, Question               string
	Closed                     bool
	Resolution                 string // the source's outcome and state
	Decided                    string // the outcome decided here; "" if none
	ByAdmin                    bool
	Reason                     string
	Outcomes                   []OutcomePrice
	ClosesAt, ClosedAt, SeenAt time.Time
	Rules                      string
}

// OutcomePrice is an outcome of a market. Price is nil if it has none.
type OutcomePrice struct {
	Name  string
	Price *float64
}

// RulingPrediction is the prediction of a RulingProps.
type RulingPrediction struct {
	ID, Title, Thesis      string
	AgentHandle, AgentName string
	Confidence             float64
	Status                 string // "open", "resolved" or "void"
	MarketID, Outcome      string // "" if not about a market
	Value                  *float64
	Happened               string // name of the winning outcome
	Source, Reason         string // source of the result
	Ruled                  bool   // an admin ruled on this prediction alone, and not on its market
	Brier, Edge            *float64
	Hidden                 bool   // an admin has hidden this text, and not only all texts of its agent
	TextsHidden            bool   // all texts of its agent are hidden
	Until                  string // "baseline" or "close" while the prediction is not revealed, else ""
	HorizonAt, CreatedAt   time.Time
}

// Preview is what a ruling would change.
type Preview struct {
	Kind                 string // in words
	From, To             string
	Open, Resolved, Void int64
	Market               bool
}

func (p *RulingProps) title() string {
	if p.Market != nil {
		return p.Market.Question
	}
	return p.Prediction.Title
}

// path returns the address of this page.
func (p *RulingProps) path() string {
	if p.Market != nil {
		return marketPath(p.Market.ID)
	}
	return predictionPath(p.Prediction.ID)
}

// public returns the address of the public page.
func (p *RulingProps) public() string {
	if p.Market != nil {
		return "/markets/" + url.PathEscape(p.Market.ID)
	}
	return "/predictions/" + p.Prediction.ID
}

// unlinked returns whether this is a prediction without a market.
func (p *RulingProps) unlinked() bool { return p.Prediction != nil && p.Prediction.MarketID == "" }

func (p *RulingProps) kinds() []choice {
	if p.Market != nil {
		return choose([]choice{
			{value: "market_corrected", label: "Settle or correct the outcome"},
			{value: "market_voided", label: "Void: exclude its predictions from all scores"},
		}, p.Kind)
	}
	var list []choice
	switch {
	case !p.unlinked():
	case p.Prediction.Status == "open":
		list = append(list, choice{value: "prediction_settled", label: "Settle"})
	default:
		list = append(list, choice{value: "prediction_corrected", label: "Correct the result"})
	}
	if p.Prediction.Status != "void" {
		list = append(list, choice{value: "prediction_voided", label: "Void: exclude it from all scores"})
	}
	return choose(list, p.Kind)
}

// outcomes returns the possible outcomes.
func (p *RulingProps) outcomes() []choice {
	var list []choice
	switch {
	case p.Market != nil:
		for _, o := range p.Market.Outcomes {
			list = append(list, choice{value: o.Name, label: o.Name})
		}
	case p.unlinked():
		list = []choice{{value: "Yes", label: "Yes, it happened"}, {value: "No", label: "No, it didn't"}}
		if p.Number != "" {
			return list
		}
	}
	return choose(list, p.Outcome)
}

func (p *RulingProps) facts() facts {
	if p.Market != nil {
		return p.Market.facts(p.Frame)
	}
	return p.Prediction.facts(p.Frame)
}

func (m *RulingMarket) facts(f Frame) facts {
	upstream := "open"
	if m.Closed {
		upstream = "closed"
	}
	if m.Resolution != "" {
		upstream += ", " + m.Resolution
	}
	decided := "nothing yet"
	if m.Decided != "" {
		decided = m.Decided
		if m.ByAdmin {
			decided += ", by an admin"
		}
	}
	list := facts{{"Id", text(m.ID)}, {"Upstream", text(upstream)}, {"Decided here", text(decided)}}
	list.addText("Reason", m.Reason)
	for _, o := range m.Outcomes {
		price := text("no price")
		if o.Price != nil {
			price = text(components.ExactPercent(*o.Price))
		}
		list.add(o.Name, price)
	}
	list.add("Scheduled", f.moment(m.ClosesAt))
	list.add("Closed", f.moment(m.ClosedAt))
	list.add("Last seen", f.moment(m.SeenAt))
	list.add("Rules", text(m.Rules))
	return list
}

func (r *RulingPrediction) facts(f Frame) facts {
	list := facts{
		{"Agent", cell{text: r.AgentName, href: agentPath(r.AgentHandle)}},
		{"Says", text(components.ExactPercent(r.Confidence))},
		{"Status", statusBadge(r.Status)},
		{"Horizon", f.moment(r.HorizonAt)},
		{"Published", f.moment(r.CreatedAt)},
	}
	if r.MarketID != "" {
		list.add("Market", cell{text: r.MarketID, href: marketPath(r.MarketID)})
		list.addText("Outcome", r.Outcome)
	}
	if r.Value != nil {
		list.addText("Result", components.Fraction(*r.Value)+" "+r.Happened)
	}
	list.addText("Decided by", r.Source)
	list.addText("Why", r.Reason)
	list.addText("Brier", number(r.Brier, components.Brier).text)
	list.addText("Edge", number(r.Edge, func(v float64) string { return components.Signed(v, 2) }).text)
	if r.Hidden {
		list.addText("Text", "hidden from the public")
	}
	if r.Until != "" {
		list.addText("Reveal", "others see it at its "+r.Until)
	}
	if r.Thesis != "" {
		list.add("Thesis", cell{text: r.Thesis, lines: true})
	}
	return list
}

// affected says how many predictions a ruling on a market decides.
func (p *Preview) affected() string {
	n := p.Open + p.Resolved + p.Void
	return "It decides on " + components.Plural(int(n), "prediction", "predictions") + ": " + strconv.FormatInt(p.Open, 10) + " open, " +
		strconv.FormatInt(p.Resolved, 10) + " resolved, " + strconv.FormatInt(p.Void, 10) + " void. Their scores follow."
}
