package admin

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// Profile is what an agent declares about itself.
type Profile struct{ Name, Model, Framework, Description, Homepage string }

// AgentProps is everything about one agent.
type AgentProps struct {
	Frame                         Frame
	Handle                        string
	Name                          string // the profile that the public sees
	Declared                      Profile
	Owner, Subject                string // as the identity provider names the owner
	Sample, Disabled              bool
	Status                        string
	Texts                         string // texts that are hidden from the public: "shown" (none), "profile" or "all"
	TextsWords                    string // the same in words
	Local                         bool   // true if keys are issued here, not by an identity provider
	CreatedAt, SeenAt, DisabledAt time.Time
	ClosedAt                      time.Time // when the account was closed; zero if it is open
	Total, Open, Settled, Void    int64     // predictions
	PredictionsDay                int64
	PredictionsMonth              int64
	Requests, Errors, Limited     int64 // in 24 hours
	ErrorRate                     float64
	Skill                         *components.Estimate
	Events                        int64 // behind Skill
	Brier, CalibrationError       *float64
	Hours                         []Bar
	Endpoints                     []Endpoint
	RecentErrors                  []RequestError
	Keys                          []Key
	KeysWords                     string // Keys in words, for the forms that issue one
	Sessions                      int
	Predictions                   []AgentPrediction
	Notes                         []Note
	Log                           []Entry
	Secret                        string // a key that was just issued; shown once
}

// Bar is one hour of requests.
type Bar struct {
	At               time.Time
	Requests, Failed int64
}

// Endpoint counts an agent's requests to one endpoint in 48 hours.
type Endpoint struct {
	Method, Route                   string // Route is "" for requests that match no endpoint
	Total, Refused, Limited, Failed int64
	Hours                           []float64
}

// RequestError is a request that was answered with 400 or above.
type RequestError struct {
	Method, Route, Code, RequestID string
	Status                         int
	At                             time.Time
}

// Key is one key of the agent.
type Key struct {
	ID, Label                                   string
	CreatedAt, LastUsedAt, ExpiresAt, RevokedAt time.Time
}

// AgentPrediction is a prediction of the agent.
type AgentPrediction struct {
	ID, Title, Status string // Title is "" if it was erased
	Market            string // title of the market; "" if not about a market
	Hidden            bool
	Until             string // "baseline" or "close" while the prediction is not revealed, else ""
	Confidence        float64
	Baseline, Edge    *float64
	CreatedAt         time.Time
}

// Note is an admin's remark on the agent.
type Note struct {
	Text, Author string
	At           time.Time
}

func (p *AgentProps) path() string { return agentPath(p.Handle) }

func (p *AgentProps) facts() facts {
	list := facts{{"Handle", text(p.Handle)}}
	if p.Texts != "shown" {
		list.addText("Public texts", p.TextsWords)
		list.addText("Name", p.Declared.Name)
	}
	list.addText("Model", p.Declared.Model)
	list.addText("Framework", p.Declared.Framework)
	list.addText("Description", p.Declared.Description)
	list.addText("Homepage", p.Declared.Homepage)
	list.addText("Owner", p.Owner)
	list.addText("Subject", p.Subject)
	list.add("Joined", p.Frame.moment(p.CreatedAt))
	list.add("Last seen", p.Frame.moment(p.SeenAt))
	if !p.ClosedAt.IsZero() {
		list.add("Closed", p.Frame.moment(p.ClosedAt))
	}
	if p.Disabled {
		list.add("Disabled", p.Frame.moment(p.DisabledAt))
	}
	whole := func(n int64) string { return components.Count(int(n)) }
	list.addText("Predictions", whole(p.Total)+": "+whole(p.Open)+" open, "+whole(p.Settled)+" settled, "+whole(p.Void)+" void; "+
		whole(p.PredictionsDay)+" in 24 h, "+whole(p.PredictionsMonth)+" in 30 d")
	list.addText("Requests, 24 h", whole(p.Requests)+", "+whole(p.Errors)+" refused or failed, "+whole(p.Limited)+" limited ("+
		components.ExactPercent(p.ErrorRate)+")")
	if p.Skill != nil {
		c := skill(p.Skill)
		list.addText("Skill", c.text+" ("+c.note+") over "+components.Plural(int(p.Events), "event", "events"))
	}
	list.addText("Brier", number(p.Brier, components.Brier).text)
	list.addText("Calibration error", number(p.CalibrationError, func(v float64) string { return components.Decimal(v*100, 1) + " percentage points" }).text)
	return list
}

// textChoices are the visibilities that differ from the current one.
func (p *AgentProps) textChoices() []choice {
	var list []choice
	for _, c := range []choice{
		{value: "shown", label: "Show everything again"},
		{value: "profile", label: "Hide the profile texts"},
		{value: "all", label: "Hide the profile and all prediction texts"},
	} {
		if c.value != p.Texts {
			list = append(list, c)
		}
	}
	return list
}

func (p *AgentProps) endpoints() table {
	t := table{heads: []head{{label: "Endpoint"}, {label: "Requests", num: true}, {label: "By hour", wide: true},
		{label: "Refused", title: "Answered 4xx, except 429", num: true}, {label: "Limited", title: "Answered 429", num: true},
		{label: "Failed", title: "Answered 5xx", num: true}}}
	for _, e := range p.Endpoints {
		failed := count(e.Failed)
		if e.Failed > 0 {
			failed.tone = "neg"
		}
		t.rows = append(t.rows, []cell{{text: endpointWords(e.Method, e.Route), tone: "code"}, count(e.Total),
			{trend: e.Hours, label: "Requests by hour, 48 hours"}, count(e.Refused), count(e.Limited), failed})
	}
	return t
}

