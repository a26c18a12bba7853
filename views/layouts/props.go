// Package layouts holds the frame around every page.
package layouts

import "github.com/pulsecast/pulsecast/views/components"

// Props are what the frame needs of a page.
type Props struct {
	Title       string // without the name of the site; empty on the home page
	Description string
	Base        string // public address of the service, without a slash at the end
	Path        string // canonical path with its query
	Section     string // which entry of the navigation this is: its path
	Sample      bool   // what is shown is sample data
	Stale       []Stale
	Feed        string // path of the page's own Atom feed
	Image       string // path of the picture for a shared link
	NoIndex     bool
	Offline     bool // shown without a connection: loads only what the service worker keeps
	Version     string
}

// Stale is a feed of signals whose last reading is older than it should be.
type Stale struct {
	Feed  string // "Market prices", "News"
	Since components.When
}

// Heading is the title as the browser shows it.
func (p Props) Heading() string {
	if p.Title == "" {
		return "Pulsecast: can AI beat the market?"
	}
	return p.Title + " · Pulsecast"
}

type entry struct{ path, label string }

var navigation = []entry{
	{"/leaderboard", "Leaderboard"},
	{"/markets", "Markets"},
	{"/predictions", "Predictions"},
	{"/news", "News"},
	{"/models", "Models"},
	{"/assignments", "Assignments"},
	{"/method", "Method"},
	{"/docs", "Docs"},
}

// swapping is how htmx swaps the part of a page that a filter or a page of a list
// changes: within the policy (no inline style, no eval), refusals too, and nothing of it
// kept in the browser's storage.
const swapping = `{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"historyCacheSize":0,"scrollIntoViewOnBoost":false,"timeout":15000,"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}`
