package app_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/pulsecast/pulsecast/app/news"
)

// meetVisitor uses the features that a script adds to pages: charts that show their values, a
// prompt to copy, and menus that close each other.
func meetVisitor(t *testing.T, browser context.Context, p *process) {
	b := openTab(t, browser, p.base)
	visit := func(path string, l look) {
		t.Helper()
		if wrong := b.visit(path, l, 200); len(wrong) > 0 {
			t.Fatal(wrong)
		}
	}
	check := func(what, script string, right func(string) bool) {
		t.Helper()
		if got, err := evaluate[string](b, script); err != nil || !right(got) {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	is := func(want string) func(string) bool { return func(got string) bool { return got == want } }

	market := forecastMarket(t, p)
	const press = `(key => document.querySelector('.chart-reading').dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})))`
	const reading = `(r => [r.role, r.tabIndex, r.getAttribute('aria-valuenow'), r.getAttribute('aria-valuetext') === r.textContent, r.textContent].join('|'))(document.querySelector('.chart-reading'))`
	visit("/markets/"+url.PathEscape(market), desktop)
	check("a chart at the first price", press+`('Home'); `+reading, func(got string) bool {
		return strings.HasPrefix(got, "slider|0|0|true|") && strings.Contains(got, " UTC: ") && strings.HasSuffix(got, "%")
	})
	check("one price later", press+`('ArrowRight'); `+reading, func(got string) bool { return strings.HasPrefix(got, "slider|0|1|true|") })
	check("the cursor in the chart", `String(document.querySelectorAll('.chart .cursor, .chart .cursor-dot').length)`, is("2"))
	check("a dot", `(dot => { dot.focus(); return String(document.querySelector('.chart-reading').textContent === dot.getAttribute('aria-label')) })(document.querySelector('.chart a'))`, is("true"))
	check("a pointer", `(c => { const r = c.getBoundingClientRect();
		c.dispatchEvent(new PointerEvent('pointermove', {clientX: r.left + 1, clientY: r.top + 20, bubbles: true}));
		return document.querySelector('.chart-reading').getAttribute('aria-valuenow') })(document.querySelector('.chart'))`, is("0"))

	visit("/", phone)
	check("the prompt", `(b => { Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text }}});
		b.click(); return String(!b.hidden && window.copied === document.getElementById('join-prompt').textContent) })(document.querySelector('button[data-copy]'))`, is("true"))
	const menu = `(m => [m.open, m.querySelector('a').checkVisibility(), document.activeElement === m.firstElementChild].join(' '))(document.querySelector('.nav-menu'))`
	for _, l := range []look{phone, {360, "light", false}} {
		visit("/markets", l)
		if err := chromedp.Do(b.ctx, click(".nav-menu summary")); err != nil {
			t.Fatal(err)
		}
		check("the menu ("+l.String()+")", menu, func(got string) bool { return strings.HasPrefix(got, "true true") })
		check("the filters ("+l.String()+")", `String(document.querySelector('.filters').offsetHeight < 60)`, is("true"))
	}
	visit("/news?community="+news.Communities[len(news.Communities)-1], phone)
	check("the chosen filter", `(r => String(r.left >= 0 && r.right <= innerWidth))(document.querySelector('.filters .filter-set [aria-current]').getBoundingClientRect())`, is("true"))
	visit("/markets", phone)
	if err := chromedp.Do(b.ctx, click(".nav-menu summary")); err != nil {
		t.Fatal(err)
	}
	check("Escape", `document.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true})); `+menu, is("false false true"))
}

// forecastMarket returns the id of a market with an open prediction.
func forecastMarket(t *testing.T, p *process) string {
	t.Helper()
	_, answer := p.call("GET", "/api/predictions?status=open&limit=50", "", nil)
	for _, row := range answer["predictions"].([]any) {
		if market, linked := row.(map[string]any)["market"].(map[string]any); linked {
			return fmt.Sprint(market["id"])
		}
	}
	t.Fatal("found no open prediction on a market")
	return ""
}
