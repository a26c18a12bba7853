package app_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var (
	phone   = look{width: 390, scheme: "light", script: true}
	desktop = look{width: 1280, scheme: "light", script: true}
	night   = look{width: 1280, scheme: "dark", script: true}
)

// looks are the combinations in which each page is checked: wide and narrow, light and dark, with
// scripts and without. The layout depends on the width and the colours on the scheme, so three of the
// eight combinations suffice. The look without scripts has the width of the narrowest phone.
var looks = []look{phone, night, {360, "dark", false}}

// These are the limits of a first visit.
const (
	maxBytes = 100 << 10 // over the wire, compressed
	maxShift = 0.02      // cumulative layout shift
)

// sitePages returns the addresses of the site, each with something to show, and the expected status
// of each.
func sitePages(t *testing.T, p *process) map[string]int {
	t.Helper()
	first := func(path, list string, pick func(map[string]any) string) string {
		status, answer := p.call("GET", path, "", nil)
		rows, _ := answer[list].([]any)
		if status != 200 || len(rows) == 0 {
			t.Fatalf("%s: %d, %d rows", path, status, len(rows))
		}
		return pick(rows[0].(map[string]any))
	}
	id := func(row map[string]any) string { return fmt.Sprint(row["id"]) }
	open := first("/api/predictions?status=open", "predictions", id)
	resolved := first("/api/predictions?sort=edge", "predictions", id)
	market := first("/api/predictions?status=open", "predictions", func(row map[string]any) string {
		return fmt.Sprint(row["market"].(map[string]any)["id"])
	})
	event := first("/api/intelligence/events", "events", id)
	_, board := p.call("GET", "/api/leaderboard?limit=100", "", nil)
	var ranked, unranked []string
	for _, row := range board["leaderboard"].([]any) {
		row := row.(map[string]any)
		handle := fmt.Sprint(row["agent"].(map[string]any)["handle"])
		switch {
		case row["rank"] != nil:
			ranked = append(ranked, handle)
		case row["provisional"] == true:
			unranked = append(unranked, handle)
		}
	}
	if len(ranked) < 2 || len(unranked) == 0 {
		t.Fatalf("ranked: %v, unranked: %v", ranked, unranked)
	}
	pages := map[string]int{"/markets/none": 404, "/nothing/here": 404, "/markets?sort=sideways": 400}
	for _, path := range []string{"/", "/markets", "/markets?view=markets", "/events/" + url.PathEscape(event), "/markets/" + url.PathEscape(market), "/news", "/predictions",
		"/predictions/" + open, "/predictions/" + resolved, "/leaderboard", "/models", "/compare",
		"/compare?a=" + ranked[0] + "&b=" + ranked[1], "/agents/" + ranked[0], "/agents/" + unranked[0], "/agents/new",
		"/assignments", "/method", "/changes", "/docs", "/docs?with=typescript", "/docs/api", "/docs/updates", "/docs/errors", "/docs/limits", "/docs/mcp", "/docs/clients", "/docs/metaculus", "/docs/backtest",
		"/docs/changelog", "/data", "/terms", "/privacy", "/contact", "/markets?q=nothing+fits+this", "/search", "/search?q=will", "/offline", "/admin/sign-in"} {
		pages[path] = 200
	}
	return pages
}

// TestSiteInABrowser checks every page in every look, and then uses the site by clicking.
func TestSiteInABrowser(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	p, _ := startDemo(t, "RATE_LIMIT_READS=off", "REGISTRATION=open", "REGISTRATION_RATE=off")
	t.Run("pages", func(t *testing.T) { lookAtPages(t, browser, p) })
	t.Run("clicks", func(t *testing.T) { clickThrough(t, browser, p) })
	t.Run("swaps", func(t *testing.T) { swapInPlace(t, browser, p) })
	t.Run("theme", func(t *testing.T) { chooseTheme(t, browser, p) })
	t.Run("visitor", func(t *testing.T) { meetVisitor(t, browser, p) })
	t.Run("live", func(t *testing.T) { refreshLive(t, browser, p) })
	t.Run("once", func(t *testing.T) { askOnce(t, browser, p) })
	t.Run("register", func(t *testing.T) { registerByHand(t, browser, p) })
	t.Run("long name", func(t *testing.T) { nameAtLength(t, browser, p) })
	t.Run("offline", func(t *testing.T) { loseConnection(t, browser, p) }) // stops the process
}

