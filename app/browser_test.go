package app_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// stopChromium ends chromium if a test has started it.
var stopChromium = func() {}

// chromium is the one browser of all tests.
var chromium = sync.OnceValues(func() (context.Context, error) {
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.WSURLReadTimeout(time.Minute))...)
	stopChromium = cancel
	browser, _ := chromedp.NewContext(ctx)
	return browser, chromedp.Do(browser)
})

// startBrowser gives a test a fresh profile in chromium, with separate cookies, caches and service workers.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	if _, err := exec.LookPath("chromium"); err != nil {
		if os.Getenv("NEED_CHROMIUM") == "1" {
			t.Fatal("chromium is not installed; install it with: apt-get install chromium")
		}
		t.Skip("NEED_CHROMIUM is not set and chromium is not installed; run: make test")
	}
	browser, err := chromium()
	if err != nil {
		t.Fatal("start chromium:", err)
	}
	profile, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext())
	t.Cleanup(cancel)
	if err := chromedp.Do(profile); err != nil {
		t.Fatal("make a profile:", err)
	}
	return profile
}

// look is a way to look at a page: a width, a colour scheme, and scripts on or off.
type look struct {
	width  int64 // below 500 emulates a phone
	scheme string
	script bool
}

func (l look) String() string {
	script := "scripts"
	if !l.script {
		script = "no scripts"
	}
	return fmt.Sprintf("%d px, %s, %s", l.width, l.scheme, script)
}

// tab is one tab of the browser. It collects the faults of its page.
type tab struct {
	ctx  context.Context
	base string

	script   bool // whether the last visit had scripts
	mu       sync.Mutex
	expected int // status that the page itself should have
	bytes    float64
	wrong    []string
}

func openTab(t *testing.T, browser context.Context, base string) *tab {
	t.Helper()
	ctx, cancel := context.WithTimeout(browser, 15*time.Minute) // each step has a limit too
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &tab{ctx: ctx, base: base}
	if err := chromedp.Listen(ctx, b.watch); err != nil {
		t.Fatal(err)
	}
	err := b.call(
		func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, network.Enable, network.EnableParams{})
			return err
		},
		func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true})
			return err
		},
		bypassServiceWorker(true)) // a first visit has no service worker
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func bypassServiceWorker(yes bool) func(context.Context, *chromedp.Target) error {
	return func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, network.SetBypassServiceWorker, network.SetBypassServiceWorkerParams{Bypass: yes})
		return err
	}
}

func (b *tab) call(steps ...func(context.Context, *chromedp.Target) error) error {
	for _, step := range steps {
		if err := chromedp.Do(b.ctx, chromedp.Func(step)); err != nil {
			return err
		}
	}
	return nil
}

func (b *tab) blame(format string, args ...any) {
	b.wrong = append(b.wrong, fmt.Sprintf(format, args...))
}

// watch collects console messages, violations of the content security policy, and requests that
// leave the origin.
func (b *tab) watch(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u := e.Request.URL; !strings.HasPrefix(u, b.base+"/") && !strings.HasPrefix(u, "data:") && u != "about:blank" {
			b.blame("asks another origin: %s", u)
		}
	case *network.EventResponseReceived:
		if e.Type != network.ResourceTypeDocument && e.Response.Status >= 400 && e.Response.Status != int64(b.expected) {
			b.blame("loads %s: %d", e.Response.URL, e.Response.Status)
		}
	case *network.EventLoadingFinished:
		b.bytes += e.EncodedDataLength
	case *network.EventLoadingFailed:
		if e.BlockedReason != "" {
			b.blame("is refused a %s: %s", e.Type, e.BlockedReason)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !(b.expected >= 400 && e.Entry.Source == log.EntrySourceNetwork) {
			b.blame("logs %s: %s", e.Entry.Source, e.Entry.Text)
		}
	case *runtime.EventExceptionThrown:
		b.blame("throws: %s", e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		b.blame("writes to the console (%s)", e.Type)
	}
}

// visit opens a path in one look and returns the faults up to the load event.
func (b *tab) visit(path string, l look, status int) (wrong []string) {
	b.mu.Lock()
	b.wrong, b.bytes, b.expected = nil, 0, status
	b.mu.Unlock()
	var res *network.Response
	b.script = l.script
	err := b.emulate(l)
	if err == nil {
		res, err = chromedp.Run(b.ctx, chromedp.NavigateResponse(b.base+path))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case err != nil:
		b.blame("%v", err)
	case res == nil:
		b.blame("has no response")
	case res.Status != int64(status):
		b.blame("has the status %d", res.Status)
	}
	return b.wrong
}

func (b *tab) emulate(l look) error {
	options := []chromedp.EmulateViewportOption{}
	if l.width < 500 {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	if err := chromedp.Do(b.ctx, chromedp.EmulateViewport(l.width, 900, options...)); err != nil {
		return err
	}
	return b.call(
		func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
				Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}},
			})
			return err
		},
		func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !l.script})
			return err
		})
}

// evaluate runs an expression in the page, for at most a minute. The page's content security policy doesn't apply
// to it.
func evaluate[T any](b *tab, expression string, options ...chromedp.EvaluateOption) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	return chromedp.Run(ctx, chromedp.Evaluate[T](expression, options...))
}

// follow does steps that lead to another page and waits until that page has loaded.
func (b *tab) follow(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	_, err := chromedp.RunResponse(ctx, steps...)
	return err
}

// turn does steps that lead to another state of the same page and waits until it shows. With
// scripts the state is swapped in and the window stays. Without scripts another page loads.
func (b *tab) turn(steps ...chromedp.Action[chromedp.Void]) error {
	if !b.script {
		return b.follow(steps...)
	}
	return b.swap(steps...)
}

// swap does steps that swap a part of the page. It returns an error if the window was replaced or
// the page has faults.
func (b *tab) swap(steps ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	const expect = `window.swapped = new Promise(done => document.addEventListener('htmx:afterSettle', e => {
		if (e.target.id === 'content') done(location.href);
	})); undefined`
	if err := chromedp.Do(ctx, chromedp.Evaluate[chromedp.Void](expect)); err != nil {
		return err
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		return err
	}
	at, err := chromedp.Run(ctx, chromedp.Evaluate[string](`window.swapped`, chromedp.EvalAwaitPromise))
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || at == "" || len(b.wrong) > 0 {
		return fmt.Errorf("swapped to %q: %v, %w", at, b.wrong, err)
	}
	return nil
}

// texts returns the texts of the elements that match a selector.
func (b *tab) texts(selector string) ([]string, error) {
	return evaluate[[]string](b, fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent.trim())`, selector))
}
