package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/pulsecast/pulsecast/views/components"
)

// place is where a reader is after a part of the page was swapped.
type place struct {
	Path, Title, Heading, Focus, Said, Current string
	Scroll                                     float64
	Stale                                      []string // what the head says otherwise than the page's own
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

// swapInPlace follows the focus, the announcement, the head and the history through
// filters, a search, pages and a refusal, in one window.
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
		return strings.Contains(g.Path, "q=nothing%20fits%20this") && strings.Contains(g.Path, "category=") && g.Focus == "q" && g.Said == "Markets: No market fits"
	})
	swap("back", do(`history.back()`))
	at("going back", func(g place) bool { return !strings.Contains(g.Path, "q=") && strings.Contains(g.Path, "sort=") })
	swap("back again", do(`history.back()`))
	swap("back to the start", do(`history.back()`))
	at("going back to the start", func(g place) bool { return g.Path == "/markets" })
	swap("forward", do(`history.forward()`))
	at("going forward", func(g place) bool { return g.Path == "/markets?category="+named[0] })

	b.mu.Lock()
	b.expected = 400 // and the browser logs it
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

// chooseTheme turns the switch through its choices against the system's.
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
		expect("at the admin's door", "dark", true, dark, dark)
		press()
		expect("three times", "system", inDark, light, dark)
		visit("/")
		expect("in the end", "system", inDark, light, dark)
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

// readAgain has the live regions read once, as the minute does.
func (b *tab) readAgain() error {
	ctx, cancel := context.WithTimeout(b.ctx, 30*time.Second)
	defer cancel()
	_, err := chromedp.Run(ctx, chromedp.Evaluate[chromedp.Void](`new Promise(done => {
		const live = document.querySelector('[data-hx-trigger=live]');
		live.addEventListener('htmx:afterRequest', () => setTimeout(done), {once: true});
		htmx.trigger(live, 'live');
	})`, chromedp.EvalAwaitPromise))
	return err
}

// refreshLive publishes a prediction while the first page is open: it appears there, and
// nothing that is being read or used is touched.
func refreshLive(t *testing.T, browser context.Context, p *process) {
	b := openTab(t, browser, p.base)
	if wrong := b.visit("/", desktop, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Newcomer"})
	key, _ := made["apiKey"].(string)
	status, answer := p.call("POST", "/api/predictions", key, map[string]any{
		"title": "Will the page show this by itself?", "thesis": "It reads itself again.", "confidence": 0.9,
		"horizonAt": time.Now().AddDate(0, 1, 0).UTC(),
	})
	if status != 200 {
		t.Fatal(status, answer)
	}
	shown := func() bool {
		titles, err := b.texts("#live-latest .prediction-title")
		return err == nil && slices.Contains(titles, "Will the page show this by itself?")
	}
	read := func() {
		t.Helper()
		if err := b.readAgain(); err != nil {
			t.Fatal(err)
		}
	}
	do := func(script string) {
		t.Helper()
		if _, err := evaluate[chromedp.Void](b, script+"; undefined"); err != nil {
			t.Fatal(err)
		}
	}
	// With the focus in the region nothing changes, however often the page is read; the
	// counts beside it do, which shows that the new page has come.
	do(`document.querySelector('#live-latest a').focus({preventScroll: true});
		document.querySelector('#live-counts').firstChild.textContent = 'old '; scrollTo(0, 0)`)
	awaitPage(t, p.base+"/", "Will the page show this by itself?")
	read()
	if counts, err := b.texts("#live-counts"); err != nil || strings.HasPrefix(counts[0], "old") || shown() {
		t.Errorf("with the focus inside: counts %q, %v, shown %v", counts, err, shown())
	}
	// In sight, what would change its height waits too.
	do(`document.activeElement.blur(); window.region = document.querySelector('#live-latest');
		region.lastElementChild.append(document.createElement('hr')); region.scrollIntoView()`)
	read()
	if kept, err := evaluate[bool](b, `region.isConnected`); err != nil || !kept {
		t.Errorf("what is in sight changed its height: %v", err)
	}
	do(`scrollTo(0, 0)`)
	read()
	if !shown() {
		t.Error("the prediction did not appear")
	}
	tellTimes(t, b)
	_, open := p.call("GET", "/api/predictions?status=open&limit=50", "", nil)
	for _, row := range open["predictions"].([]any) {
		if market, linked := row.(map[string]any)["market"].(map[string]any); linked {
			b.visit("/markets/"+fmt.Sprint(market["id"]), desktop, 200)
			break
		}
	}
	do(`document.querySelector('.numbers').open = true;
		document.querySelectorAll('#live-figures .stat-value, #live-outcomes .outcome-name, #live-chart text').forEach(e => e.textContent = 'old')`)
	read()
	if left, err := evaluate[string](b, `[...document.querySelectorAll('main *')].filter(e => e.textContent === 'old').length + ' ' + document.querySelector('.numbers').open`); err != nil || left != "0 true" {
		t.Errorf("on the page of a market: %s, %v", left, err)
	}
	// Half a minute is too soon, a hidden page waits, and each reading starts a new minute.
	b.wakes(t, []wake{{30, false}, {70, true}, {70, false}, {90, false}, {140, false}}, []int{0, 0, 1, 1, 2})
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.wrong) > 0 {
		t.Error(b.wrong)
	}
}

// wake is a look at the page, some seconds from now.
type wake struct {
	After  int
	Hidden bool
}

