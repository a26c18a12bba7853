package admin

import (
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// column is one column of the table of agents.
type column struct {
	sort, label, title string
	num, wide, wider   bool
}

var agentColumns = []column{
	{"handle", "Agent", "", false, false, false},
	{"", "Status", "", false, true, false},
	{"day", "24 h", "Predictions in the last 24 hours", true, true, false},
	{"month", "30 d", "Predictions in the last 30 days", true, false, true},
	{"total", "Total", "All predictions", true, false, false},
	{"settled", "Settled", "", true, true, false},
	{"skill", "Skill", "Points per event with the 95 % interval", true, false, false},
	{"brier", "Brier", "Mean Brier score, 0 is best", true, false, true},
	{"calibration", "Cal.", "Calibration error", true, false, true},
	{"requests", "Requests", "In the last 24 hours", true, true, false},
	{"errors", "Errors", "Answered 4xx or 5xx but 429, in the last 24 hours, and the part that failed", true, true, false},
	{"limited", "Limited", "Answered 429, in the last 24 hours", true, false, true},
	{"", "Trend", "Requests by hour", false, false, true},
	{"seen", "Seen", "", false, true, false},
	{"", "Key", "Age of the newest key that works", false, false, true},
	{"created", "Joined", "", false, false, true},
}

// risingSorts put the smallest first.
var risingSorts = []string{"handle", "brier", "calibration"}

func (d *Desk) listAgents(v *visit) error {
	q, err := readQuery(v.Ctx, "q", "status", "sort", "cursor")
	if err != nil {
		return err
	}
	f := domain.AgentFilter{Q: q.get("q"), Sort: q.get("sort"), Cursor: q.get("cursor"), Limit: pageSize}
	switch f.Status = agent.Status(q.get("status")); f.Status {
	case "", agent.Active, agent.Disabled:
	default:
		return problem.InvalidParameter("status", "must be active or disabled")
	}
	if v.Query("format") == "csv" {
		return d.exportAgents(v, f)
	}
	rows, next, err := d.admins.Agents(v.UserContext(), d.DB.Reader, f)
	if err != nil {
		return err
	}
	ids := make([]uuid.UUID, len(rows))
	for i := range rows {
		ids[i] = rows[i].ID
	}
	hours, err := d.Usage.ByHour(v.UserContext(), d.DB.Reader, ids, 24)
	if err != nil {
		return err
	}
	t := views.Table{Heads: agentHeads(q, f.Sort), Empty: "No agent fits"}
	for i := range rows {
		t.Rows = append(t.Rows, d.agentCells(&rows[i], hours[rows[i].ID]))
	}
	return show(v.Ctx, views.Agents(views.AgentsProps{
		Frame:  d.frame(v, "Agents", "/admin/agents"),
		Search: components.Search{Action: q.path, Label: "Handle or name", Words: f.Q, Keep: q.keep("q")},
		Statuses: []components.Chip{
			{Label: "All", Href: q.with("status", ""), Current: f.Status == ""},
			{Label: "Active", Href: q.with("status", "active"), Current: f.Status == agent.Active},
			{Label: "Disabled", Href: q.with("status", "disabled"), Current: f.Status == agent.Disabled},
		},
		Table: t, Pages: q.pages(next), CSV: q.with("format", "csv"),
	}))
}

func agentHeads(q query, sort string) []views.Head {
	if sort == "" {
		sort = "created"
	}
	heads := make([]views.Head, len(agentColumns))
	for i, c := range agentColumns {
		heads[i] = views.Head{Label: c.label, Title: c.title, Num: c.num, Wide: c.wide, Wider: c.wider}
		if c.sort != "" {
			heads[i].Href = q.with("sort", c.sort)
		}
		if c.sort == sort {
			heads[i].Sort = "descending"
			if slices.Contains(risingSorts, sort) {
				heads[i].Sort = "ascending"
			}
		}
	}
	return heads
}

func (d *Desk) agentCells(r *domain.Row, hours []agent.Hour) []views.Cell {
	cells := []views.Cell{
		{Text: r.Name, Note: r.Handle, Href: "/admin/agents/" + url.PathEscape(r.Handle)},
		statusCell(r.Status),
		count(r.PredictionsDay), count(r.PredictionsMonth), count(r.Total), count(r.Settled),
		skillCell(r), figure(r.Brier, components.Brier), figure(r.CalibrationError, tenths),
		count(r.Requests), count(r.Errors), count(r.Limited),
		{Trend: trend(hours), Label: "Requests by hour"},
		d.moment(r.LastSeenAt), d.moment(r.KeyCreatedAt), d.moment(r.CreatedAt),
	}
	if r.KeyCreatedAt.IsZero() {
		cells[14] = views.Cell{Text: "none", Tone: "muted"}
	}
	if r.Requests > 0 && r.Errors+r.Limited > 0 {
		cells[10].Note = components.Percent(r.ErrorRate())
		if r.ErrorRate() >= 0.2 && r.Requests >= 20 {
			cells[10].Tone = "neg"
		}
	}
	for i, c := range agentColumns {
		cells[i].Num, cells[i].Wide, cells[i].Wider = c.num, c.wide, c.wider
	}
	return cells
}

func statusCell(s agent.Status) views.Cell {
	if s == agent.Disabled {
		return views.Cell{Text: "disabled", Badge: "badge-void"}
	}
	return views.Cell{Text: "active", Badge: "badge-resolved"}
}

func skillCell(r *domain.Row) views.Cell {
	if r.Skill == nil || r.SkillLow == nil || r.SkillHigh == nil {
		return views.Cell{}
	}
	c := views.Cell{Text: components.Signed(*r.Skill, 1), Note: components.Signed(*r.SkillLow, 1) + " to " + components.Signed(*r.SkillHigh, 1)}
	if *r.SkillLow > 0 {
		c.Tone = "pos"
	}
	return c
}

func count(n int64) views.Cell { return views.Cell{Text: components.Count(int(n)), Num: true} }

// tenths writes a share of 0..1 in percent with one decimal, so that a column lines up.
func tenths(share float64) string { return components.Decimal(share*100, 1) + "\u00a0%" }

func figure(v *float64, write func(float64) string) views.Cell {
	if v == nil {
		return views.Cell{Num: true}
	}
	return views.Cell{Text: write(*v), Num: true}
}

// moment shows when something was, "never" when it was not.
func (d *Desk) moment(at time.Time) views.Cell {
	if at.IsZero() {
		return views.Cell{Text: "never", Tone: "muted"}
	}
	when := d.when(at)
	return views.Cell{When: &when}
}

func trend(hours []agent.Hour) []float64 {
	var list []float64
	for _, h := range hours {
		list = append(list, float64(h.Requests))
	}
	return list
}

// exportAgents walks the whole table in pages, so that it costs each query little.
func (d *Desk) exportAgents(v *visit, f domain.AgentFilter) error {
	out := [][]string{{"handle", "name", "model", "owner", "status", "sample", "predictions24h", "predictions30d", "predictions", "open", "settled", "void",
		"skill", "skillLow", "skillHigh", "rank", "events", "brier", "calibrationError", "requests24h", "errors24h", "limited24h", "lastSeenAt", "keyCreatedAt", "createdAt"}}
	f.Cursor, f.Limit = "", 500
	for len(out) <= exportSize {
		rows, next, err := d.admins.Agents(v.UserContext(), d.DB.Reader, f)
		if err != nil {
			return err
		}
		for i := range rows {
			out = append(out, agentLine(&rows[i]))
		}
		if next == "" {
			break
		}
		f.Cursor = next
	}
	return sendCSV(v.Ctx, "agents.csv", out)
}

func agentLine(r *domain.Row) []string {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	real := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 8, 64)
	}
	rank := ""
	if r.Rank != nil {
		rank = whole(*r.Rank)
	}
	return []string{r.Handle, r.Name, r.Model, r.Owner, string(r.Status), strconv.FormatBool(r.Sample),
		whole(r.PredictionsDay), whole(r.PredictionsMonth), whole(r.Total), whole(r.Open), whole(r.Settled), whole(r.Void),
		real(r.Skill), real(r.SkillLow), real(r.SkillHigh), rank, whole(r.Events), real(r.Brier), real(r.CalibrationError),
		whole(r.Requests), whole(r.Errors), whole(r.Limited), stamp(r.LastSeenAt), stamp(r.KeyCreatedAt), stamp(r.CreatedAt)}
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
