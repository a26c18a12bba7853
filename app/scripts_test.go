package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// place is the reader's place after a part of the page was swapped.
type place struct {
	Path, Title, Heading, Focus, Said, Current string
	Scroll                                     float64
	Stale                                      []string // head elements that differ from those of a fresh page
}

const readPlace = `fetch(location.href).then(r => r.text()).then(html => [document, new DOMParser().parseFromString(html, 'text/html')].map(d =>
	[...d.head.querySelectorAll('title, meta[name=robots], meta[name=description], meta[property], link[rel=canonical], link[rel=alternate]')].map(e => e.outerHTML).sort()
)).then(([here, fresh]) => ({
	Path: location.pathname + location.search,
	Title: document.title,
	Heading: document.querySelector('h1').textContent.trim(),
	Focus: (e => e.id || e.textContent.trim())(document.activeElement),
	Said: document.getElementById('announcement').textContent,
	Current: (document.querySelector('#site-nav [aria-current]') ?? {}).textContent ?? '',
	Scroll: scrollY,
	Stale: here.filter(line => !fresh.includes(line)).concat(fresh.filter(line => !here.includes(line))),
}))`

// swapInPlace checks the focus, the announcement, the head and the history through filters, a
// search, pages and a refusal, in one window.
func swapInPlace(t *testing.T, browser context.Context, p *process) {
	b := openTab(t, browser, p.base)
	if wrong := b.visit("/markets", desktop, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	at := func(step string, check func(place) bool) {
		t.Helper()
		if got, err := evaluate[place](b, readPlace, chromedp.EvalAwaitPromise); err != nil || len(got.Stale) > 0 || !check(got) {
			t.Errorf("after %s: %+v, %v", step, got, err)
		}
	}
	swap := func(step string, action chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := b.swap(action); err != nil {
			t.Fatalf("%s: %v", step, err)
		}
	}
	do := func(script string) chromedp.Action[chromedp.Void] {
		return chromedp.Evaluate[chromedp.Void](script + "; undefined")
	}
	const category = `nav[aria-label="Category"] li:nth-child(2) a`
	named, err := b.texts(category)
	if err != nil || len(named) != 1 {
		t.Fatal(named, err)
	}

	swap("a filter by keyboard", do(`document.querySelector('`+category+`').focus(); document.activeElement.click()`))
	at("a filter", func(g place) bool {
		return g.Path == "/markets?category="+named[0] && g.Focus == named[0] && strings.HasPrefix(g.Said, "Markets: ") &&
			strings.HasSuffix(g.Said, " shown") && g.Current == "Markets"
	})
	swap("a sort", click(`nav[aria-label="Sort"] li:nth-child(2) a`))
	at("a sort", func(g place) bool { return strings.Contains(g.Path, "sort=") && strings.Contains(g.Path, "category=") })
	swap("a search", chromedp.SendKeys(chromedp.CSS(`main input[name="q"]`), "nothing fits this"+kb.Enter))
	at("a search", func(g place) bool {
		return strings.Contains(g.Path, "q=nothing%20fits%20this") && strings.Contains(g.Path, "category=") && g.Focus == "q" && g.Said == "Markets: No market matches"
	})
	swap("back", do(`history.back()`))
	at("going back", func(g place) bool { return !strings.Contains(g.Path, "q=") && strings.Contains(g.Path, "sort=") })
	swap("back again", do(`history.back()`))
	swap("back to the start", do(`history.back()`))
	at("going back to the start", func(g place) bool { return g.Path == "/markets" })
	swap("forward", do(`history.forward()`))
	at("going forward", func(g place) bool { return g.Path == "/markets?category="+named[0] })

	b.mu.Lock()
	b.expected = 400 // which the browser logs
	b.mu.Unlock()
	swap("a refusal", do(`(f => { f.innerHTML += '<input type="hidden" name="sort" value="sideways">'; f.requestSubmit() })(document.querySelector('main form'))`))
	at("a refusal", func(g place) bool {
		return strings.Contains(g.Path, "sort=sideways") && g.Current == "" && strings.HasPrefix(g.Said, g.Heading+": ") && g.Heading != "Markets" && strings.Contains(g.Title, g.Heading)
	})

	if wrong := b.visit("/predictions", desktop, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	swap("the next page", do(`scrollTo(0, 700); document.querySelector('a[rel=next]').click()`))
	at("the next page", func(g place) bool {
		return strings.Contains(g.Path, "cursor=") && g.Focus == "content" && g.Scroll == 0
	})
	swap("back a page", do(`history.back()`))
	at("going back a page", func(g place) bool { return g.Path == "/predictions" && g.Scroll == 700 })
}

// chooseTheme clicks the theme switch through its choices, under both system themes.
func chooseTheme(t *testing.T, browser context.Context, p *process) {
	type shown struct {
		Dark, Light bool
		Label       string
		Bars        []string
	}
	const read = `(c => ({Dark: c[0] < 64, Light: c[0] > 192,
		Label: document.querySelector('.theme-switch').getAttribute('aria-label'),
		Bars: [...document.querySelectorAll('meta[name=theme-color]')].map(m => m.content)}))(
		getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number))`
	b := openTab(t, browser, p.base)
	light, dark := "#ffffff", "#181b20"
	for _, l := range []look{{390, "dark", true}, desktop} {
		inDark := l.scheme == "dark"
		expect := func(when, choice string, isDark bool, bars ...string) {
			t.Helper()
			got, err := evaluate[shown](b, read)
			if err != nil || got.Dark != isDark || got.Light == isDark || got.Label != "Theme: "+choice || !slices.Equal(got.Bars, bars) {
				t.Errorf("%s (%s): %+v, %v; want %s", when, l, got, err, choice)
			}
		}
		visit := func(path string) {
			t.Helper()
			if wrong := b.visit(path, l, 200); len(wrong) > 0 {
				t.Fatal(wrong)
			}
		}
		press := func() {
			t.Helper()
			if err := chromedp.Do(b.ctx, click(".theme-switch")); err != nil {
				t.Fatal(err)
			}
		}
		visit("/")
		expect("at first", "system", inDark, light, dark)
		press()
		expect("once", "light", false, light, light)
		visit("/markets")
		expect("on the next page", "light", false, light, light)
		press()
		expect("twice", "dark", true, dark, dark)
		visit("/admin/sign-in")
		expect("on the admin sign-in page", "dark", true, dark, dark)
		press()
		expect("three times", "system", inDark, light, dark)
		visit("/")
		expect("at the end", "system", inDark, light, dark)
		if wide, err := evaluate[int](b, `document.documentElement.scrollWidth - innerWidth`); err != nil || wide > 0 {
			t.Errorf("%s: %d px too wide, %v", l, wide, err)
		}
	}
	if wrong := b.visit("/", look{1280, "light", false}, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	if seen, err := evaluate[string](b, `getComputedStyle(document.querySelector('.theme-switch')).display`); err != nil || seen != "none" {
		t.Errorf("without scripts the switch is %q, %v", seen, err)
	}
}
