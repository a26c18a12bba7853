package web_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/contract"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// pagesOf returns the paths of pages that every database can show. id is a prediction.
func pagesOf(id string) []string {
	return []string{"/", "/leaderboard", "/markets", "/markets/1", "/markets/2", "/news", "/news?item=n1", "/predictions", "/predictions/" + id,
		"/agents/ada", "/agents/new", "/models", "/compare", "/compare?a=ada", "/assignments", "/method", "/changes", "/docs", "/docs?with=go", "/docs/api", "/docs/updates", "/docs/errors", "/docs/limits",
		"/docs/mcp", "/docs/clients", "/docs/metaculus", "/docs/backtest", "/docs/changelog", "/data", "/terms", "/privacy", "/contact"}
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		id := h.publish("Will it rain in Oslo? "+hostile, "1", 0.7).ID.String()
		for _, path := range pagesOf(id) {
			r := h.get(path)
			if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s: %d %s", path, r.status, r.text("main"))
				continue
			}
			if n := r.doc.Find("h1").Length(); n != 1 {
				t.Errorf("%s has %d h1", path, n)
			}
			r.doc.Find("[aria-current]").Each(func(_ int, s *goquery.Selection) {
				if current := s.AttrOr("aria-current", ""); current != "true" && current != "page" {
					t.Errorf("%s: %q has aria-current=%q, which marks nothing", path, strings.TrimSpace(s.Text()), current)
				}
			})
			if r.text("aside.banner-sample strong") != "Sample data." || r.doc.Find("main#content").Length() != 1 || r.doc.Find("a.skip-link[href='#content']").Length() != 1 {
				t.Errorf("%s lacks part of the frame", path)
			}
			if n := r.doc.Find("script:not([src^='/static/js/']), style, [style], [onclick]").Length(); n != 0 {
				t.Errorf("%s has %d inline styles or scripts, which the policy forbids", path, n)
			}
			r.doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
				if id, _ := s.Attr("id"); r.doc.Find(`[id="`+strings.ReplaceAll(id, `"`, `\"`)+`"]`).Length() != 1 {
					t.Errorf("%s repeats the id %q", path, id)
				}
			})
			if csp := r.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
				t.Errorf("%s: policy %q", path, csp)
			}
			if r.header.Get("Set-Cookie") != "" {
				t.Errorf("%s sets a cookie", path)
			}
		}
	})
}

// TestCurrentPage checks that links to the page on which they are say so.
func TestCurrentPage(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	for path, want := range map[string]string{
		"/": "a.site-title", "/docs/limits": ".guide-menu a[href='/docs/limits']", "/news": ".nav-row a[href='/news']",
	} {
		doc := h.get(path).doc
		if current := doc.Find("a[aria-current=page]").Not(".nav-list a"); current.Length() != 1 || !current.Is(want) {
			t.Errorf("%s: %d links are to this page, want %s", path, current.Length(), want)
		}
	}
}

// TestLinks checks that every link of every page leads to a page.
func TestLinks(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	id := h.publish("Will it rain in Oslo?", "1", 0.7).ID.String()
	// The API serves these paths. The site under test doesn't have them.
	elsewhere := map[string]bool{"/api/skill": true, "/api/quickstart": true, "/api/openapi.json": true, "/api/health": true, "/api/data": true}
	checked := map[string]bool{}
	for _, page := range pagesOf(id) {
		h.get(page).doc.Find("a[href^='/'], link[href^='/'], img[src^='/']").Each(func(_ int, s *goquery.Selection) {
			to := s.AttrOr("href", s.AttrOr("src", ""))
			to, _, _ = strings.Cut(to, "#")
			if checked[to] || elsewhere[to] {
				return
			}
			checked[to] = true
			if r := h.get(to); r.status != 200 {
				t.Errorf("%s links to %s: %d", page, to, r.status)
			}
		})
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.publish("Will it rain in Oslo?", "1", 0.7)
		h.publish("Something else", "", 0.2)
		for _, test := range []struct {
			path, selector, want string
		}{
			{"/predictions?q=something", "tbody .question a", "Something else"},
			{"/predictions?market=1", "tbody .question a", "Will it rain in Oslo?"},
			{"/predictions?agent=nobody", ".empty-title", "No prediction matches"},
			{"/predictions?status=resolved", ".empty-title", "No prediction matches"},
			{"/predictions?status=open", "a.chip[aria-current=true]", "Newest Open"},
			{"/markets?q=rain", ".group-title a", "Will it rain in Oslo?"},
			{"/markets?q=rain&view=markets", "tbody .question a", "Will it rain in Oslo?"},
			{"/markets?tag=none", ".empty-title", "No market matches"},
			{"/markets?q=!!!", ".empty-title", "No market matches"},
			{"/markets?q=!!!&view=markets", ".empty-title", "No market matches"},
			{"/predictions?q=!!!", ".empty-title", "No prediction matches"},
			{"/news?q=!!!", ".empty-title", "No news matches"},
			{"/markets?category=none", ".empty-title", "No market matches"},
			{"/markets?closes=day", ".empty-title", "No market matches"},
			{"/news?community=science", ".news-title a bdi", hostile},
			{"/news?community=politics", ".empty-title", "No news matches"},
			{"/leaderboard?window=30d&category=weather", ".empty-title", "No agents on this board yet"},
			{"/leaderboard?model=none", ".empty-title", "No agent with this model on this board"},
			{"/models?window=30d", ".empty-title", "No agent with a declared model has a settled event in this time"},
			{"/models?window=30d", "a.chip[aria-current=true]", "30 days"},
		} {
			if r := h.get(test.path); r.status != 200 || r.text(test.selector) != test.want {
				t.Errorf("%s: %d %q", test.path, r.status, r.text(test.selector))
			}
		}
	})
}

