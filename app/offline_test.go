package app_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
)

// askOnce counts the requests that reach the server once the service worker is active. Each page
// must be requested once: a second request would use up the one-time return of a provider's
// sign-in.
func askOnce(t *testing.T, browser context.Context, p *process) {
	server, err := url.Parse(p.base)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	asked := map[string]int{}
	proxy := httputil.NewSingleHostReverseProxy(server)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked[r.URL.Path]++
		mu.Unlock()
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	b := openTab(t, browser, front.URL)
	if err := b.call(bypassServiceWorker(false)); err != nil {
		t.Fatal(err)
	}
	if wrong := b.visit("/", phone, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	const atWork = `navigator.serviceWorker.ready.then(() => navigator.serviceWorker.controller ? true :
		new Promise(done => navigator.serviceWorker.addEventListener('controllerchange', () => done(true))))`
	if ready, err := evaluate[bool](b, atWork, chromedp.EvalAwaitPromise); err != nil || !ready {
		t.Fatal("the service worker is not active:", err)
	}
	want := map[string]int{"/admin/sign-in": 1, "/api/skill": 1, "/docs": 1}
	for path := range want {
		if err := b.follow(chromedp.Evaluate[chromedp.Void](`location.href = '` + path + `'; undefined`)); err != nil {
			t.Fatal(err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	maps.DeleteFunc(asked, func(path string, _ int) bool { return want[path] == 0 })
	if !maps.Equal(asked, want) {
		t.Errorf("requests by path: got %v, want each once", asked)
	}
}

// loseConnection stops the server while a page is open. The open page stays as it is, the next page
// says that there is no connection, and the service worker keeps no other page.
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
			t.Fatal("the service worker is not active:", err)
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
		t.Errorf("the open page has changed: %v", err)
	}
	b.wakes(t, []wake{{100, false}, {130, false}}, []int{0, 1}) // twice as long after a failure
	if err := b.follow(chromedp.Evaluate[chromedp.Void](`location.href = '/leaderboard'; undefined`)); err != nil {
		t.Fatal(err)
	}
	b.isUnreached(t, "/leaderboard")
	// A failed swap becomes a navigation, which ends on the offline page.
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
		t.Errorf("after a failed swap: got %+v, %v", got, err)
	}
}
