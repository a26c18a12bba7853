// Package admin holds the pages of those who run the place.
package admin

import (
	"github.com/pulsecast/pulsecast/views/components"
)

// Frame is what the frame around every page needs.
type Frame struct {
	Title   string
	Path    string
	Section string // path of the entry of the navigation
	Admin   string // who is signed in
	CSRF    string // token of every form
	Version string
	Sample  bool
	Done    string // what was just done, in words
}

type entry struct{ path, label string }

var navigation = []entry{
	{"/admin", "Overview"},
	{"/admin/agents", "Agents"},
	{"/admin/settlement", "Settlement"},
	{"/admin/assignments", "Assignments"},
	{"/admin/sources", "Sources"},
	{"/admin/system", "System"},
	{"/admin/audit", "Audit"},
}

func currentOf(path string, f Frame) string {
	switch {
	case path != f.Section:
		return ""
	case path == f.Path:
		return "page"
	default:
		return "true"
	}
}

// Head heads a column; Href sorts by it, and Sort is "ascending" or "descending" when
// the table is.
type Head struct {
	Label, Title, Href, Sort string
	Num, Wide, Wider         bool
}

// Cell is one value of a table. What is empty is not shown.
type Cell struct {
	Text   string
	Note   string // a second line
	Href   string
	Title  string
	Badge  string // class of a badge around Text
	Tone   string // class of the text
	When   *components.When
	Trend  []float64
	Label  string // what Trend shows
	Button *Button
	Num    bool
	Wide   bool // only where there is room
	Wider  bool
}

// Button is a form that does one thing.
type Button struct {
	Action string
	Label  string
	Danger bool
	Fields []components.Field
}

// Table is a list with its columns; the first cell of a row names it.
type Table struct {
	Caption string
	Heads   []Head
	Rows    [][]Cell
	Empty   string // what to say without rows
	CSRF    string // for the buttons in it
}

// Figure is one number of the overview.
type Figure struct{ Label, Value, Note, Href, Tone string }

// Concern is something that wants an admin's eye.
type Concern struct {
	Text, Href string
	Grave      bool
}

// Fact is a name and what it is.
type Fact struct {
	Name string
	Cell
}

// Choice is one option of a list.
type Choice struct {
	Value, Label string
	Selected     bool
}

// SignInProps is the sign-in form.
type SignInProps struct {
	CSRF, Name, Error, Done string
	Provider                string // host of the identity provider; "": passwords only
	Again                   bool   // the provider should let another account sign in
	Sample                  bool
}

// OverviewProps is the first page.
type OverviewProps struct {
	Frame    Frame
	Concerns []Concern
	Figures  []Figure
	Feeds    Table
	Latest   Table
}

// AgentsProps is the table of agents.
type AgentsProps struct {
	Frame    Frame
	Search   components.Search
	Statuses []components.Chip
	Table    Table
	Pages    components.Pages
	CSV      string
}

// AgentProps is everything about one agent.
type AgentProps struct {
	Frame       Frame
	Handle      string
	Name        string
	Sample      bool
	Disabled    bool
	Hidden      bool     // the public does not see what it says of itself
	Texts       []Choice // what can be done about its texts
	Local       bool     // keys are issued here
	Seen        string
	Facts       []Fact
	Hours       []Bar // requests, failures among them
	Endpoints   Table
	Errors      Table
	Keys        Table
	Sessions    int
	Predictions Table
	Notes       Table
	Log         Table
	Secret      string // a key that was just issued: shown once
}

// HandlesProps is the handles that no new agent gets.
type HandlesProps struct {
	Frame   Frame
	Added   []ReservedHandle // by admins
	BuiltIn []string
}

// ReservedHandle is one that an admin added.
type ReservedHandle struct {
	Handle, Note, Author string
	At                   components.When
	InUse                bool // an agent had it before
}

// TextsProps is what hiding an agent's texts, or showing them again, changes.
type TextsProps struct {
	Frame       Frame
	Agent       string // path of its page
	Choice      string // what to do, as the form names it
	From, To    string // in words
	Note        string
	Hides       bool
	Texts       Table
	Predictions string // what becomes of their texts
	Error       string
}

// Bar is one hour of requests.
type Bar struct {
	Label           string
	Requests, Wrong int64
}

// SettlementProps is what waits for a ruling.
type SettlementProps struct {
	Frame       Frame
	Disputes    []Dispute
	Reports     []Report
	Due         Table
	Markets     Table
	Corrections Table
}

// Report is one complaint about a prediction. Reporter is the handle of an agent, empty
// for a reader of the site.
type Report struct {
	ID, Kind, Text, Reporter, Prediction, Title string
	At                                          components.When
}

// Dispute is an author's objection to how a prediction was settled.
type Dispute struct {
	ID, Text, Author   string
	Title, Href        string // of the prediction
	Says, Outcome      string // what it says, and of which outcome
	Settled            string // how it stands
	Market, MarketHref string // empty when it is not linked
	Rulings            []Link // previews of what could be ruled instead
	At                 components.When
}

// Link leads somewhere.
type Link struct{ Label, Href string }

// RulingProps is one prediction or market, what can be ruled, and a preview.
type RulingProps struct {
	Frame   Frame
	Path    string // its own
	Title   string
	Public  string // its public page
	Facts   []Fact
	Kinds   []Choice
	Options []Choice // outcomes; empty: free
	Value   bool     // a value 0..1 may be given instead of an outcome
	Outcome string
	Number  string
	Note    string
	Preview *Preview
	Error   string // why there is no preview
	Hide    *Button
	Hidden  bool
	// Disputes are the open ones of its author.
	Disputes []Dispute
	Log      Table
}

// Preview is what a ruling would change.
type Preview struct {
	Kind     string // its word
	Words    string // in words
	From, To string
	Open     int64
	Resolved int64
	Void     int64
	Market   bool
}

// AssignmentsProps is the list and the form for a new one.
type AssignmentsProps struct {
	Frame Frame
	Table Table
	Form  AssignmentForm
}

// AssignmentForm is what an admin writes; Wrong has a message for each field.
type AssignmentForm struct {
	Action, Submit, Seen string
	Values, Wrong        map[string]string
}

// AssignmentProps is one assignment.
type AssignmentProps struct {
	Frame Frame
	Open  bool
	Facts []Fact
	Form  AssignmentForm
	Close Button
	Log   Table
}

// SourcesProps is how the sources do.
type SourcesProps struct {
	Frame Frame
	Feeds []Feed
}

// Feed is one source of signals.
type Feed struct {
	Name    string
	Facts   []Fact
	Dropped Table
	Tick    Button
	Stale   bool
	Bad     []Payload // the last of each source
}

// Payload is what a source sent that could not be used.
type Payload struct {
	Source, Reason string
	Text           string // without anything invisible
	Cut            string // what is missing, in words
	At             components.When
}

// SystemProps is the state of the machinery.
type SystemProps struct {
	Frame    Frame
	Facts    []Fact
	Queues   Table
	Leases   Table
	Settings Table
	Admins   Table
	Sessions Table
}

// AuditProps is the audit log.
type AuditProps struct {
	Frame   Frame
	Values  map[string]string
	Actions []Choice
	Table   Table
	Pages   components.Pages
	CSV     string
}

// RefusedProps says why an act was not done.
type RefusedProps struct {
	Frame   Frame
	Detail  string
	Back    string
	Entries Table
}