// wakes tells how often the page wanted to read itself by the end of each look.
func (b *tab) wakes(t *testing.T, looks []wake, want []int) {
	t.Helper()
	packed, err := json.Marshal(looks)
	if err != nil {
		t.Fatal(err)
	}
	got, err := evaluate[[]int](b, fmt.Sprintf(`(looks => {
		let asked = 0;
		const now = Date.now;
		const count = event => { asked++; event.preventDefault(); };
		document.addEventListener('htmx:beforeRequest', count);
		const result = looks.map(({After, Hidden}) => {
			Date.now = () => now() + 1000 * After;
			Object.defineProperty(document, 'hidden', {value: Hidden, configurable: true});
			document.dispatchEvent(new Event('visibilitychange'));
			return asked;
		});
		Date.now = now;
		document.removeEventListener('htmx:beforeRequest', count);
		return result;
	})(%s)`, packed))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("reads itself %v, %v; want %v", got, err, want)
	}
}

// awaitPage waits until a page, which the server keeps for a moment, says something.
func awaitPage(t *testing.T, address, words string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); {
		res, err := http.Get(address)
		if err != nil {
			t.Fatal(err)
		}
		page, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(page), words) {
			return
		}
	}
	t.Fatalf("%s never says %q", address, words)
}

// tellTimes compares the words of the script with those of the server.
func tellTimes(t *testing.T, b *tab) {
	var ages []float64
	var want []string
	now := time.Now()
	for _, age := range []time.Duration{
		10 * time.Second, 50 * time.Second, 100 * time.Second, 59*time.Minute + 10*time.Second, 70 * time.Minute, 35 * time.Hour,
		40 * time.Hour, 59 * 24 * time.Hour, -100 * time.Second, -5 * time.Hour, -30 * 24 * time.Hour,
	} {
		ages = append(ages, age.Seconds())
		want = append(want, components.When{At: now.Add(-age), Now: now}.Relative())
	}
	packed, err := json.Marshal(ages)
	if err != nil {
		t.Fatal(err)
	}
	got, err := evaluate[[]string](b, fmt.Sprintf(`(ages => {
		const times = ages.map(age => Object.assign(document.createElement('time'), {dateTime: new Date(Date.now() - 1000 * age).toISOString(), textContent: '?'}));
		document.body.append(...times);
		document.dispatchEvent(new Event('visibilitychange'));
		return times.map(time => { time.remove(); return time.textContent });
	})(%s)`, packed))
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("times: %q, %v; want %q", got, err, want)
	}
}

// loseConnection stops the server under a reader: an open page stays as it is, the next
// one is the page that says so, and nothing else was ever kept.
func loseConnection(t *testing.T, browser context.Context, p *process) {
	b := openTab(t, browser, p.base)
	if err := b.call(bypassServiceWorker(false)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/docs", "/"} {
		if wrong := b.visit(path, phone, 200); len(wrong) > 0 {
			t.Fatal(wrong)
		}
		if ready, err := evaluate[bool](b, `navigator.serviceWorker.ready.then(() => fetch('/api/stats')).then(r => true)`, chromedp.EvalAwaitPromise); err != nil || !ready {
			t.Fatal("no service worker:", err)
		}
	}
	kept, err := evaluate[[]string](b, `caches.keys().then(async names => (await Promise.all(names.map(async name =>
		(await (await caches.open(name)).keys()).map(request => new URL(request.url).pathname.replace(/\.[0-9a-f]{8}\./, '.'))))).flat().sort())`, chromedp.EvalAwaitPromise)
	want := []string{"/offline", "/static/css/app.css", "/static/favicon.svg", "/static/js/page.js", "/static/js/theme.js"}
	if err != nil || !slices.Equal(kept, want) {
		t.Errorf("kept: %q, %v; want %q", kept, err, want)
	}
	list := openTab(t, browser, p.base)
	if err := list.call(bypassServiceWorker(false)); err != nil {
		t.Fatal(err)
	}
	if wrong := list.visit("/markets", phone, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	before, err := b.texts("main")
	if err != nil {
		t.Fatal(err)
	}
	p.stop(syscall.SIGKILL)
	if err := b.readAgain(); err != nil {
		t.Fatal(err)
	}
	if after, err := b.texts("main"); err != nil || !slices.Equal(before, after) {
		t.Errorf("the open page changed: %v", err)
	}
	b.wakes(t, []wake{{100, false}, {130, false}}, []int{0, 1}) // twice as long after a failure
	if err := b.follow(chromedp.Evaluate[chromedp.Void](`location.href = '/leaderboard'; undefined`)); err != nil {
		t.Fatal(err)
	}
	b.isUnreached(t, "/leaderboard")
	// A swap that fails becomes a navigation, which ends on the same page.
	if err := list.follow(click(`nav[aria-label="Sort"] li:nth-child(2) a`)); err != nil {
		t.Fatal(err)
	}
	list.isUnreached(t, "/markets?sort=closesAt")
}

func (b *tab) isUnreached(t *testing.T, path string) {
	t.Helper()
	type facts struct{ Heading, Asked, Again, Header string }
	got, err := evaluate[facts](b, `({Heading: document.querySelector('h1').textContent, Asked: document.getElementById('unreached').innerText,
		Again: document.querySelector('main .button').href, Header: getComputedStyle(document.querySelector('.site-header')).backgroundColor})`)
	if err != nil || got != (facts{"No connection", path, b.base + path, "rgb(255, 255, 255)"}) {
		t.Errorf("without a connection: %+v, %v", got, err)
	}
}
