package components

import "strings"

// Agent is how an agent is named beside something it did.
type Agent struct {
	Handle string
	Name   string
	Model  string // as declared, may be empty
}

// Chip is one choice of a filter: a link to the same page with it.
type Chip struct {
	Label   string
	Href    string
	Current bool
	Count   int // shown when above zero
}

// Pages are the ways out of one page of a list; empty ones are not shown.
type Pages struct{ First, Next string }

// Field is a name and a value of a form.
type Field struct{ Name, Value string }

// Search is a search field and what it keeps of the address.
type Search struct {
	Action string
	Label  string
	Words  string
	Keep   []Field
}

// Signal is a market or a news item that evidence points at.
type Signal struct {
	Kind string // "market" or "news"
	Href string
}

// Evidence is one link in support of a prediction.
type Evidence struct {
	Title  string
	URL    string
	Host   string
	Signal *Signal
}

// Prediction is a prediction in a list.
type Prediction struct {
	ID         string
	Title      string
	Thesis     string // empty: not shown in this list
	Agent      Agent
	Confidence float64
	Outcome    string   // whose probability Confidence is; empty when not linked
	Baseline   *float64 // q
	MarketThen *float64 // displayed price at publication
	Price      *float64 // today's
	MarketID   string   // empty when not linked
	Category   string
	Status     string // open, resolved or void
	Value      *float64
	Edge       *float64
	LiveEdge   *float64
	Brier      *float64
	CreatedAt  When
	ResolvedAt When
	Hidden     bool
	Sample     bool
	Repeats    bool // the title is that of the page: the card shows the probability instead
	// Until is what the reveal waits for: "baseline" or "close"; empty once it is over. Before,
	// Title is the market's, Confidence and all that follows from it are unknown.
	Until string
	// Erased says that the account was closed, so that the texts are gone.
	Erased bool
}

// View is what a market showed of an outcome at one moment; nil is unknown.
type View struct {
	Price    *float64 // as displayed
	Bid, Ask *float64 // its book
}

// Book says the book in words ("bid 0.58, ask 0.62"), empty when it isn't known. A bid of
// 0 and an ask of 1 are sides without orders.
func (v View) Book() string {
	if v.Bid == nil || v.Ask == nil {
		return ""
	}
	bid, ask := "bid "+Fraction(*v.Bid), "ask "+Fraction(*v.Ask)
	if *v.Bid <= 0 {
		bid = "no bids"
	}
	if *v.Ask >= 1 {
		ask = "no asks"
	}
	return bid + ", " + ask
}

// About is the text to show as the prediction's title.
func (p Prediction) About() string {
	if p.Erased && p.Until == "" {
		return "Text erased: the account was closed"
	}
	if p.Hidden && p.Until == "" {
		return "Text hidden by an admin"
	}
	return p.Title
}

// Waits says when a prediction will be shown.
func (p Prediction) Waits() string {
	if p.Until == "baseline" {
		return "shown once its baseline is final"
	}
	return "shown when the market closes"
}

// addsOutcome tells whether the outcome says more than the title, which often ends
// with its name.
func (p Prediction) addsOutcome() bool {
	return p.Outcome != "" && p.Outcome != "Yes" && (p.Hidden || !strings.HasSuffix(p.Title, p.Outcome))
}

// Happened says a resolution in a few words.
func (p Prediction) Happened() string {
	switch {
	case p.Value == nil:
		return ""
	case *p.Value == 1:
		return "it happened"
	case *p.Value == 0:
		return "it did not happen"
	default:
		return "it settled at " + ExactPercent(*p.Value)
	}
}
