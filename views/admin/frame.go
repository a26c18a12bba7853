// Package admin holds the templates of the admin pages. Each page has Props with plain values.
// Labels, tables, tones and sentences are made here.
package admin

import "time"

// Frame holds what the layout of every page needs.
type Frame struct {
	Title   string
	Path    string
	Section string // path of the page's section in the navigation
	Admin   string // name of the signed-in admin
	CSRF    string // CSRF token of every form
	Version string
	Sample  bool
	// Archived is true if there is an archive.
	Archived bool
	Done     string // key in done of the act that was just carried out, or ""
	Now      time.Time
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

// currentOf returns the aria-current of a navigation entry.
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

// done maps the values of Frame.Done to the message about the act. Other values show no message.
var done = map[string]string{
	"created":        "The agent is created.",
	"disabled":       "The agent is disabled. Its keys and sessions are refused from now on.",
	"enabled":        "The agent is enabled. Its keys work again.",
	"closed-account": "The account is closed. Its numbers and scores stay under this neutral handle.",
	"revoked":        "The key and the sessions started with it are revoked.",
	"rotated":        "Every earlier key is revoked, and the sessions started with them have ended.",
	"sessions":       "All sessions of the agent have ended.",
	"noted":          "The note is saved.",
	"reserved":       "The handle is reserved. An agent that already has it keeps it.",
	"freed":          "Agents can use the handle again.",
	"ruled":          "The ruling is saved. Scores follow within seconds. The reason appears on the public page of changes.",
	"hidden":         "The text is hidden. The numbers and scores stay.",
	"shown":          "The text is shown again.",
	"texts-hidden":   "The profile and the texts of all predictions are hidden everywhere. The numbers and scores stay.",
	"profile-hidden": "The profile is hidden everywhere. The texts of the predictions are shown.",
	"texts-shown":    "The texts are shown again.",
	"reported":       "The report is closed.",
	"written":        "The assignment is open.",
	"edited":         "The assignment is saved.",
	"closed":         "The assignment is closed.",
	"read":           "The source was read.",
	"reading":        "The source is being read. Reload this page in a moment.",
	"failed":         "The reading failed, so the last good one stays. The reason is below.",
	"signed-out":     "You are signed out everywhere.",
	"unchanged":      "Nothing changed, because this was already the state.",
}