func TestBadAddresses(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	for path, want := range map[string]int{
		"/nothing": 404, "/markets/none": 404, "/markets/%ff": 404, "/agents/nobody": 404, "/predictions/x": 404,
		"/predictions/01912345-0000-7000-8000-000000000000": 404, "/agents/x/badge.svg": 404, "/agents/market": 404, "/static/none.css": 404,
		"/leaderboard?window=7d": 400, "/models?window=7d": 400, "/leaderboard?cursor=!": 400, "/predictions?status=x": 400, "/predictions?cursor=x": 400,
		"/markets?sort=x": 400, "/markets?view=x": 400, "/events/none": 404, "/events/%ff": 404, "/markets?cursor=%00": 400, "/news?community=x": 400, "/news?item=none": 404, "/news?item=%00": 400, "/markets?q=%e2%80%ae": 400,
	} {
		r := h.get(path)
		if r.status != want || !strings.HasPrefix(r.header.Get("Content-Type"), "text/html") || r.text("h1") == "" {
			t.Errorf("%s: %d %s %q", path, r.status, r.header.Get("Content-Type"), r.text("h1"))
		}
		if robots := r.doc.Find("meta[name=robots]").AttrOr("content", ""); robots != "noindex" {
			t.Errorf("%s may be indexed", path)
		}
	}
}

