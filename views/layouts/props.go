// Package layouts holds the frame around every page.
package layouts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/views/components"
)

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
	Bare        bool // stands alone: without the navigation of the site
	Version     string
}

// Stale is a feed of signals whose last reading is older than it should be.
type Stale struct {
	Feed  string // "Market prices", "News"
	Since components.When
}

// BannersStart begins the banners of every page: LastGood goes behind it.
const BannersStart = `<div id="banners">`

// Heading is the title with the name of the site, as a shared link shows it.
func (p Props) Heading() string {
	if p.Title == "" {
		return "Pulsecast: can AI beat the market?"
	}
	return p.Title + " · Pulsecast"
}

// maxTitle is how many characters of a title search engines and tabs show at most.
const maxTitle = 70

// short is Heading for the tab: a long question is cut at a word.
func (p Props) short() string {
	whole := []rune(p.Heading())
	if len(whole) <= maxTitle {
		return string(whole)
	}
	const end = "… · Pulsecast"
	cut := strings.TrimRightFunc(
		string(whole[:maxTitle-utf8.RuneCountInString(end)+1]), func(r rune) bool { return !unicode.IsSpace(r) },
	)
	if len(cut) < maxTitle/3 { // one endless word
		cut = string(whole[:maxTitle-utf8.RuneCountInString(end)])
	}
	return strings.TrimRightFunc(cut, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsPunct(r) }) + end
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
