package admin

import (
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// table is a list with columns. The first cell of a row names the row.
type table struct {
	caption string
	heads   []head
	rows    [][]cell
	empty   string // text to show without rows
	csrf    string // CSRF token of the buttons
}

// head is the heading of a column. href sorts by the column. sort is "ascending" or "descending" if
// the table is sorted by it.
type head struct {
	label, title, href, sort string
	num                      bool
	wide                     bool // hidden on narrow screens
	wider                    bool // hidden on all but wide screens
}

// cell is one value of a table. Empty fields are not shown.
type cell struct {
	text   string
	note   string // a second line
	href   string
	title  string
	badge  string // CSS class of a badge around text
	tone   string // CSS class of the text
	lines  bool   // the text keeps its line breaks
	when   *components.When
	trend  []float64
	label  string // accessible name of trend
	button *button
}

// button is a form with one button and no visible fields.
type button struct {
	action, label string
	ask           string // the button is hidden behind these words, so that one click can't do what can't be undone
	danger        bool
	fields        []components.Field
}

// fact is a name and its value.
type fact struct {
	name string
	cell
}

// formField is a line of text in a form.
type formField struct {
	name, label, help, max string
	required               bool
}

// choice is one option of a list.
type choice struct {
	value, label string
	selected     bool
}

// choose selects the choice with a value.
func choose(list []choice, value string) []choice {
	for i := range list {
		list[i].selected = list[i].value == value
	}
	return list
}

// text returns a cell with plain text.
func text(s string) cell { return cell{text: s} }

// count returns a cell with a whole number.
func count(n int64) cell { return cell{text: components.Count(int(n))} }

// plus returns what follows a number if the true one is larger.
func plus(more bool) string {
	if more {
		return "+"
	}
	return ""
}

// number returns a cell with a number that may be missing.
func number(v *float64, write func(float64) string) cell {
	if v == nil {
		return cell{}
	}
	return cell{text: write(*v)}
}

// moment returns a cell with a time, "never" for the zero time.
func (f Frame) moment(at time.Time) cell {
	if at.IsZero() {
		return cell{text: "never", tone: "muted"}
	}
	return cell{when: new(f.when(at))}
}

func (f Frame) when(at time.Time) components.When { return components.When{At: at, Now: f.Now} }

// tenths returns a share of 0..1 in percent with one decimal, so that the column aligns.
func tenths(share float64) string { return components.Decimal(share*100, 1) + "\u00a0%" }

// statusBadge returns the badge of a prediction's status.
func statusBadge(status string) cell { return cell{text: status, badge: "badge-" + status} }

// facts is a list of facts without the empty ones.
type facts []fact

func (f *facts) add(name string, c cell) { *f = append(*f, fact{name, c}) }

// addText adds a fact unless its text is empty.
func (f *facts) addText(name, s string) {
	if s != "" {
		f.add(name, text(s))
	}
}
