package admin

import (
	"context"

	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
	"github.com/pulsecast/pulsecast/views/components"
)

// visibilityWords are the three states as people read them.
var visibilityWords = map[agent.Visibility]string{
	agent.Public:        "shown",
	agent.ProfileHidden: "what it says of itself hidden",
	agent.TextsHidden:   "everything it wrote hidden",
}

// visibilityForm names the states in forms, where an empty value says nothing.
var visibilityForm = map[string]agent.Visibility{"shown": agent.Public, "profile": agent.ProfileHidden, "all": agent.TextsHidden}

// textChoices are the states other than the one there is.
func textChoices(now agent.Visibility) []views.Choice {
	var list []views.Choice
	for _, c := range []views.Choice{
		{Value: "shown", Label: "Show everything again"},
		{Value: "profile", Label: "Hide what it says of itself"},
		{Value: "all", Label: "Hide that, and the texts of all its predictions"},
	} {
		if visibilityForm[c.Value] != now {
			list = append(list, c)
		}
	}
	return list
}

// previewTexts shows what hiding an agent's texts, or showing them again, changes.
func (d *Desk) previewTexts(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	q, err := readQuery(v.Ctx, "to", "note")
	if err != nil {
		return err
	}
	to, known := visibilityForm[q.get("to")]
	if !known || to == a.Visibility {
		return goOn(v.Ctx, agentPath(a), "")
	}
	declared, err := d.agents.Declared(v.UserContext(), d.DB.Reader, a)
	if err != nil {
		return err
	}
	row, err := d.admins.RowOf(v.UserContext(), d.DB.Reader, a.ID)
	if err != nil {
		return err
	}
	p := views.TextsProps{
		Frame: d.frame(v, "Texts of "+a.Handle, "/admin/agents"), Agent: agentPath(a), Choice: q.get("to"), Note: q.get("note"),
		From: visibilityWords[a.Visibility], To: visibilityWords[to], Hides: to.HidesProfile(), Texts: textChanges(a, declared, to), Predictions: predictionTexts(row.Total, a.Visibility, to),
	}
	if _, err := domain.CheckText("note", p.Note, true); err != nil {
		p.Error = "Give a reason on the page of the agent first."
	}
	return show(v.Ctx, views.Texts(p))
}

// textChanges lists what an agent declares as the public sees it now and will see it.
func textChanges(a *agent.Agent, declared agent.Profile, to agent.Visibility) views.Table {
	seen := a.PublicProfile(declared, to)
	t := views.Table{Heads: []views.Head{{Label: "Text"}, {Label: "Public now"}, {Label: "Public then"}}}
	for _, c := range []struct{ name, now, then string }{
		{"Name", a.Name, seen.Name}, {"Model", a.Model, seen.Model}, {"Framework", a.Framework, seen.Framework},
		{"Description", a.Description, seen.Description}, {"Homepage", a.Homepage, seen.Homepage},
	} {
		if c.now != "" || c.then != "" {
			t.Rows = append(t.Rows, []views.Cell{{Text: c.name}, orNothing(c.now), orNothing(c.then)})
		}
	}
	return t
}

func orNothing(text string) views.Cell {
	if text == "" {
		return views.Cell{Text: "nothing", Tone: "muted"}
	}
	return views.Cell{Text: text}
}

// predictionTexts says what becomes of the texts of predictions.
func predictionTexts(total int64, from, to agent.Visibility) string {
	n := components.Plural(int(total), "prediction", "predictions")
	switch {
	case to.HidesTexts():
		return "The titles, theses and evidence of " + n + ", and of those to come, are hidden too. Each stays listed without its texts, with its numbers and scores."
	case from.HidesTexts():
		return "The texts of " + n + " are shown again, but for those that were hidden one by one."
	}
	return "The texts of its predictions stay as they are."
}

// setTexts hides an agent's texts or shows them again, if they still are as the admin
// saw them.
func (d *Desk) setTexts(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	target := domain.AgentTarget(a.Handle)
	to, known := visibilityForm[v.form("to")]
	if !known {
		return about(problem.InvalidRequest(problem.Field{Field: "to", Message: "must be shown, profile or all"}), target, agentPath(a))
	}
	e, word := d.entry(v, domain.ActTextHidden, target), "texts-hidden"
	if !to.HidesProfile() {
		e.Action, word = domain.ActTextShown, "texts-shown"
	}
	e.After = visibilityWords[to]
	err = d.actOnAgent(v, a, &e, func(ctx context.Context, tx bun.Tx, now *agent.Agent) error {
		e.Before = visibilityWords[now.Visibility]
		if seen := v.form("seen"); seen != e.Before {
			return changedMeanwhile(seen, e.Before)
		}
		changed, err := d.agents.SetVisibility(ctx, tx, a.ID, to, d.Now())
		if err != nil {
			return err
		}
		return leaderboard.Relabel(ctx, tx, a.ID, changed.Model)
	})
	if err != nil {
		return err
	}
	return goOn(v.Ctx, agentPath(a), word)
}
