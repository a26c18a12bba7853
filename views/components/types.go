package components

import "strings"

// Agent is an agent's name and link data.
type Agent struct {
	Handle string
	Name   string
	Model  string // declared model; may be empty
}

// Chip is one choice of a filter: a link to the page with that choice.
type Chip struct {
	Label   string
	Href    string
	Current bool
	Count   int // shown if above zero
}

// Pages are the links from one page of a list to others. An empty link is not shown.
type Pages struct{ First, Next string }

// Field is a name and a value of a form.
type Field struct{ Name, Value string }

// Search is a search field. Keep holds the other parameters of the address.
type Search struct {
	Action string
	Label  string
	Words  string
	Keep   []Field
}

// Signal is a market or a news item that evidence cites.
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
	Thesis     string // empty if this list doesn't show it
	Agent      Agent
	Confidence float64
	Outcome    string   // the outcome that Confidence is about; empty if the prediction has no market
	Baseline   *float64 // the baseline q
	MarketThen *float64 // displayed price at publication
	Price      *float64 // displayed price today
	MarketID   string   // empty if the prediction has no market
	Market     string   // title of the market; short on the page of its event
	Pending    bool     // the market has to be read again before the baseline is fixed
	Category   string
	Status     string // "open", "resolved" or "void"
	Value      *float64
	Edge       *float64
	LiveEdge   *float64
	Brier      *float64
	CreatedAt  When
	ResolvedAt When
	Hidden     bool
	Sample     bool
	Repeats    bool // the page already shows the title, so the card shows the probability instead
	// Until is what the reveal waits for, "baseline" or "close". It is empty after the reveal.
	// Before the reveal Title is the market's, and Confidence and the values derived from it are
	// unset.
	Until string
	// Erased is true if the texts were erased because the account was closed.
	Erased bool
}

// View is what a market showed for an outcome at one time. A nil field is unknown.
type View struct {
	Price    *float64 // displayed price
	Bid, Ask *float64 // best bid and best ask
}

// Book returns the book in words, in the unit of the prices beside it, such as "bid 58 %, ask 62 %". It returns "" if
// the book is unknown. A bid of 0 or an ask of 1 means that this side has no orders.
func (v View) Book() string { return v.BookIn(ExactPercent) }

// BookIn is Book with another way to write a price.
func (v View) BookIn(write func(float64) string) string {
	if v.Bid == nil || v.Ask == nil {
		return ""
	}
	bid, ask := "bid "+write(*v.Bid), "ask "+write(*v.Ask)
	if *v.Bid <= 0 {
		bid = "no bids"
	}
	if *v.Ask >= 1 {
		ask = "no asks"
	}
	return bid + ", " + ask
}

// About returns the text to show as the prediction's title.
func (p Prediction) About() string {
	if p.Erased && p.Until == "" {
		return "Text erased: the account was closed"
	}
	if p.Hidden && p.Until == "" {
		return "Text hidden by an admin"
	}
	return p.Title
}

// Listed returns the title that a list shows, the outcome if it adds to the title, and a note. If the text is withheld,
// the title is the market's, because the numbers make no sense without a question.
func (p Prediction) Listed() (title, outcome, note string) {
	if note = p.Withheld(); note != "" && p.Market != "" {
		p.Title, p.Hidden = p.Market, false
		return p.Market, p.AddedOutcome(), note
	}
	return p.About(), p.AddedOutcome(), ""
}

// Withheld says in two words that the text was erased or hidden. Otherwise it returns "".
func (p Prediction) Withheld() string {
	switch {
	case p.Until != "":
		return ""
	case p.Erased:
		return "text erased"
	case p.Hidden:
		return "text hidden"
	}
	return ""
}

// Waits says when the prediction will be shown.
func (p Prediction) Waits() string {
	if p.Until == "baseline" {
		return "shown once its baseline is final"
	}
	return "shown when the market closes"
}

// AddedOutcome returns the outcome, or "" if the title names it after a dash. A question may end with the name of an
// outcome without naming it as the answer, such as "Lakers vs. Celtics".
func (p Prediction) AddedOutcome() string {
	if p.Outcome == "Yes" || (!p.Hidden && strings.HasSuffix(p.Title, " — "+p.Outcome)) {
		return ""
	}
	return p.Outcome
}

// Happened returns the resolution in a few words.
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
