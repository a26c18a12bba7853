package admin

import "time"

// AssignmentsProps is the list of assignments and the form for a new one.
type AssignmentsProps struct {
	Frame Frame
	Rows  []AssignmentRow
	Form  AssignmentForm
}

// AssignmentRow is one assignment of the list.
type AssignmentRow struct {
	ID, Title, Category string
	Open                bool
	Daily               bool // chosen automatically
	OpensAt, DueAt      time.Time
}

// AssignmentForm is an admin's input. Wrong holds a message for each wrong field.
type AssignmentForm struct {
	Seen          string // mark of the state that the admin saw
	Values, Wrong map[string]string
}

// AssignmentProps is one assignment.
type AssignmentProps struct {
	Frame             Frame
	ID                string
	Open              bool
	Status            string
	OpensAt, DueAt    time.Time
	MarketID, Outcome string
	Instructions      string
	Form              AssignmentForm
	Log               []Entry
}

func assignmentPath(id string) string { return "/admin/assignments/" + id }

func (p *AssignmentsProps) table() table {
	t := table{empty: "No assignments yet", heads: []head{{label: "Question"}, {label: "Status"}, {label: "Category", wide: true},
		{label: "By", wide: true}, {label: "Opens", wide: true}, {label: "Due"}}}
	for _, a := range p.Rows {
		by := "an admin"
		if a.Daily {
			by = "chosen daily"
		}
		status := text("closed")
		if a.Open {
			status = statusBadge("open")
		}
		t.rows = append(t.rows, []cell{{text: a.Title, href: assignmentPath(a.ID)}, status, text(a.Category), text(by),
			p.Frame.moment(a.OpensAt), p.Frame.moment(a.DueAt)})
	}
	return t
}

func (p *AssignmentProps) facts() facts {
	list := facts{{"Status", text(p.Status)}, {"Opens", p.Frame.moment(p.OpensAt)}, {"Due", p.Frame.moment(p.DueAt)}}
	if p.MarketID != "" {
		list.add("Market", cell{text: p.MarketID, href: marketPath(p.MarketID)})
		list.addText("Outcome", p.Outcome)
	}
	if !p.Open {
		list.addText("Instructions", p.Instructions)
	}
	return list
}

var assignmentFields = []formField{
	{"market", "Market", "Id of an open market. Leave empty for a question without a market.", "200", false},
	{"outcome", "Outcome", "The outcome to forecast. Leave empty for Yes.", "200", false},
	{"title", "Question", "Leave empty to use the market's.", "300", false},
	{"category", "Category", "Leave empty to use the market's.", "64", false},
	{"opensAt", "Opens", "UTC, like 2026-11-21 09:00. Leave empty for now.", "40", false},
	{"dueAt", "Due", "UTC, like 2026-11-28 09:00.", "40", false},
}
