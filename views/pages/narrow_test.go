package pages_test

import (
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/views/pages"
)

// TestMenu checks that the header has the same links as a row and as a menu, and that the menu
// needs no script.
func TestMenu(t *testing.T) {
	t.Parallel()
	for path, page := range all() {
		doc := render(t, page)
		links := func(selector string) string {
			return strings.Join(doc.Find(selector+" a").Map(func(_ int, a *goquery.Selection) string {
				return a.AttrOr("href", "") + " " + a.AttrOr("aria-current", "") + " " + a.Text()
			}), "; ")
		}
		row, menu := links("#site-nav .nav-row"), links("#site-nav details.nav-menu .nav-list")
		if row != menu || !strings.Contains(row, "/markets") {
			t.Errorf("%s: the row has %q, the menu %q", path, row, menu)
		}
		if doc.Find("details.nav-menu[open]").Length() != 0 || text(doc.Find("details.nav-menu summary")) != "Menu" {
			t.Errorf("%s: the menu isn't folded", path)
		}
	}
}

// TestSetFiltersComeFirst checks that a filter that is set comes first, so that it stays visible
// where the filters scroll.
func TestSetFiltersComeFirst(t *testing.T) {
	t.Parallel()
	board := leaderboard()
	board.Windows[0].Current, board.Windows[2].Current = false, true
	set := render(t, pages.Leaderboard(board)).Find(".filters .filter-set")
	if set.Length() != 1 || text(set.Find("[aria-current=true]")) != "90 days" {
		t.Errorf("%d filters are set: %q", set.Length(), text(set))
	}
}