func lookAtPages(t *testing.T, browser context.Context, p *process) {
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	todo := make(chan string)
	status := sitePages(t, p)
	var tabs sync.WaitGroup
	for range 2 {
		b := openTab(t, browser, p.base)
		tabs.Go(func() {
			for path := range todo {
				for _, l := range looks {
					for _, wrong := range b.inspect(path, l, status[path], string(axe)) {
						t.Errorf("%s (%s) %s", path, l, wrong)
					}
				}
			}
		})
	}
	for path := range status {
		todo <- path
	}
	close(todo)
	tabs.Wait()
}

// facts are properties of a page once it is drawn.
type facts struct {
	Title    string
	Headings []string
	Main     int
	Wide     int // width of the content, which can be scrolled to
	Seen     int // width of the window
	Dark     bool
	Broken   []string // images that did not load
	Astray   []string // boosted links and forms that belong to another path
}

const readFacts = `({
	Title: document.title,
	Headings: [...document.querySelectorAll('h1')].map(e => e.textContent.trim()),
	Main: document.querySelectorAll('main').length,
	Wide: document.documentElement.scrollWidth,
	Seen: document.documentElement.clientWidth,
	Dark: (c => c[0] + c[1] + c[2] < 3 * 128)(getComputedStyle(document.body).backgroundColor.match(/\d+(\.\d+)?/g).map(Number)),
	Broken: [...document.images].filter(i => i.complete ? i.naturalWidth === 0 : i.loading !== 'lazy').map(i => i.src),
	Astray: [...document.querySelectorAll('[data-hx-boost] a, form[data-hx-boost]')]
		.filter(e => new URL(e.href ?? e.action).pathname !== location.pathname || e.method === 'post').map(e => e.outerHTML),
})`

// axeRules lists each violation with the first element that has it. Dark pages differ only in their
// colours, so only those are checked there.
const axeRules = `axe.run(document, {
	resultTypes: ['violations'],
	rules: {'target-size': {enabled: true}},
	...(matchMedia('(prefers-color-scheme: dark)').matches ? {runOnly: ['color-contrast', 'link-in-text-block']} : {}),
}).then(r =>
	r.violations.map(v => v.id + ': ' + v.nodes.map(n => n.html.slice(0, 200) + ' ' + n.any.concat(n.all, n.none).map(c => c.message).join('; ').slice(0, 300))[0]))`

const readShift = `new Promise(done => {
	let sum = 0;
	new PerformanceObserver(list => { for (const e of list.getEntries()) sum += e.value; }).observe({type: 'layout-shift', buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => done(sum)));
})`

// readShifted lists the elements that moved, with their places before and after.
const readShifted = `new Promise(done => {
	const moved = [];
	new PerformanceObserver(list => {
		for (const e of list.getEntries()) for (const s of e.sources)
			moved.push([Math.round(e.startTime) + ' ms', s.node?.outerHTML?.slice(0, 200), JSON.stringify(s.previousRect), JSON.stringify(s.currentRect)].join(' '));
	}).observe({type: 'layout-shift', buffered: true});
	requestAnimationFrame(() => requestAnimationFrame(() => done(moved)));
})`

// inspect visits a page and returns all its faults.
func (b *tab) inspect(path string, l look, status int, axe string) []string {
	wrong := b.visit(path, l, status)
	wrong = append(wrong, b.examine(l, status)...)
	if !l.script {
		return wrong
	}
	b.mu.Lock()
	bytes := b.bytes
	b.mu.Unlock()
	if bytes == 0 || bytes > maxBytes {
		wrong = append(wrong, fmt.Sprintf("costs %.0f bytes", bytes))
	}
	if shift, err := b.shift(path, l, status); err != nil || shift >= maxShift {
		moved, _ := evaluate[[]string](b, readShifted, chromedp.EvalAwaitPromise)
		wrong = append(wrong, fmt.Sprintf("shifts by %v (%v); on the last visit moved %q", shift, err, moved))
	}
	return append(wrong, b.runAxe(axe)...)
}

