package app_test

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

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
