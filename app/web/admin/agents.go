package admin

import (
	"cmp"
	"errors"
	"strconv"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/web/estimate"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

const agentsPath = "/admin/agents"

func (d *Site) listAgents(v *visit) error { return d.showAgents(v, views.NewAgent{}) }

// showAgents shows the table of agents, and the form to create one as it was sent.
func (d *Site) showAgents(v *visit, form views.NewAgent) error {
	q, err := readQuery(v.Ctx, "q", "status", "sort", "cursor")
	if err != nil {
		return err
	}
	f := moderation.AgentFilter{Q: q.get("q"), Sort: q.get("sort"), Cursor: q.get("cursor"), Limit: pageSize}
	switch f.Status = agent.Status(q.get("status")); f.Status {
	case "", agent.Active, agent.Disabled, agent.StatusClosed:
	default:
		return problem.InvalidParameter("status", "must be active, disabled or closed")
	}
	if v.Query("format") == "csv" {
		return d.exportAgents(v, f)
	}
	rows, next, err := d.Moderation.Agents(v.UserContext(), f)
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
	form.Local = d.Config.IdentityURL == ""
	if form.Seen, err = d.Moderation.LatestCreated(v.UserContext()); err != nil {
		return err
	}
	p := views.AgentsProps{
		Frame: d.frame(v, "Agents", agentsPath), New: form,
		Search: components.Search{Action: q.path, Label: "Handle or name", Words: f.Q, Keep: q.keep("q")},
		With:   q.with, Status: string(f.Status), Sort: cmp.Or(f.Sort, "created"), Rising: moderation.Rising(f.Sort),
		Pages: q.pages(next), CSV: q.with("format", "csv"), Partial: next != "" && len(rows) < f.Limit,
	}
	for i := range rows {
		p.Rows = append(p.Rows, agentRow(&rows[i], hours[rows[i].ID]))
	}
	return show(v.Ctx, views.Agents(p))
}

// createAgent creates an agent and shows its page with its key. After a mistake it shows the form again.
func (d *Site) createAgent(v *visit) error {
	form := views.NewAgent{Open: true, Values: map[string]string{}, Official: v.form("official") != ""}
	for _, name := range []string{"name", "model", "framework"} {
		form.Values[name] = v.form(name)
	}
	made, secret, err := d.Moderation.CreateAgent(v.UserContext(), v.bySeen(), agent.Profile{
		Name: form.Values["name"], Model: form.Values["model"], Framework: form.Values["framework"],
	}, form.Official)
	if err == nil {
		// Don't redirect: the key is shown only in this answer.
		return d.showAgent(v, made, secret, "created")
	}
	if wrong, ok := wrongFields(err); ok {
		if _, kept := errors.AsType[*agent.KeptBackError](err); kept {
			wrong["name"] += " Or tick the box below."
		}
		form.Wrong = wrong
		v.Status(fiber.StatusUnprocessableEntity)
		return d.showAgents(v, form)
	}
	if refusal, ok := errors.AsType[*problem.Error](err); ok && refusal.Code == problem.CodeChangedMeanwhile.Name {
		form.Error = refusal.Detail
		v.Status(fiber.StatusConflict)
		return d.showAgents(v, form)
	}
	return about(err, "", agentsPath)
}

func agentRow(r *moderation.AgentRow, hours []agent.Hour) views.AgentRow {
	row := views.AgentRow{
		Handle: r.Handle, Name: r.Name, Disabled: r.Status == agent.Disabled, Closed: r.Closed(),
		PredictionsDay: r.PredictionsDay, PredictionsMonth: r.PredictionsMonth, Total: r.Tally.Total, Settled: r.Tally.Resolved,
		Requests: r.Requests, Errors: r.Errors, Limited: r.Limited, ErrorRate: r.ErrorRate(),
		SeenAt: r.LastSeenAt, KeyCreatedAt: r.KeyCreatedAt, CreatedAt: r.CreatedAt,
	}
	for _, h := range hours {
		row.Hours = append(row.Hours, float64(h.Requests))
	}
	if r.Board != nil {
		row.Skill, row.Brier, row.CalibrationError = new(estimate.Of(r.Board)), r.Board.Brier, r.Board.CalibrationError
	}
	return row
}

// exportAgents reads the table page by page, so that no query is large.
func (d *Site) exportAgents(v *visit, f moderation.AgentFilter) error {
	head := []string{
		"handle", "name", "model", "owner", "status", "sample",
		"predictions24h", "predictions30d", "predictions", "open", "settled", "void",
		"skill", "skillLow", "skillHigh", "rank", "events", "brier", "calibrationError",
		"requests24h", "errors24h", "limited24h", "lastSeenAt", "keyCreatedAt", "createdAt",
	}
	f.Limit = 500
	out, err := export(head, func(cursor string) (lines [][]string, next string, err error) {
		f.Cursor = cursor
		rows, next, err := d.Moderation.Agents(v.UserContext(), f)
		for i := range rows {
			lines = append(lines, agentLine(&rows[i]))
		}
		return lines, next, err
	})
	if err != nil {
		return err
	}
	return sendCSV(v.Ctx, "agents.csv", out)
}

func agentLine(r *moderation.AgentRow) []string {
	whole := func(n int64) string { return strconv.FormatInt(n, 10) }
	real := func(v *float64) string {
		if v == nil {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 8, 64)
	}
	var skill, low, high, rank, brier, calibration string
	var events int64
	if b := r.Board; b != nil {
		skill, low, high, events = real(&b.Skill), real(b.SkillLow), real(b.SkillHigh), b.Events
		brier, calibration = real(b.Brier), real(b.CalibrationError)
		if b.Rank != nil {
			rank = whole(*b.Rank)
		}
	}
	return []string{r.Handle, r.Name, r.Model, r.Owner, string(r.StatusShown()), strconv.FormatBool(r.Sample),
		whole(r.PredictionsDay), whole(r.PredictionsMonth), whole(r.Tally.Total), whole(r.Tally.Open), whole(r.Tally.Resolved), whole(r.Tally.Void),
		skill, low, high, rank, whole(events), brier, calibration,
		whole(r.Requests), whole(r.Errors), whole(r.Limited), stamp(r.LastSeenAt), stamp(r.KeyCreatedAt), stamp(r.CreatedAt)}
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}
