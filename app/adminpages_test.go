package app_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/pulsecast/pulsecast/app/database"
)

// adminLooks are both widths and both themes. The admin pages have no scripts, so there is no variant
// without them.
var adminLooks = []look{phone, night}

// TestAdminPagesInABrowser checks every admin page in both widths and themes: its layout, its
// console messages and axe's rules.
func TestAdminPagesInABrowser(t *testing.T) {
	t.Parallel()
	browser := startBrowser(t)
	u := newUpstream(t)
	u.BreakWith(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<h1>Not today</h1>\x00"))
	})
	address := demoURL(t, database.SQLite)
	p, key := startDemo(t, "DATABASE_URL="+address, "RATE_LIMIT_READS=off", "POLYMARKET_URL="+u.URL)
	axe, err := os.ReadFile("testdata/axe/axe.min.js")
	if err != nil {
		t.Fatal(err)
	}
	a := p.admin()
	pages := adminPages(t, p, a, key, address)
	b := openTab(t, browser, p.base)
	if err := b.takeCookies(a); err != nil {
		t.Fatal(err)
	}
	folder := os.Getenv("SCREENSHOTS") // if set, keep screenshots there
	for _, path := range pages {
		for _, l := range adminLooks {
			for _, wrong := range b.inspect(path, l, 200, string(axe)) {
				t.Errorf("%s (%s) %s", path, l, wrong)
			}
			if folder != "" {
				b.photograph(t, folder+"/"+regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(path[:min(len(path), 60)]+"-"+l.String(), "_")+".png")
			}
		}
	}
}

// adminPages gives every page something to show and returns their paths.
func adminPages(t *testing.T, p *process, a *adminClient, key, address string) []string {
	t.Helper()
	publish := func(title string) string {
		t.Helper()
		status, answer := p.call(http.MethodPost, "/api/predictions", key, map[string]any{"title": title, "thesis": "It is on.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 0, 1).UTC()})
		id, _ := dig(answer, "prediction", "id").(string)
		if status != 200 {
			t.Fatalf("publish: %d %v", status, answer)
		}
		return id
	}
	due, disputed := publish("Will the kettle boil?"), publish("Will the toast burn?")
	p.call(http.MethodPost, "/api/predictions", key, map[string]any{"title": "No thesis"}) // for the page of errors
	a.act("/admin/handles", "/admin/handles", url.Values{"handle": {"acme"}, "note": {"A trade mark."}})
	a.act("/admin/agents/demo-visitor", "/admin/agents/demo-visitor/notes", url.Values{"text": {"Likes kettles."}})
	written := a.act("/admin/assignments", "/admin/assignments", url.Values{"title": {"Will it hail?"}, "dueAt": {time.Now().AddDate(0, 0, 2).UTC().Format("2006-01-02 15:04")}})
	assignment := regexp.MustCompile(`action="(/admin/assignments/[0-9a-f-]{36})"`).FindStringSubmatch(written)
	if assignment == nil {
		t.Fatalf("no assignment was written:\n%s", written)
	}
	passHorizon(t, address, due, disputed)
	ruling := "/admin/settlement/predictions/"
	a.act(ruling+disputed, ruling+disputed, url.Values{"kind": {"prediction_settled"}, "outcome": {"Yes"}, "note": {"It burned."}, "seen": {"open"}})
	p.call(http.MethodPost, "/api/predictions/"+disputed+"/report", key, map[string]any{"kind": "dispute", "text": "It was golden."})
	p.call(http.MethodPost, "/api/predictions/"+due+"/report", key, map[string]any{"kind": "spam", "text": "It says little."})
	_, markets := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	market, _ := dig(markets, "markets", 0, "id").(string)
	return []string{"/admin", "/admin/agents", "/admin/agents?sort=skill&q=a", "/admin/agents?q=nobody+at+all", "/admin/agents/demo-visitor", "/admin/agents/demo-visitor/texts?to=all&note=Adverts.",
		"/admin/handles", "/admin/settlement", ruling + due, ruling + due + "?kind=prediction_settled&outcome=Yes&note=It+boiled.", ruling + disputed,
		"/admin/settlement/markets/" + url.PathEscape(market), "/admin/assignments", assignment[1], "/admin/sources", "/admin/system", "/admin/audit", "/admin/audit?action=sign_in"}
}

// takeCookies signs a tab in as the client a.
func (b *tab) takeCookies(a *adminClient) error {
	base, err := url.Parse(b.base + "/admin")
	if err != nil {
		return err
	}
	for _, c := range a.http.Jar.Cookies(base) {
		err := b.call(func(ctx context.Context, t *chromedp.Target) error {
			_, err := cdp.Call(ctx, t, network.SetCookie, network.SetCookieParams{Name: c.Name, Value: c.Value, URL: base.String(), Path: "/admin"})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// photograph stores a screenshot of the whole page.
func (b *tab) photograph(t *testing.T, file string) {
	t.Helper()
	picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err == nil {
		err = os.WriteFile(file, picture, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
}
