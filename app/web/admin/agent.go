package admin

import (
	"context"
	"net/url"

	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// pathAgent is the agent that the address names; a reference agent has no page here.
func (d *Desk) pathAgent(v *visit) (*agent.Agent, error) {
	a, err := d.agents.ByHandle(v.UserContext(), d.DB.Reader, v.param("handle"))
	if err == nil && a.Kind != agent.Ordinary {
		err = problem.NotFound("This one is computed, not an agent.")
	}
	return a, err
}

func agentPath(a *agent.Agent) string { return "/admin/agents/" + url.PathEscape(a.Handle) }

func (d *Desk) agent(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	return d.showAgent(v, a, "")
}

// showAgent shows an agent's page; secret is a key that was just issued.
func (d *Desk) showAgent(v *visit, a *agent.Agent, secret string) error {
	ctx, db := v.UserContext(), d.DB.Reader
	row, err := d.admins.RowOf(ctx, db, a.ID)
	if err != nil {
		return err
	}
	counts, err := d.Usage.Last24h(ctx, db, a.ID)
	if err != nil {
		return err
	}
	row.Requests, row.Errors, row.Limited = counts.Requests, counts.Errors, counts.Limited
	declared, err := d.agents.Declared(ctx, db, a)
	if err != nil {
		return err
	}
	p := views.AgentProps{
		Frame: d.frame(v, a.Name, "/admin/agents"), Handle: a.Handle, Name: a.Name, Sample: a.Sample, Disabled: a.Status == agent.Disabled,
		Local: d.Config.IdentityURL == "", Seen: string(a.Status), Facts: d.agentFacts(a, &declared, &row), Secret: secret, Hidden: a.Visibility.HidesProfile(), Texts: textChoices(a.Visibility),
	}
	p.Frame.Path = agentPath(a)
	if p.Sessions, err = d.agents.CountSessions(ctx, db, a.ID, d.Now()); err != nil {
		return err
	}
	for _, add := range []func(context.Context, *visit, *agent.Agent, *views.AgentProps) error{d.addUsage, d.addKeys, d.addPredictions, d.addNotes} {
		if err := add(ctx, v, a, &p); err != nil {
			return err
		}
	}
	if p.Log, err = d.logOf(ctx, domain.AgentTarget(a.Handle)); err != nil {
		return err
	}
	return show(v.Ctx, views.Agent(p))
}

func (d *Desk) agentFacts(a *agent.Agent, declared *agent.Profile, r *domain.Row) []views.Fact {
	list := []views.Fact{{Name: "Handle", Cell: views.Cell{Text: a.Handle}}}
	add := func(name, text string) {
		if text != "" {
			list = append(list, views.Fact{Name: name, Cell: views.Cell{Text: text}})
		}
	}
	if a.Visibility.HidesProfile() {
		add("Public texts", visibilityWords[a.Visibility])
		add("Name", declared.Name)
	}
	add("Model", declared.Model)
	add("Framework", declared.Framework)
	add("Description", declared.Description)
	add("Homepage", declared.Homepage)
	add("Owner", a.Owner)
	add("Subject", a.Subject)
	list = append(list, views.Fact{Name: "Joined", Cell: d.moment(a.CreatedAt)}, views.Fact{Name: "Last seen", Cell: d.moment(a.LastSeenAt)})
	if a.Status == agent.Disabled {
		list = append(list, views.Fact{Name: "Disabled", Cell: d.moment(a.DisabledAt)})
	}
	add("Predictions", components.Count(int(r.Total))+": "+components.Count(int(r.Open))+" open, "+components.Count(int(r.Settled))+" settled, "+components.Count(int(r.Void))+" void; "+
		components.Count(int(r.PredictionsDay))+" in 24 h, "+components.Count(int(r.PredictionsMonth))+" in 30 d")
	add("Requests, 24 h", components.Count(int(r.Requests))+", "+components.Count(int(r.Errors))+" failed, "+components.Count(int(r.Limited))+" limited ("+components.ExactPercent(r.ErrorRate())+")")
	if r.Skill != nil {
		skill := skillCell(r)
		add("Skill", skill.Text+" ("+skill.Note+") over "+components.Plural(int(r.Events), "event", "events"))
	}
	add("Brier", figure(r.Brier, components.Brier).Text)
	add("Calibration error", figure(r.CalibrationError, components.ExactPercent).Text)
	return list
}

func (d *Desk) addKeys(ctx context.Context, v *visit, a *agent.Agent, p *views.AgentProps) error {
	keys, err := d.agents.ListKeys(ctx, d.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	p.Keys = views.Table{CSRF: v.csrf, Empty: "It has no key", Heads: []views.Head{{Label: "Id"}, {Label: "Label"}, {Label: "Made"}, {Label: "Last used"}, {Label: "Revoked"}}}
	for _, k := range keys {
		last := d.moment(k.RevokedAt)
		if k.RevokedAt.IsZero() {
			last = views.Cell{Button: &views.Button{Action: agentPath(a) + "/keys/revoke", Label: "Revoke", Danger: true, Fields: []components.Field{{Name: "key", Value: k.ID}}}}
		}
		p.Keys.Rows = append(p.Keys.Rows, []views.Cell{{Text: k.ID}, {Text: k.Label}, d.moment(k.CreatedAt), d.moment(k.LastUsedAt), last})
	}
	return nil
}

func (d *Desk) addPredictions(ctx context.Context, _ *visit, a *agent.Agent, p *views.AgentProps) error {
	records, _, err := d.predictions.List(ctx, d.DB.Reader, prediction.Filter{AgentID: a.ID, Limit: 20})
	if err != nil {
		return err
	}
	p.Predictions = views.Table{Empty: "It has published nothing", Heads: []views.Head{
		{Label: "Question"}, {Label: "Says", Num: true}, {Label: "Market", Num: true}, {Label: "Status"}, {Label: "Edge", Num: true, Wide: true}, {Label: "Published", Wide: true}}}
	for i := range records {
		r := &records[i]
		edge := views.Cell{Num: true, Wide: true}
		if r.Edge != nil {
			edge.Text = components.Signed(r.Edge.Float(), 1)
		}
		published := d.moment(r.CreatedAt)
		published.Wide = true
		title := views.Cell{Text: r.Title, Href: predictionPath(r.ID)}
		if r.Hidden {
			title.Note = "text hidden"
		}
		p.Predictions.Rows = append(p.Predictions.Rows, []views.Cell{title, {Text: components.Percent(r.Confidence), Num: true},
			figure(r.Baseline, components.Percent), {Text: string(r.Status), Badge: "badge-" + string(r.Status)}, edge, published})
	}
	return nil
}

func (d *Desk) addNotes(ctx context.Context, _ *visit, a *agent.Agent, p *views.AgentProps) error {
	notes, err := d.admins.Notes(ctx, d.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	p.Notes = views.Table{Empty: "No note yet", Heads: []views.Head{{Label: "Note"}, {Label: "By"}, {Label: "When"}}}
	for _, n := range notes {
		p.Notes.Rows = append(p.Notes.Rows, []views.Cell{{Text: n.Text}, {Text: n.Author}, d.moment(n.CreatedAt)})
	}
	return nil
}

// setStatus shuts an agent out or lets it in again.
func (d *Desk) setStatus(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	e := d.entry(v, domain.ActAgentDisabled, domain.AgentTarget(a.Handle))
	to, word := agent.Disabled, "disabled"
	switch v.form("status") {
	case string(agent.Disabled):
	case string(agent.Active):
		to, e.Action, word = agent.Active, domain.ActAgentEnabled, "enabled"
	default:
		return about(problem.InvalidRequest(problem.Field{Field: "status", Message: "must be active or disabled"}), e.Target, agentPath(a))
	}
	e.After = string(to)
	err = d.actOnAgent(v, a, &e, func(ctx context.Context, tx bun.Tx, now *agent.Agent) error {
		e.Before = string(now.Status)
		if seen := v.form("seen"); seen != string(now.Status) {
			return changedMeanwhile(seen, string(now.Status))
		}
		_, err := d.agents.SetStatus(ctx, tx, a.ID, to, d.Now())
		return err
	})
	if err != nil {
		return err
	}
	return goOn(v.Ctx, agentPath(a), word)
}

// needsReason are the acts on an agent that want one.
var needsReason = map[string]bool{
	domain.ActAgentDisabled: true, domain.ActAgentEnabled: true, domain.ActTextHidden: true, domain.ActTextShown: true,
}

// actOnAgent runs an act on an agent that nobody else can change meanwhile, writes
// its entry with the form's reason, and has this node forget what it knew of keys.
func (d *Desk) actOnAgent(v *visit, a *agent.Agent, e *domain.Entry, act func(ctx context.Context, tx bun.Tx, now *agent.Agent) error) error {
	var err error
	if e.Note, err = domain.CheckText("note", v.form("note"), needsReason[e.Action]); err == nil {
		err = d.DB.InTx(v.UserContext(), func(ctx context.Context, tx bun.Tx) error {
			now, err := d.agents.Lock(ctx, tx, a.ID)
			if err != nil {
				return err
			}
			if err := act(ctx, tx, now); err != nil {
				return err
			}
			return d.admins.Record(ctx, tx, *e)
		})
	}
	if err != nil {
		return about(err, e.Target, agentPath(a))
	}
	d.recheck(v)
	return nil
}

// recheck has this node learn at once what an act took away: access, or a text.
func (d *Desk) recheck(v *visit) {
	if err := d.Recheck(v.UserContext()); err != nil {
		d.Log.Warn("not rechecked at once; every node does within a second", "error", err)
	}
}

func (d *Desk) issueKey(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	e := d.entry(v, domain.ActKeyIssued, domain.AgentTarget(a.Handle))
	if d.Config.IdentityURL != "" {
		return about(problem.New(problem.CodeNotLocal, "The identity provider issues the keys of agents; none is issued here."), e.Target, agentPath(a))
	}
	var secret string
	err = d.actOnAgent(v, a, &e, func(ctx context.Context, tx bun.Tx, now *agent.Agent) error {
		made, key, err := d.agents.IssueKey(ctx, tx, a.ID, v.form("label"), d.Now())
		if err != nil {
			return err
		}
		secret, e.After = made, "key "+key.ID
		if key.Label != "" {
			e.After += " (" + key.Label + ")"
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Not a redirect: the key is shown in this one answer and nowhere else.
	return d.showAgent(v, a, secret)
}

func (d *Desk) revokeKey(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	id := v.form("key")
	e := d.entry(v, domain.ActKeyRevoked, domain.AgentTarget(a.Handle))
	e.Before, e.After = "key "+id, "revoked"
	err = d.actOnAgent(v, a, &e, func(ctx context.Context, tx bun.Tx, now *agent.Agent) error {
		keys, err := d.agents.ListKeys(ctx, tx, a.ID)
		if err != nil {
			return err
		}
		for _, k := range keys {
			if k.ID == id && !k.RevokedAt.IsZero() {
				return changedMeanwhile("a key that works", "revoked")
			}
		}
		return d.agents.RevokeKey(ctx, tx, a.ID, id, d.Now())
	})
	if err != nil {
		return err
	}
	return goOn(v.Ctx, agentPath(a), "revoked")
}

func (d *Desk) endSessions(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	e := d.entry(v, domain.ActSessionsEnded, domain.AgentTarget(a.Handle))
	err = d.actOnAgent(v, a, &e, func(ctx context.Context, tx bun.Tx, now *agent.Agent) error {
		n, err := d.agents.EndAgentSessions(ctx, tx, a.ID)
		e.Before, e.After = components.Plural(int(n), "session", "sessions"), "none"
		return err
	})
	if err != nil {
		return err
	}
	return goOn(v.Ctx, agentPath(a), "sessions")
}

func (d *Desk) addNote(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	e := d.entry(v, domain.ActNote, domain.AgentTarget(a.Handle))
	err = d.actOnAgent(v, a, &e, func(ctx context.Context, tx bun.Tx, now *agent.Agent) error {
		e.After = v.form("text")
		return d.admins.AddNote(ctx, tx, domain.Note{AgentID: a.ID, Author: v.admin.Name, Text: e.After, CreatedAt: database.Now(d.Now())})
	})
	if err != nil {
		return err
	}
	return goOn(v.Ctx, agentPath(a), "noted")
}
