package admin

import (
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/problem"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// textStates maps the names in forms to which texts of an agent the public sees.
var textStates = map[string]agent.Visibility{
	"shown": agent.Public, "profile": agent.ProfileHidden, "all": agent.TextsHidden,
}

// textState returns the name in textStates of a visibility.
func textState(now agent.Visibility) string {
	for name, v := range textStates {
		if v == now {
			return name
		}
	}
	return ""
}

// previewTexts shows what would change if an agent's texts were hidden or shown again.
func (d *Site) previewTexts(v *visit) error {
	a, err := d.pathAgent(v)
	if err != nil {
		return err
	}
	q, err := readQuery(v.Ctx, "to", "note")
	if err != nil {
		return err
	}
	to, known := textStates[q.get("to")]
	if !known || to == a.Visibility {
		return redirect(v.Ctx, agentPath(a.Handle), "")
	}
	declared, err := d.agents.Declared(v.UserContext(), d.DB.Reader, a)
	if err != nil {
		return err
	}
	row, err := d.Moderation.AgentRow(v.UserContext(), a.ID)
	if err != nil {
		return err
	}
	_, wrong := moderation.CheckReason(q.get("note"))
	return show(v.Ctx, views.Texts(views.TextsProps{
		Frame: d.frame(v, "Texts of "+a.Handle, "/admin/agents"), Handle: a.Handle, From: textState(a.Visibility), To: q.get("to"),
		FromWords: moderation.TextsWords(a.Visibility), ToWords: moderation.TextsWords(to), Note: q.get("note"), NoReason: wrong != nil,
		Public: views.Profile(a.Profile), PublicAfter: views.Profile(a.PublicProfile(declared, to)), Predictions: row.Tally.Total,
	}))
}

// setTexts hides an agent's texts or shows them again.
func (d *Site) setTexts(v *visit) error {
	handle := v.param("handle")
	target, back := audit.AgentTarget(handle), agentPath(handle)
	to, known := textStates[v.form("to")]
	if !known {
		return about(
			problem.InvalidRequest(problem.Field{Field: "to", Message: "must be shown, profile or all"}), target, back,
		)
	}
	words := map[agent.Visibility]string{agent.Public: "texts-shown", agent.ProfileHidden: "profile-hidden", agent.TextsHidden: "texts-hidden"}
	changed, err := d.Moderation.SetTexts(v.UserContext(), v.bySeen(), handle, to)
	return d.afterAct(v, changed, err, target, back, words[to])
}
