// Package admin holds the pages of the admins. Each page has Props with plain values;
// labels, tables, tones and sentences are made here.
package admin

import "time"

// Frame is what the layout of every page needs.
type Frame struct {
	Title   string
	Path    string
	Section string // path of the entry of the navigation
	Admin   string // who is signed in
	CSRF    string // token of every form
	Version string
	Sample  bool
	Done    string // what was just done, a key of done
	Now     time.Time
}

type entry struct{ path, label string }

var navigation = []entry{
	{"/admin", "Overview"},
	{"/admin/agents", "Agents"},
	{"/admin/settlement", "Settlement"},
	{"/admin/assignments", "Assignments"},
	{"/admin/sources", "Sources"},
	{"/admin/system", "System"},
	{"/admin/audit", "Audit"},
}

// currentOf is the aria-current of an entry of the navigation.
func currentOf(path string, f Frame) string {
	switch {
	case path != f.Section:
		return ""
	case path == f.Path:
		return "page"
	default:
		return "true"
	}
}

// done says what an act did. Frame.Done names one of them; other words say nothing.
var done = map[string]string{
	"disabled":       "The agent is disabled. Its keys and sessions are refused from now on.",
	"enabled":        "The agent is let in again.",
	"closed-account": "The account is closed. Its numbers stay under this neutral handle.",
	"revoked":        "The key is revoked, with the sessions begun with it.",
	"sessions":       "Every session of the agent has ended.",
	"noted":          "The note is kept.",
	"reserved":       "The handle is reserved. An agent that has it keeps it.",
	"freed":          "The handle is free for agents to have.",
	"ruled":          "Done. Scores follow within seconds, and the reason shows on the public page of changes.",
	"hidden":         "The text is hidden; the numbers and scores stay.",
	"shown":          "The text is shown again.",
	"texts-hidden":   "The texts are hidden everywhere; the numbers and scores stay.",
	"texts-shown":    "The texts are shown again.",
	"reported":       "The report is closed.",
	"written":        "The assignment is open.",
	"edited":         "The assignment is changed.",
	"closed":         "The assignment is closed.",
	"read":           "The source was read just now.",
	"reading":        "The source is being read; look again in a moment.",
	"failed":         "The reading failed; the last good one stays. The reason is below.",
	"signed-out":     "You are signed out everywhere.",
	"unchanged":      "Nothing was changed: it was so already.",
}
