package admin

import (
	"context"
	"net/url"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/web/estimate"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// usageHours is how many hours of requests an agent's page shows.
const usageHours = 48

// pathAgent returns the agent that the address names. A reference agent has no page here.
func (d *Site) pathAgent(v *visit) (*agent.Agent, error) {
	a, err := d.agents.ByHandle(v.UserContext(), d.DB.Reader, v.param("handle"))
	if err == nil && a.Kind != agent.Ordinary {
		err = problem.NotFound("This is a reference agent: it is computed and has no admin page.")
	}
	return a, err
}

func agentPath(handle string) string { return "/admin/agents/" + url.PathEscape(handle) }

func (d *Site) agent(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	return d.showAgent(v, a, "", "")
}

// showAgent shows an agent's page. secret is a key that was just issued, or "". word is the key of the page's message
// about the act, or "" for no message.
func (d *Site) showAgent(v *visit, a *agent.Agent, secret, word string) error {
	ctx := v.UserContext()
	row, err := d.Moderation.AgentRow(ctx, a.ID)
	if err != nil {
		return err
	}
	declared, err := d.agents.Declared(ctx, d.DB.Reader, a)
	if err != nil {
		return err
	}
	p := views.AgentProps{
		Frame: d.frame(v, a.Name, "/admin/agents"), Handle: a.Handle, Name: a.Name, Declared: views.Profile(declared),
		Owner: a.Owner, Subject: a.Subject, Sample: a.Sample, Disabled: a.Status == agent.Disabled, Status: string(a.Status),
		Texts: textState(a.Visibility), TextsWords: moderation.TextsWords(a.Visibility), Local: d.Config.IdentityURL == "",
		CreatedAt: a.CreatedAt, SeenAt: a.LastSeenAt, DisabledAt: a.DisabledAt, ClosedAt: a.ClosedAt,
		Total: row.Tally.Total, Open: row.Tally.Open, Settled: row.Tally.Resolved, Void: row.Tally.Void,
		PredictionsDay: row.PredictionsDay, PredictionsMonth: row.PredictionsMonth, Secret: secret,
	}
	p.Frame.Path = agentPath(a.Handle)
	if word != "" {
		p.Frame.Done = word
	}
	if b := row.Board; b != nil {
		p.Skill, p.Events, p.Brier, p.CalibrationError = new(estimate.Of(b)), b.Events, b.Brier, b.CalibrationError
	}
	if p.Sessions, err = d.agents.CountSessions(ctx, d.DB.Reader, a.ID, d.Now()); err != nil {
		return err
	}
	for _, add := range []func(context.Context, *agent.Agent, *views.AgentProps) error{d.addUsage, d.addRecentErrors, d.addKeys, d.addPredictions, d.addNotes} {
		if err := add(ctx, a, &p); err != nil {
			return err
		}
	}
	if p.Log, err = d.entriesOn(ctx, audit.AgentTarget(a.Handle), logSize); err != nil {
		return err
	}
	return show(v.Ctx, views.Agent(p))
}

// addUsage adds the agent's requests: the sum, by hour and by endpoint.
func (d *Site) addUsage(ctx context.Context, a *agent.Agent, p *views.AgentProps) error {
	counts, err := d.Usage.Last24h(ctx, d.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	p.Requests, p.Errors, p.Limited, p.ErrorRate = counts.Requests, counts.Errors, counts.Limited, counts.ErrorRate()
	hours, err := d.Usage.ByHour(ctx, d.DB.Reader, []uuid.UUID{a.ID}, usageHours)
	if err != nil {
		return err
	}
	for _, h := range hours[a.ID] {
		p.Hours = append(p.Hours, views.Bar{At: h.At, Requests: h.Requests, Failed: h.Errors + h.Limited})
	}
	endpoints, err := d.Usage.Endpoints(ctx, d.DB.Reader, a.ID, usageHours)
	if err != nil {
		return err
	}
	for i := range endpoints {
		e := &endpoints[i]
		out := views.Endpoint{Method: e.Method, Route: e.Route, Total: e.Total(), Refused: e.Refused, Limited: e.Limited, Failed: e.Failed}
		for _, n := range e.Hours {
			out.Hours = append(out.Hours, float64(n))
		}
		p.Endpoints = append(p.Endpoints, out)
	}
	return nil
}

func (d *Site) addRecentErrors(ctx context.Context, a *agent.Agent, p *views.AgentProps) error {
	list, err := d.Usage.RecentErrors(ctx, d.DB.Reader, a.ID)
	for _, e := range list {
		p.RecentErrors = append(p.RecentErrors, views.RequestError{
			Method: e.Method, Route: e.Route, Code: e.Code, RequestID: e.RequestID, Status: e.Status, At: e.CreatedAt,
		})
	}
	return err
}

func (d *Site) addKeys(ctx context.Context, a *agent.Agent, p *views.AgentProps) error {
	keys, err := d.agents.ListKeys(ctx, d.DB.Reader, a.ID)
	for _, k := range keys {
		p.Keys = append(p.Keys, views.Key{
			ID: k.ID, Label: k.Label, CreatedAt: k.CreatedAt, LastUsedAt: k.LastUsedAt,
			ExpiresAt: k.ExpiresAt, RevokedAt: k.RevokedAt,
		})
	}
	p.KeysWords = moderation.KeysWords(keys)
	return err
}

func (d *Site) addPredictions(ctx context.Context, a *agent.Agent, p *views.AgentProps) error {
	records, _, err := d.predictions.List(ctx, d.DB.Reader, prediction.Filter{AgentID: a.ID, Limit: 20})
	for i := range records {
		r := &records[i]
		p.Predictions = append(p.Predictions, views.AgentPrediction{
			ID: r.ID.String(), Title: r.Title, Status: string(r.Status), Hidden: r.Hidden, Until: until(r),
			Confidence: r.Confidence, Baseline: r.MarketThen(), Edge: points(r.Edge), CreatedAt: r.CreatedAt,
		})
		if r.Market != nil {
			p.Predictions[i].Market = r.Market.Name()
		}
	}
	return err
}

// until returns what the reveal of a prediction waits for, or "" once it is revealed.
func until(r *prediction.Record) string {
	if r.Unrevealed {
		return string(r.Reveal)
	}
	return ""
}

func (d *Site) addNotes(ctx context.Context, a *agent.Agent, p *views.AgentProps) error {
	notes, err := d.Moderation.Notes(ctx, a.ID)
	for _, n := range notes {
		p.Notes = append(p.Notes, views.Note{Text: n.Text, Author: n.Author, At: n.CreatedAt})
	}
	return err
}

// setStatus disables or enables an agent.
func (d *Site) setStatus(v *visit) error {
	handle := v.param("handle")
	target, back := audit.AgentTarget(handle), agentPath(handle)
	switch agent.Status(v.form("status")) {
	case agent.Disabled:
		changed, err := d.Moderation.Disable(v.UserContext(), v.bySeen(), handle)
		return d.afterAct(v, changed, err, target, back, "disabled")
	case agent.Active:
		changed, err := d.Moderation.Enable(v.UserContext(), v.bySeen(), handle)
		return d.afterAct(v, changed, err, target, back, "enabled")
	}
	return about(
		problem.InvalidRequest(problem.Field{Field: "status", Message: "must be active or disabled"}), target, back,
	)
}

// afterAct redirects to a page with the message word, or with a message that nothing changed.
func (d *Site) afterAct(v *visit, changed bool, err error, target, back, word string) error {
	if err != nil {
		return about(err, target, back)
	}
	if !changed {
		word = "unchanged"
	}
	return redirect(v.Ctx, back, word)
}

func (d *Site) issueKey(v *visit) error {
	secret, err := d.Moderation.IssueKey(v.UserContext(), v.bySeen(), v.param("handle"), v.form("label"))
	return d.showKey(v, secret, "", err)
}

// rotateKeys revokes every key of an agent and shows a new one.
func (d *Site) rotateKeys(v *visit) error {
	secret, err := d.Moderation.RotateKeys(v.UserContext(), v.bySeen(), v.param("handle"))
	return d.showKey(v, secret, "rotated", err)
}

// showKey shows the page of the agent with its new key. It doesn't redirect, because the key is shown only in this
// answer.
func (d *Site) showKey(v *visit, secret, word string, err error) error {
	handle := v.param("handle")
	if err != nil {
		return about(err, audit.AgentTarget(handle), agentPath(handle))
	}
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	return d.showAgent(v, a, secret, word)
}

func (d *Site) revokeKey(v *visit) error {
	handle := v.param("handle")
	err := d.Moderation.RevokeKey(v.UserContext(), v.by(), handle, v.form("key"))
	return d.afterAct(v, true, err, audit.AgentTarget(handle), agentPath(handle), "revoked")
}

// closeAccount closes an account for good and redirects to the page with its neutral handle.
func (d *Site) closeAccount(v *visit) error {
	handle := v.param("handle")
	target, back := audit.AgentTarget(handle), agentPath(handle)
	if v.form("confirm") != handle {
		return about(problem.InvalidRequest(problem.Field{Field: "confirm", Message: "must be the handle, " + handle}), target, back)
	}
	closed, err := d.Moderation.CloseAccount(v.UserContext(), v.by(), handle)
	if err != nil {
		return about(err, target, back)
	}
	return redirect(v.Ctx, agentPath(closed.Agent.Handle), "closed-account")
}

func (d *Site) endSessions(v *visit) error {
	handle := v.param("handle")
	changed, err := d.Moderation.EndSessions(v.UserContext(), v.by(), handle)
	return d.afterAct(v, changed, err, audit.AgentTarget(handle), agentPath(handle), "sessions")
}

func (d *Site) addNote(v *visit) error {
	handle := v.param("handle")
	err := d.Moderation.AddNote(v.UserContext(), v.by(), handle, v.form("text"))
	return d.afterAct(v, true, err, audit.AgentTarget(handle), agentPath(handle), "noted")
}