// examine returns the faults of the page that is shown.
func (b *tab) examine(l look, status int) (wrong []string) {
	f, err := evaluate[facts](b, readFacts)
	if err != nil {
		return append(wrong, err.Error())
	}
	add := func(is bool, format string, args ...any) {
		if is {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	add(!strings.Contains(f.Title, "Pulsecast"), "has the title %q", f.Title)
	add(len(f.Headings) != 1 || f.Headings[0] == "", "has the h1 headings %q", f.Headings)
	add(f.Main != 1, "has %d main elements", f.Main)
	add(f.Wide > f.Seen, "is %d px wide in a window of %d px", f.Wide, f.Seen)
	add(int64(f.Seen) != l.width, "has a viewport of %d px", f.Seen)
	add(f.Dark != (l.scheme == "dark"), "ignores the colour scheme")
	add(len(f.Broken) > 0, "has broken images: %v", f.Broken)
	add(status == 200 && len(f.Astray) > 0, "boosts links to other paths: %v", f.Astray)
	return wrong
}

// runAxe returns the accessibility rules that the shown page breaks.
func (b *tab) runAxe(axe string) []string {
	if _, err := evaluate[chromedp.Void](b, axe); err != nil {
		return []string{"cannot load axe: " + err.Error()}
	}
	violations, err := evaluate[[]string](b, axeRules, chromedp.EvalAwaitPromise)
	if err != nil {
		return []string{"axe: " + err.Error()}
	}
	if len(violations) > 0 {
		return []string{fmt.Sprintf("violates %d rules:\n  %s", len(violations), strings.Join(violations, "\n  "))}
	}
	return nil
}

// shift returns the layout shift of the page while it loads: the least of three visits, because an
// overloaded machine draws a page in more steps than any network delivers it.
func (b *tab) shift(path string, l look, status int) (least float64, err error) {
	least, err = evaluate[float64](b, readShift, chromedp.EvalAwaitPromise)
	for range 2 {
		if err != nil || least < maxShift {
			break
		}
		if wrong := b.visit(path, l, status); len(wrong) > 0 {
			return least, fmt.Errorf("on another visit, the page %s", wrong[0])
		}
		var again float64
		again, err = evaluate[float64](b, readShift, chromedp.EvalAwaitPromise)
		least = min(least, again)
	}
	return least, err
}

// nameAtLength gives an agent the longest name, in one word, and checks that no page becomes wider than its window, down to the 320 px
// at which a page has to work.
func nameAtLength(t *testing.T, browser context.Context, p *process) {
	const handle = "harbor-pilot"
	key := keyOf(t, p, handle)
	if status, answer := p.call("PATCH", "/api/agents/me", key, map[string]any{"name": strings.Repeat("Abcdefghij", 8)}); status != 200 {
		t.Fatal(status, answer)
	}
	market := forecastMarket(t, p)
	status, answer := p.call("POST", "/api/predictions", key, map[string]any{"marketId": market, "thesis": "Because.", "confidence": 0.4})
	if status != 200 {
		t.Fatal(status, answer)
	}
	prediction := fmt.Sprint(answer["prediction"].(map[string]any)["id"])
	b := openTab(t, browser, p.base)
	for _, path := range []string{
		"/", "/leaderboard", "/markets/" + url.PathEscape(market), "/predictions/" + prediction, "/predictions?market=" + url.QueryEscape(market),
		"/agents/" + handle, "/compare?a=" + handle, "/compare?a=" + handle + "&b=slow-lantern",
	} {
		for _, l := range []look{phone, desktop, {320, "light", false}} {
			for _, wrong := range append(b.visit(path, l, 200), b.examine(l, 200)...) {
				t.Errorf("%s (%s) %s", path, l, wrong)
			}
		}
	}
}

// registerByHand registers an agent with the form and checks the page that shows its key.
func registerByHand(t *testing.T, browser context.Context, p *process) {
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range looks {
		b := openTab(t, browser, p.base)
		wrong := b.visit("/agents/new", l, 200)
		if err := b.follow(
			chromedp.SetValue(chromedp.CSS("form.register [name=name]"), fmt.Sprintf("By hand %d", i)),
			chromedp.Click(chromedp.CSS("form.register button[type=submit]")),
		); err != nil {
			t.Fatal(err)
		}
		wrong = append(wrong, b.examine(l, 200)...)
		if l.script {
			wrong = append(wrong, b.runAxe(string(axe))...)
		}
		if key, err := b.texts("main pre"); err != nil || !strings.Contains(strings.Join(key, " "), "pc_") {
			t.Errorf("%s: the page shows no key: %v, %v", l, key, err)
		}
		for _, w := range wrong {
			t.Errorf("%s: the new agent's page %s", l, w)
		}
	}
}

// clickThrough uses lists as a person does, with and without scripts.
func clickThrough(t *testing.T, browser context.Context, p *process) {
	for _, l := range []look{desktop, {390, "light", false}} {
		b := openTab(t, browser, p.base)
		for _, journey := range []struct {
			name, start string
			take        func(*tab) error
		}{
			{"filter", "/markets", filterMarkets}, {"search", "/markets?view=markets", searchMarkets}, {"search everything", "/method", searchEverything},
			{"pages", "/predictions", turnPages}, {"skip", "/leaderboard", skipToContent},
		} {
			if wrong := b.visit(journey.start, l, 200); len(wrong) > 0 {
				t.Errorf("%s (%s): %v", journey.name, l, wrong)
			}
			if err := journey.take(b); err != nil {
				t.Errorf("%s (%s): %v", journey.name, l, err)
			}
		}
	}
}

func click(selector string) chromedp.Action[chromedp.Void] {
	return chromedp.Click(chromedp.CSS(selector))
}

// filterMarkets chooses the second category. Only its markets must stay, and the address must
// contain the filter.
func filterMarkets(b *tab) error {
	chosen, err := b.texts(`nav[aria-label="Category"] li:nth-child(2) a`)
	if err != nil || len(chosen) != 1 {
		return fmt.Errorf("category: %q, %w", chosen, err)
	}
	if err := b.turn(click(`nav[aria-label="Category"] li:nth-child(2) a`)); err != nil {
		return err
	}
	shown, err := b.texts(".group-head .who-note bdi:first-child")
	if err != nil || len(shown) == 0 || slices.ContainsFunc(shown, func(c string) bool { return c != chosen[0] }) {
		return fmt.Errorf("after choosing %q: %q, %w", chosen[0], shown, err)
	}
	return b.addressHas("category", chosen[0])
}

// searchMarkets searches for words of a question.
func searchMarkets(b *tab) error {
	titles, err := b.texts(".market-table th a")
	if err != nil || len(titles) < 2 {
		return fmt.Errorf("markets: %q, %w", titles, err)
	}
	if err := b.turn(chromedp.SendKeys(chromedp.CSS(`main input[name="q"]`), titles[1]+kb.Enter)); err != nil {
		return err
	}
	found, err := b.texts(".market-table th a")
	if err != nil || !slices.Contains(found, titles[1]) || len(found) >= len(titles) {
		return fmt.Errorf("searching for %q found %q, %w", titles[1], found, err)
	}
	return b.addressHas("q", titles[1])
}

// searchEverything uses the search field at the top of every page and follows a result.
func searchEverything(b *tab) error {
	if err := b.follow(chromedp.SendKeys(chromedp.ID("site-q"), "pilot"+kb.Enter)); err != nil {
		return err
	}
	if err := b.addressHas("q", "pilot"); err != nil {
		return err
	}
	names, err := b.texts("section[aria-labelledby=agents] li a")
	if err != nil || len(names) == 0 {
		return fmt.Errorf("agents found: %q, %w", names, err)
	}
	if err := b.follow(click("section[aria-labelledby=agents] li a")); err != nil {
		return err
	}
	heading, err := b.texts("h1")
	if err != nil || len(heading) != 1 || !strings.Contains(heading[0], names[0]) {
		return fmt.Errorf("the page of %q has the heading %q, %w", names[0], heading, err)
	}
	return nil
}

// turnPages goes to the second page and back. No row may be on both pages.
func turnPages(b *tab) error {
	hrefs := `[...document.querySelectorAll('tbody a[href^="/predictions/"]')].map(a => a.pathname)`
	first, err := evaluate[[]string](b, hrefs)
	if err != nil {
		return err
	}
	if err := b.turn(click(`a[rel="next"]`)); err != nil {
		return err
	}
	second, err := evaluate[[]string](b, hrefs)
	if err != nil || len(first) == 0 || len(second) == 0 || slices.ContainsFunc(second, func(h string) bool { return slices.Contains(first, h) }) {
		return fmt.Errorf("pages: %q, then %q, %w", first, second, err)
	}
	if err := b.turn(click(`nav[aria-label="Pages"] a`)); err != nil {
		return err
	}
	again, err := evaluate[[]string](b, hrefs)
	if err != nil || !slices.Equal(first, again) {
		return fmt.Errorf("back on the first page: got %q, want %q, %w", again, first, err)
	}
	return nil
}

// skipToContent uses only the keyboard: the first stop must lead past the navigation.
func skipToContent(b *tab) error {
	if err := chromedp.Do(b.ctx, chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter)); err != nil {
		return err
	}
	at, err := evaluate[string](b, `location.hash + ' ' + document.activeElement.tagName`)
	if err != nil || at != "#content MAIN" {
		return fmt.Errorf("the skip link leads to %q, %w", at, err)
	}
	return nil
}

func (b *tab) addressHas(name, value string) error {
	at, err := chromedp.Run(b.ctx, chromedp.Location())
	if err != nil {
		return err
	}
	u, err := url.Parse(at)
	if err != nil || u.Query().Get(name) != value {
		return fmt.Errorf("got the address %s, %w", at, err)
	}
	return nil
}
