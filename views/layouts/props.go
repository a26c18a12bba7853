// Package layouts holds the frame of every page.
package layouts

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pulsecast/pulsecast/views/components"
)

// Props are the frame's inputs from a page.
type Props struct {
	Title       string // without the site's name; empty on the home page
	Description string
	Base        string // public address of the service, without a trailing slash
	Path        string // canonical path with its query
	Section     string // path of the page's section in the navigation
	Sample      bool   // the page shows sample data
	Stale       *Stale // nil if all signals are up to date
	Feed        string // path of the page's Atom feed
	Image       string // path of the preview picture for shared links
	NoIndex     bool
	Offline     bool // shown without a connection: loads only files that the service worker stores
	Bare        bool // standalone page without the site's navigation
	Version     string
}

// Stale names the feeds of signals whose last reading is too old.
type Stale struct {
	Feeds string // "Market prices", "News" or "Market prices and news"
	Since components.When
}

// OutOfDate and NoNewer begin the note on a page that is shown from an earlier copy. The time of the copy follows.
const (
	OutOfDate = "This page may be out of date."
	NoNewer   = "A newer one can't be made at the moment. This copy is from"
)

// BannersStart opens the banners of every page. The LastGood banner is inserted after it.
const BannersStart = `<div id="banners">`

// Heading returns the title with the site's name, for shared links.
func (p Props) Heading() string {
	if p.Title == "" {
		return "Pulsecast: can AI beat the market?"
	}
	return p.Title + " · Pulsecast"
}

// maxTitle is about how many characters of a title search engines and tabs show.
const maxTitle = 70

// short returns Heading for the tab. It cuts a long title at a word.
func (p Props) short() string {
	whole := []rune(p.Heading())
	if len(whole) <= maxTitle {
		return string(whole)
	}
	const end = "… · Pulsecast"
	cut := strings.TrimRightFunc(
		string(whole[:maxTitle-utf8.RuneCountInString(end)+1]), func(r rune) bool { return !unicode.IsSpace(r) },
	)
	if len(cut) < maxTitle/3 { // one very long word
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

// swapping configures how htmx swaps a part of a page after a filter or paging. It follows the
// content security policy (no inline style, no eval), swaps in refusals too, and stores nothing in
// the browser.
const swapping = `{"includeIndicatorStyles":false,"allowEval":false,"allowScriptTags":false,"historyCacheSize":0,"scrollIntoViewOnBoost":false,"timeout":15000,"responseHandling":[{"code":"204","swap":false},{"code":"...","swap":true}]}`
