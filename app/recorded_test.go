package app_test

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// startRecorded starts the program on the recorded payloads. Without them it uses the small
// payloads in the clients' testdata. real reports which were used.
func startRecorded(t *testing.T) (p *process, real bool) {
	t.Helper()
	folder := os.Getenv("UPSTREAM_SAMPLES")
	if folder == "" {
		t.Log("UPSTREAM_SAMPLES is not set: using the small payloads")
	}
	u := newUpstream(t)
	if _, err := u.Load(os.DirFS(cmp.Or(folder, "source")), time.Now()); err != nil {
		t.Fatal(err)
	}
	p = startProcess(t, append(u.settings(), "DATABASE_URL="+dbtest.URL(t, "sqlite"), "RATE_LIMIT_READS=off", "REGISTRATION=open"), "serve")
	p.until("/api/health", "", func(a map[string]any) bool {
		return dig(a, "signals", "markets", "asOf") != nil && dig(a, "signals", "news", "asOf") != nil
	})
	return p, folder != ""
}

// recordedPages returns the pages to check. They include an event and one of its markets, if the
// payloads have any.
func recordedPages(t *testing.T, p *process) []string {
	t.Helper()
	pages := []string{"/", "/markets", "/markets?view=markets", "/news", "/assignments"}
	status, answer := p.call("GET", "/api/intelligence/events?limit=100", "", nil)
	events, _ := answer["events"].([]any)
	if status != 200 {
		t.Fatalf("events: %d %v", status, answer)
	}
	var longest map[string]any
	for _, e := range events {
		if e := e.(map[string]any); longest == nil || e["openMarkets"].(float64) > longest["openMarkets"].(float64) {
			longest = e
		}
	}
	if longest == nil {
		return append(pages, "/markets/9001")
	}
	market := fmt.Sprint(dig(longest, "likeliest", 0, "id"))
	return append(pages, "/events/"+url.PathEscape(fmt.Sprint(longest["id"])), "/markets/"+url.PathEscape(market))
}

// TestRecordedWorldInABrowser checks the pages with real data of the sources, and that lists are
// worth reading. SCREENSHOTS names a folder for screenshots.
func TestRecordedWorldInABrowser(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	p, real := startRecorded(t)
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	b := openTab(t, browser, p.base)
	for _, path := range recordedPages(t, p) {
		for _, l := range adminLooks {
			for _, wrong := range b.inspect(path, l, 200, string(axe)) {
				t.Errorf("%s (%s) %s", path, l, wrong)
			}
			b.keepPicture(t, "recorded"+path, l)
		}
		blank, err := evaluate[[]string](b, `[...document.querySelectorAll('main :is(h1, h2, h3, th, li, td)')].map(e => e.textContent.trim()).filter(s => /_{2,}|\.\.\.\?/.test(s))`)
		if err != nil || len(blank) > 0 {
			t.Errorf("%s has empty cells: %q, %v", path, blank, err)
		}
	}
	b.hasDifferentEvents(t, real)
	b.hasNotableMarkets(t, p, real)
}

// keepPicture stores a screenshot of the page if SCREENSHOTS names a folder.
func (b *tab) keepPicture(t *testing.T, name string, l look) {
	if folder := os.Getenv("SCREENSHOTS"); folder != "" {
		b.photograph(t, folder+"/"+regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(name[:min(len(name), 60)]+"-"+l.String(), "_")+".png")
	}
}

// hasDifferentEvents checks that no event fills the first page of the markets.
func (b *tab) hasDifferentEvents(t *testing.T, real bool) {
	if wrong := b.visit("/markets", desktop, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	hrefs, err := evaluate[[]string](b, `[...document.querySelectorAll('.group-title a')].map(a => a.pathname)`)
	if err != nil {
		t.Fatal(err)
	}
	different := map[string]bool{}
	for _, href := range hrefs {
		different[href] = true
	}
	if len(different) != len(hrefs) || len(hrefs) == 0 || real && len(hrefs) != 24 {
		t.Errorf("%d rows lead to %d events: %q", len(hrefs), len(different), hrefs)
	}
}

// hasNotableMarkets checks that the markets of the first page are undecided and each belong to
// another event.
func (b *tab) hasNotableMarkets(t *testing.T, p *process, real bool) {
	if wrong := b.visit("/", desktop, 200); len(wrong) > 0 {
		t.Fatal(wrong)
	}
	hrefs, err := evaluate[[]string](b, `[...document.querySelectorAll('#live-markets .market-line > a')].map(a => a.pathname)`)
	if err != nil || len(hrefs) == 0 || real && len(hrefs) < 5 {
		t.Fatalf("the first page has the markets %q, %v", hrefs, err)
	}
	prices, err := b.texts("#live-markets .price-figure")
	if err != nil || len(prices) != len(hrefs) {
		t.Fatalf("prices %q, %v", prices, err)
	}
	events := map[string]bool{}
	for i, href := range hrefs {
		price, err := strconv.ParseFloat(strings.TrimRight(prices[i], "\u00a0%"), 64)
		if err != nil || price < 3 || price > 97 {
			t.Errorf("the price of %s is %s", href, prices[i])
		}
		_, detail := p.call("GET", "/api/intelligence"+href, "", nil)
		event := cmp.Or(fmt.Sprint(dig(detail, "market", "event", "id")), href)
		if event != "<nil>" && events[event] {
			t.Errorf("found two markets of the event %s", event)
		}
		events[event] = true
	}
}
