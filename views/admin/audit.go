package admin

import (
	"net/url"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
)

// AuditProps is the audit log.
type AuditProps struct {
	Frame   Frame
	Values  map[string]string // values of the filters
	Actions []string          // actions to filter by
	Entries []Entry
	Pages   components.Pages
	CSV     string
}

// Entry is one entry of the audit log.
type Entry struct {
	Words, Target, Actor           string
	Gone                           bool // the agent that Target names has this handle no more
	Before, After, Reason, Address string
	At                             time.Time
}

// actionLabels are the labels of actions whose stored name reads badly.
var actionLabels = map[string]string{
	"sign_in":             "Sign-in",
	"sign_out":            "Sign-out",
	"sign_out_everywhere": "Sign-out everywhere",
	"admin_password":      "Admin's password set",
	"text_shown":          "Text shown again",
	"tick_run":            "Source read",
}

func (p *AuditProps) actions() []choice {
	list := []choice{{label: "Everything"}}
	for _, action := range p.Actions {
		label, ok := actionLabels[action]
		if !ok {
			label = components.Capital(strings.ReplaceAll(action, "_", " "))
		}
		list = append(list, choice{value: action, label: label})
	}
	return choose(list, p.Values["action"])
}

func entries(f Frame, list []Entry) table {
	t := table{empty: "Nothing yet", heads: []head{{label: "What"}, {label: "On"}, {label: "Who"}, {label: "Change"},
		{label: "Reason", wide: true}, {label: "When"}, {label: "From", wider: true}}}
	for _, e := range list {
		change := e.After
		if e.Before != "" {
			change = e.Before + " → " + e.After
		}
		at := f.moment(e.At)
		at.note = f.when(e.At).Exact()
		on := text(e.Target)
		if !e.Gone {
			on.href = targetPath(e.Target)
		}
		t.rows = append(t.rows, []cell{text(e.Words), on, text(e.Actor), text(change),
			text(e.Reason), at, {text: e.Address, tone: "nowrap"}})
	}
	return t
}

// targetPath returns the address of the page of an entry's target, or "" if it has none.
func targetPath(target string) string {
	kind, id, _ := strings.Cut(target, ":")
	switch kind {
	case "agent":
		return agentPath(id)
	case "prediction":
		return predictionPath(url.PathEscape(id))
	case "market":
		return marketPath(id)
	case "assignment":
		return assignmentPath(url.PathEscape(id))
	case "handle":
		return "/admin/handles"
	case "feed":
		return "/admin/sources"
	case "admin":
		return "/admin/system"
	}
	return ""
}

// RefusedProps explains the refusal of an act.
type RefusedProps struct {
	Frame   Frame
	Detail  string
	Back    string
	Entries []Entry // the latest acts on the same target
	// Typed holds the fields of the refused form by their names.
	Typed map[string]string
}

// typed lists the texts that the admin has typed, so that they can be sent again.
func typed(form map[string]string) facts {
	list := facts{}
	list.addText("Handle", form["handle"])
	for _, f := range agentFields {
		list.addText(f.label, form[f.name])
	}
	for _, f := range assignmentFields {
		list.addText(f.label, form[f.name])
	}
	list.addText("Instructions", form["instructions"])
	list.addText("Reason", form["note"])
	list.addText("Note", form["text"])
	return list
}