// TestDocsExplainEveryCode checks that the page and the contract list the same codes.
func TestDocsExplainEveryCode(t *testing.T) {
	t.Parallel()
	codes, err := contract.Codes()
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, code := range codes {
		want = append(want, "error-"+code)
	}
	h := open(t, dbtest.Open(t, database.SQLite))
	h.get("/docs/errors").doc.Find("[id^=error-]").Each(func(_ int, s *goquery.Selection) { got = append(got, s.AttrOr("id", "")) })
	slices.Sort(want)
	slices.Sort(got)
	if len(want) < 20 || !slices.Equal(got, want) {
		t.Errorf("the page explains %q, the contract has %q", got, want)
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	r := h.get("/method")
	if r.text("h1") == "" || r.doc.Find(".toc a").Length() < 3 || !strings.Contains(r.text(".prose"), "30") {
		t.Errorf("h1 %q, %d entries", r.text("h1"), r.doc.Find(".toc a").Length())
	}
	r.doc.Find(".toc a").Each(func(_ int, s *goquery.Selection) {
		if to := s.AttrOr("href", ""); r.doc.Find(".prose "+to).Length() != 1 {
			t.Errorf("the contents lead to %s, which is not there", to)
		}
	})
}

// TestRules checks that the version in force is explained first.
func TestRules(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	r := h.get("/changes")
	if got, want := strings.TrimSpace(r.doc.Find("#rules").Closest("section").Find("dt").First().Text()), "Version "+score.RulesVersion; got != want {
		t.Errorf("first explained: %q, want %q", got, want)
	}
	if n := r.doc.Find("#rules").Closest("section").Find("dd").First().Find("p").Length(); n == 0 {
		t.Errorf("%d paragraphs on the version in force", n)
	}
}

func TestHostileText(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	id := h.publish(hostile, "1", 0.7).ID.String()
	for path, selector := range map[string]string{
		"/predictions/" + id: "h1", "/predictions": "tbody .question", "/markets/2": "h1", "/agents/ada": "h1", "/news": ".news-title a bdi",
	} {
		r := h.get(path)
		if !strings.Contains(r.text(selector), "<script>alert(1)</script>") {
			t.Errorf("%s does not show the text as it is: %q", path, r.text(selector))
		}
	}
}

func TestStaleBanner(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	if r := h.get("/markets"); r.doc.Find(".banner-stale").Length() != 0 {
		t.Error("fresh signals are called stale")
	}
	h.now = start.Add(34 * time.Minute)
	stale := h.get("/markets").doc.Find(".banner-stale") // one banner for both feeds
	read := func(path string) string {
		var b strings.Builder
		if _, err := io.Copy(&b, h.getAs(path, "text/markdown").Body); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := "> Sample data. Agents, markets and results on this page are made up to show how it works.\n\n" +
		"> Market prices and news may be out of date. The data was read 34 minutes ago\n\n# Markets\n"
	if got := read("/markets"); !strings.HasPrefix(got, want) {
		t.Errorf("as Markdown, the page begins with %.300q", got)
	}
	if got := stale.Text(); stale.Length() != 1 || !strings.Contains(got, "Market prices and news may be out of date.") || !strings.Contains(got, "34 minutes ago") {
		t.Errorf("%d banners: %q", stale.Length(), got)
	}
}

func TestHiddenText(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.settled(h.agent)
	id := h.publish("Secretword in the title", "1", 0.7).ID.String()
	_, err := h.db.NewUpdate().Table("predictions").Set("hidden = ?", true).Set("category = ?", "secretlabel").Set("model = ?", "Secretmodel").
		Where("id = ?", id).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/predictions", "/predictions/" + id, "/agents/ada", "/markets/1", "/predictions.atom", "/agents/ada.atom"} {
		r := h.get(path)
		for _, words := range []string{"Secretword", "Because", "secretlabel", "Secretmodel"} {
			if strings.Contains(r.body, words) {
				t.Errorf("%s shows hidden text: %s", path, words)
			}
		}
	}
	if got := h.get("/predictions/" + id).text("h1"); got != "Text hidden by an admin" {
		t.Errorf("title %q", got)
	}
}

// TestClosedAccount checks that the page of a closed account says who withheld the texts of its settled predictions, and
// doesn't deny that boards list it.
func TestClosedAccount(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	p := h.publish("Will it rain in Oslo?", "1", 0.7)
	_, err := h.db.NewUpdate().Table("results").
		Set("baseline_state = 'fixed', baseline = 0.6, baseline_before = 0.6, weight_index = 0, status = 'resolved', resolution_value = 1").
		Set("resolved_at = ?, edge = 70000, brier = 0.09, day = '2026-11-20', score_category = 'weather'", start).Where("id = ?", p.ID).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cluster := settlement.Cluster{AgentID: h.agent.ID, EventKey: p.EventKey, Category: "weather", Day: "2026-11-20", NextIndex: 1, Settled: 1, Value: 70000}
	if _, err := h.db.NewInsert().Model(&cluster).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	var closed *agent.Agent
	err = h.db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) (err error) {
		closed, _, err = agent.Store{}.Close(ctx, tx, h.agent.ID, h.now)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := h.get("/agents/" + closed.Handle)
	for _, selector := range []string{"section[aria-labelledby=events] .question a", "section[aria-labelledby=best] .question a"} {
		if got := r.text(selector); got != "Text erased: the account was closed" {
			t.Errorf("%s: %q", selector, got)
		}
	}
	if got := r.text("section[aria-labelledby=review] .question"); got != "Will it rain in Oslo?text erased" {
		t.Errorf("its best call: %q", got)
	}
	if got := r.text(".stat-row"); !strings.Contains(got, "Ranknonethe account was closed") {
		t.Errorf("its rank: %q", got)
	}
	if got := h.get("/agents/" + closed.Handle + "/badge.svg").body; !strings.Contains(got, "the account was closed") {
		t.Errorf("its badge: %s", got)
	}
}

func TestOutcomeOfAMarket(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		service := settlement.New(settlement.Options{DB: db, Now: func() time.Time { return h.now }})
		badges := func() string { return h.get("/markets/1").text("header .byline") }
		if got := badges(); strings.Contains(got, "settled") || strings.Contains(got, "void") {
			t.Errorf("an open market is %q", got)
		}
		closed := market.Market{ID: "1", Source: "polymarket", Question: "Will it rain in Oslo?", Title: "Will it rain in Oslo?",
			Outcomes: []string{"Yes", "No"}, Prices: []float64{0, 1}, Closed: true, ClosedAt: h.now, Resolution: "resolved", ObservedAt: h.now}
		if err := (market.Store{}).Observe(t.Context(), db, []market.Market{closed}); err != nil {
			t.Fatal(err)
		}
		if err := service.AfterMarkets(t.Context(), []market.Market{closed}); err != nil {
			t.Fatal(err)
		}
		h.now = h.now.Add(time.Minute)
		if got := badges(); !strings.Contains(got, "settled: No") {
			t.Errorf("a settled market is %q", got)
		}
		if _, err := service.Rule(t.Context(), settlement.KindMarketVoided, "1", settlement.Ruling{Actor: "ada", Note: "The question was " + hostile}); err != nil {
			t.Fatal(err)
		}
		h.now = h.now.Add(time.Minute)
		if got := badges(); !strings.Contains(got, "void") || strings.Contains(got, "settled") {
			t.Errorf("a void market is %q", got)
		}
		if got := h.get("/markets/1").text("header .lede"); !strings.Contains(got, "An admin decided this market: The question was "+hostile) {
			t.Errorf("the ruling reads %q", got)
		}
	})
}