func (p *AgentProps) recentErrors() table {
	t := table{empty: "No error in 30 days", heads: []head{{label: "Code"}, {label: "Status", num: true}, {label: "Endpoint"},
		{label: "Request id", wide: true}, {label: "When"}}}
	for _, e := range p.RecentErrors {
		code := cell{text: e.Code, tone: "code"}
		if e.Code == "" {
			code = cell{text: "no code", tone: "muted"}
		}
		t.rows = append(t.rows, []cell{code, text(strconv.Itoa(e.Status)), {
			text: endpointWords(e.Method, e.Route), tone: "code",
		},
			{text: e.RequestID, tone: "code"}, p.Frame.moment(e.At)})
	}
	return t
}

func endpointWords(method, route string) string {
	if route == "" {
		route = "no such address"
	}
	return method + " " + route
}

func (p *AgentProps) keys() table {
	t := table{csrf: p.Frame.CSRF, empty: "The agent has no key", heads: []head{{label: "Id"}, {label: "Label"}, {label: "Created"},
		{label: "Last used"}, {label: "Expires"}, {label: "Revoked"}}}
	for _, k := range p.Keys {
		last := p.Frame.moment(k.RevokedAt)
		if k.RevokedAt.IsZero() {
			last = cell{button: &button{action: p.path() + "/keys/revoke", ask: "Revoke", label: "Revoke for good", danger: true,
				fields: []components.Field{{Name: "key", Value: k.ID}}}}
		}
		t.rows = append(
			t.rows, []cell{text(k.ID), text(k.Label), p.Frame.moment(k.CreatedAt), p.Frame.moment(k.LastUsedAt), p.Frame.moment(k.ExpiresAt), last},
		)
	}
	return t
}

// hasKey returns whether a key of the agent works.
func (p *AgentProps) hasKey() bool {
	return slices.ContainsFunc(p.Keys, func(k Key) bool {
		return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || k.ExpiresAt.After(p.Frame.Now))
	})
}

func (p *AgentProps) predictions() table {
	t := table{empty: "The agent has published no predictions", heads: []head{{label: "Question"}, {label: "Says", num: true}, {label: "Market", num: true},
		{label: "Status"}, {label: "Edge", num: true, wide: true}, {label: "Published", wide: true}}}
	for _, r := range p.Predictions {
		title := cell{text: cmp.Or(r.Title, r.Market, "Prediction without text"), href: predictionPath(r.ID)}
		if r.Title == "" {
			title.note = "text erased"
		} else if r.Hidden {
			title.note = "text hidden"
		} else if r.Until != "" {
			title.note = "not revealed until the " + r.Until
		}
		edge := number(r.Edge, func(v float64) string { return components.Signed(v, 1) })
		t.rows = append(t.rows, []cell{title, text(components.Percent(r.Confidence)), number(r.Baseline, components.Percent),
			statusBadge(r.Status), edge, p.Frame.moment(r.CreatedAt)})
	}
	return t
}

func (p *AgentProps) notes() table {
	t := table{empty: "No notes yet", heads: []head{{label: "Note"}, {label: "By"}, {label: "When"}}}
	for _, n := range p.Notes {
		t.rows = append(t.rows, []cell{text(n.Text), text(n.Author), p.Frame.moment(n.At)})
	}
	return t
}

// mostOf returns the largest number of requests in an hour, at least 1.
func mostOf(list []Bar) int64 {
	most := int64(1)
	for _, b := range list {
		most = max(most, b.Requests)
	}
	return most
}

// TextsProps previews a change of which texts of an agent are hidden.
type TextsProps struct {
	Frame               Frame
	Handle              string
	From, To            string // "shown", "profile" or "all"
	FromWords, ToWords  string
	Note                string
	NoReason            bool // Note is missing or not allowed
	Public, PublicAfter Profile
	Predictions         int64
}

func (p *TextsProps) changes() table {
	t := table{heads: []head{{label: "Text"}, {label: "Public now"}, {label: "Public then"}}}
	or := func(s string) cell {
		if s == "" {
			return cell{text: "nothing", tone: "muted"}
		}
		return text(s)
	}
	for _, c := range []struct{ name, now, then string }{
		{"Name", p.Public.Name, p.PublicAfter.Name},
		{"Model", p.Public.Model, p.PublicAfter.Model},
		{"Framework", p.Public.Framework, p.PublicAfter.Framework},
		{"Description", p.Public.Description, p.PublicAfter.Description},
		{"Homepage", p.Public.Homepage, p.PublicAfter.Homepage},
	} {
		if c.now != "" || c.then != "" {
			t.rows = append(t.rows, []cell{text(c.name), or(c.now), or(c.then)})
		}
	}
	return t
}

// predictionTexts says what happens to the texts of the agent's predictions.
func (p *TextsProps) predictionTexts() string {
	n := components.Plural(int(p.Predictions), "prediction", "predictions")
	switch {
	case p.To == "all":
		return "The titles, theses and evidence of " + n + ", and of its future ones, are hidden too. The predictions stay listed with their numbers and scores."
	case p.From == "all":
		return "The texts of " + n + " are shown again, except those that were hidden one by one."
	}
	return "The texts of its predictions don't change."
}

// archivedTexts says what happens to the same texts in the archive.
func (p *TextsProps) archivedTexts() string {
	if p.To == "shown" || p.From == "all" && p.To == "profile" {
		return archiveKeepsGaps
	}
	return archiveForgets
}

// What hiding a text and showing it again do in the archive.
const (
	archiveForgets   = "Within minutes, the hidden text is also erased from the sealed days of the archive. Showing it again doesn't bring it back into those days."
	archiveKeepsGaps = "Sealed days of the archive from which the text was erased stay without it."
)
