package admin

import (
	"net/url"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// The table marks an agent if at least this share of its requests were refused, limited or failed, and it sent at least
// this many.
const (
	badErrorRate   = 0.2
	badMinRequests = 20
)

// AgentsProps is the table of agents.
type AgentsProps struct {
	Frame  Frame
	New    NewAgent
	Search components.Search
	// With returns the address of the page with one filter changed; "" removes the filter.
	With   func(name, value string) string
	Status string // "active", "disabled" or "closed"; "" for any
	Sort   string // key of the column to sort by
	Rising bool   // Sort is ascending
	Rows   []AgentRow
	Pages  components.Pages
	CSV    string
	// Partial is whether the search for this page stopped before it had filled the page.
	Partial bool
}

// NewAgent is the form that creates an agent. Wrong holds a message for each wrong field.
type NewAgent struct {
	Local         bool   // false if an identity provider issues the keys, so that there is no form
	Seen          string // handle of the agent that was created last
	Open          bool   // the form was sent
	Values, Wrong map[string]string
	Official      bool
	Error         string // any other error
}

var agentFields = []formField{
	{"name", "Name", "Shown to people. 1 to 80 characters.", "80", true},
	{"model", "Model", "The language model that it runs on. May be empty.", "80", false},
	{"framework", "Framework", "The software that it is built with. May be empty.", "80", false},
}

// AgentRow is one agent of the table. A pointer is nil if there is no value.
type AgentRow struct {
	Handle, Name                     string
	Disabled, Closed                 bool
	PredictionsDay, PredictionsMonth int64
	Total, Settled                   int64
	Skill                            *components.Estimate
	Brier, CalibrationError          *float64
	Requests, Errors, Limited        int64 // in 24 hours
	ErrorRate                        float64
	Hours                            []float64 // requests by hour
	SeenAt, KeyCreatedAt, CreatedAt  time.Time
}

// column is one column of the table of agents.
type column struct {
	sort, label, title string
	num, wide, wider   bool
	cell               func(f Frame, r *AgentRow) cell
}

var agentColumns = []column{
	{"handle", "Agent", "", false, false, false, func(_ Frame, r *AgentRow) cell {
		return cell{text: r.Name, note: r.Handle, href: agentPath(r.Handle)}
	}},
	{"", "Status", "", false, false, false, func(_ Frame, r *AgentRow) cell { return agentStatus(r.Disabled, r.Closed) }},
	{"day", "24 h", "Predictions in the last 24 hours", true, true, false, func(_ Frame, r *AgentRow) cell { return count(r.PredictionsDay) }},
	{"month", "30 d", "Predictions in the last 30 days", true, false, true, func(_ Frame, r *AgentRow) cell { return count(r.PredictionsMonth) }},
	{"total", "Total", "All predictions", true, true, false, func(_ Frame, r *AgentRow) cell { return count(r.Total) }},
	{"settled", "Settled", "", true, true, false, func(_ Frame, r *AgentRow) cell { return count(r.Settled) }},
	{"skill", "Skill", "Points per event, with the 95 % interval", true, false, false, func(_ Frame, r *AgentRow) cell { return skill(r.Skill) }},
	{"brier", "Brier", "Mean Brier score; 0 is best", true, false, true, func(_ Frame, r *AgentRow) cell { return number(r.Brier, components.Brier) }},
	{"calibration", "Cal.", "Calibration error in percentage points", true, false, true, func(_ Frame, r *AgentRow) cell {
		return number(r.CalibrationError, func(v float64) string { return components.Decimal(v*100, 1) })
	}},
	{"requests", "Requests", "In the last 24 hours", true, true, false, func(_ Frame, r *AgentRow) cell { return count(r.Requests) }},
	{"errors", "Errors", "Answered 4xx or 5xx, except 429, in the last 24 hours; below, the share of requests that were refused, limited or failed", true, true, false, failures},
	{"limited", "Limited", "Answered 429, in the last 24 hours", true, false, true, func(_ Frame, r *AgentRow) cell { return count(r.Limited) }},
	{"", "Trend", "Requests by hour", false, false, true, func(_ Frame, r *AgentRow) cell { return cell{trend: r.Hours, label: "Requests by hour"} }},
	{"seen", "Seen", "", false, true, false, func(f Frame, r *AgentRow) cell { return f.moment(r.SeenAt) }},
	{"", "Key", "Age of the newest active key", false, false, true, func(f Frame, r *AgentRow) cell {
		if r.KeyCreatedAt.IsZero() {
			return cell{text: "none", tone: "muted"}
		}
		return f.moment(r.KeyCreatedAt)
	}},
	{"created", "Joined", "", false, false, true, func(f Frame, r *AgentRow) cell { return f.moment(r.CreatedAt) }},
}

func (p *AgentsProps) table() table {
	t := table{empty: "No agent matches"}
	if p.Partial {
		t.empty = "No match so far"
	}
	for _, c := range agentColumns {
		h := head{label: c.label, title: c.title, num: c.num, wide: c.wide, wider: c.wider}
		if c.sort != "" {
			h.href = p.With("sort", c.sort)
		}
		if c.sort == p.Sort {
			h.sort = "descending"
			if p.Rising {
				h.sort = "ascending"
			}
		}
		t.heads = append(t.heads, h)
	}
	for i := range p.Rows {
		row := make([]cell, len(agentColumns))
		for j, c := range agentColumns {
			row[j] = c.cell(p.Frame, &p.Rows[i])
		}
		t.rows = append(t.rows, row)
	}
	return t
}

func (p *AgentsProps) statuses() []components.Chip {
	var chips []components.Chip
	for _, s := range []struct{ value, label string }{{"", "All"}, {"active", "Active"}, {"disabled", "Disabled"}, {"closed", "Closed"}} {
		chips = append(
			chips, components.Chip{Label: s.label, Href: p.With("status", s.value), Current: p.Status == s.value},
		)
	}
	return chips
}

func agentPath(handle string) string { return "/admin/agents/" + url.PathEscape(handle) }

func agentStatus(disabled, closed bool) cell {
	switch {
	case closed:
		return cell{text: "closed", badge: "badge-provisional"}
	case disabled:
		return cell{text: "disabled", badge: "badge-provisional"}
	}
	return cell{text: "active", badge: "badge-resolved"}
}

func failures(_ Frame, r *AgentRow) cell {
	c := count(r.Errors)
	if r.Requests > 0 && r.Errors+r.Limited > 0 {
		c.note = components.Percent(r.ErrorRate)
		if r.ErrorRate >= badErrorRate && r.Requests >= badMinRequests {
			c.tone = "neg"
		}
	}
	return c
}

func skill(e *components.Estimate) cell {
	if e == nil {
		return cell{}
	}
	c := cell{text: components.Signed(e.Skill, 1), note: "no range"}
	if r := e.Range; r != nil {
		c.note = components.Signed(r.Low, 1) + " to " + components.Signed(r.High, 1)
	}
	if e.Proven {
		c.tone = "pos"
	}
	return c
}