func TestArithmetic(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	id := h.publish("Will it rain in Oslo?", "1", 0.7).ID.String()
	_, err := h.db.NewUpdate().Table("results").
		Set("baseline_state = 'fixed', baseline = 0.6, baseline_before = 0.6, baseline_after = 0.55, weight_index = 1").
		Set("status = 'resolved', resolution_value = 1, resolution_outcome = 'Yes', resolution_source = 'market', resolved_at = ?", start).
		Set("edge = 70000, brier = 0.09, log_edge = 0.222, rules_version = '1'").Where("id = ?", id).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := h.get("/predictions/" + id).text(".steps")
	for _, want := range []string{
		"p = 0.70", "q = 0.60", "p clamped to the smallest interval that holds the price before (0.60) and the price after (0.55)", "y = 1.00 it happened",
		"100 · [(0.60 − 1.00)² − (0.70 − 1.00)²] = +7", "(0.70 − 1.00)² = 0.0900", "+0.222 bits with p and q kept within 0.001 and 0.999", "weight = 1⁄2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("lacks %q: %s", want, got)
		}
	}
	if _, err := h.db.NewUpdate().Table("results").Set("status = 'void', resolution_value = NULL, edge = NULL, log_edge = NULL").Where("id = ?", id).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.now = h.now.Add(time.Minute)
	if got := h.get("/predictions/" + id).text(".steps"); !strings.Contains(got, "Void: it counts in no score.") || strings.Contains(got, "weight") {
		t.Errorf("a void prediction: %s", got)
	}
}

func TestRegister(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		same := http.Header{"Sec-Fetch-Site": {"same-origin"}}
		r := h.do("POST", "/agents/new", url.Values{"name": {"Bob the Bot"}, "description": {"line\r\nline"}}, same)
		if r.status != 200 || !strings.HasPrefix(r.text("#api-key"), "pc_") || r.header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%d %q %q", r.status, r.text("main"), r.header.Get("Cache-Control"))
		}
		if way := r.doc.Find(".first"); !strings.Contains(way.Find("pre").First().Text(), "PULSECAST_API_KEY="+r.text("#api-key")) || way.Find(".tab-panel").Length() < 6 {
			t.Errorf("the page doesn't show the steps to a first prediction: %s", way.Text())
		}
		if h.get("/agents/bob-the-bot").text("h1") != "Bob the Bot" {
			t.Error("the agent has no page")
		}
		r = h.do("POST", "/agents/new", url.Values{"name": {""}, "homepage": {"javascript:x"}, "model": {hostile}}, same)
		if r.status != 422 || r.doc.Find("#name[aria-invalid=true]").Length() != 1 || r.text("#homepage-help.field-error") == "" || r.doc.Find("#model").AttrOr("value", "") != hostile {
			t.Errorf("%d %s", r.status, r.text("main"))
		}
		for _, header := range []http.Header{{"Sec-Fetch-Site": {"cross-site"}}, {"Sec-Fetch-Site": {"same-site"}}, {"Origin": {"https://evil.example"}}, {"Origin": {"null"}}} {
			if r := h.do("POST", "/agents/new", url.Values{"name": {"Eve"}}, header); r.status != 403 {
				t.Errorf("%v: %d", header, r.status)
			}
		}
	})
}

func TestClosedRegistration(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.config.Registration = "closed"
	r := h.get("/agents/new")
	if r.doc.Find("form.register").Length() != 0 || !strings.Contains(r.text(".empty"), "Ask the operator of "+base) {
		t.Errorf("%s", r.text("main"))
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.settled(h.agent)
	id := h.publish("Will it rain in Oslo?", "1", 0.7).ID.String()
	for path, want := range map[string][2]string{
		"/robots.txt":           {"text/plain", "Sitemap: " + base + "/sitemap.xml"},
		"/sitemap.xml":          {"application/xml", "<loc>" + base + "/predictions/" + id + "</loc>"},
		"/predictions.atom":     {"application/atom+xml", "<id>urn:uuid:" + id + "</id>"},
		"/agents/ada.atom":      {"application/atom+xml", "Ada &lt;script&gt;"},
		"/agents/ada/badge.svg": {"image/svg+xml", "not ranked yet"},
	} {
		r := h.get(path)
		if r.status != 200 || !strings.HasPrefix(r.header.Get("Content-Type"), want[0]) || !strings.Contains(r.body, want[1]) {
			t.Errorf("%s: %d %s %.300s", path, r.status, r.header.Get("Content-Type"), r.body)
		}
	}
	css := h.get("/").doc.Find("link[rel=stylesheet]").AttrOr("href", "")
	if r := h.get(css); r.status != 200 || !strings.Contains(r.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(r.header.Get("Content-Type"), "text/css") {
		t.Errorf("%s: %d %v", css, r.status, r.header)
	}
}

// TestFeedsAreNamed checks that each page's feed has a title.
func TestFeedsAreNamed(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	for path, want := range map[string]string{"/": "/predictions.atom", "/predictions": "/predictions.atom", "/agents/ada": "/agents/ada.atom"} {
		feed := h.get(path).doc.Find("link[type='application/atom+xml']")
		if feed.AttrOr("href", "") != want || !strings.Contains(feed.AttrOr("title", ""), "Pulsecast") {
			t.Errorf("%s: feed %q is named %q", path, feed.AttrOr("href", ""), feed.AttrOr("title", ""))
		}
	}
}

// TestContentCodings checks that pages and static files follow Accept-Encoding. If it leaves the choice, a static file has
// the smallest coding and a page the cheapest.
func TestContentCodings(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	css := h.get("/").doc.Find("link[rel=stylesheet]").AttrOr("href", "")
	for accept, want := range map[string]struct{ page, file string }{
		"gzip, deflate, br, zstd": {"zstd", "br"}, "gzip, deflate, br": {"gzip", "br"}, "br": {"br", "br"}, "gzip": {"gzip", "gzip"},
		"gzip, zstd": {"zstd", "gzip"}, "*": {"zstd", "br"}, "*;q=0": {"", ""}, "br;q=0, zstd;q=0, *": {"gzip", "gzip"},
		"gzip;q=0.5, br": {"br", "br"}, "identity, br;q=0.5": {"", ""}, "br;q=abc": {"", ""}, "br;q=2, gzip": {"gzip", "gzip"},
		"identity;q=0, gzip;q=0.1": {"gzip", "gzip"},
	} {
		for path, expected := range map[string]struct{ coding, vary string }{
			"/": {want.page, "Accept, Accept-Encoding"}, css: {want.file, "Accept-Encoding"},
		} {
			r := h.do("GET", path, nil, http.Header{"Accept-Encoding": {accept}})
			got := struct{ coding, vary string }{r.header.Get("Content-Encoding"), r.header.Get("Vary")}
			if r.status != 200 || got != expected {
				t.Errorf("%s, Accept-Encoding %q: %d, got %+v, want %+v", path, accept, r.status, got, expected)
			}
		}
	}
}

// TestClientsAreServed downloads the programs that the README and the pages name.
func TestClientsAreServed(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	for _, c := range []struct{ name, contentType, has string }{
		{"verify.py", "text/x-python; charset=utf-8", "def check_board"},
		{"pulsecast.py", "text/x-python; charset=utf-8", "class Client:"},
		{"bot.py", "text/x-python; charset=utf-8", "def forecast("},
		{"pulsecast_forecast_bot.py", "text/x-python; charset=utf-8", "class ForecastBot:"},
		{"pulsecast.ts", "text/typescript; charset=utf-8", "export class Client"},
		{"bot.ts", "text/typescript; charset=utf-8", "function forecast("},
		{"pulsecast-bot.yml", "application/yaml", "cron:"},
	} {
		r := h.get("/clients/" + c.name)
		if r.status != 200 || r.header.Get("Content-Type") != c.contentType || !strings.Contains(r.body, c.has) {
			t.Errorf("%s: %d %q", c.name, r.status, r.header)
		}
	}
	if r := h.get("/clients/nothing.py"); r.status != 404 {
		t.Errorf("an unknown program: %d", r.status)
	}
}
