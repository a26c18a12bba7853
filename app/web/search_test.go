package web_test

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

func TestSearch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.publish("Will it rain in Oslo?", "1", 0.7)
		h.now = h.now.Add(time.Minute)
		h.publish("Will Ada write a novel about rain?", "", 0.2)
		for _, test := range []struct{ q, markets, agents, predictions, empty string }{
			{"rain", "Will it rain in Oslo?", "", "Will Ada write a novel about rain?Will it rain in Oslo?", ""},
			{"OSLO rain", "Will it rain in Oslo?", "", "Will it rain in Oslo?", ""},
			{"ada", "", "Ada " + hostile, "Will Ada write a novel about rain?", ""},
			{"<script>", "Will it snow " + hostile, "Ada " + hostile, "", ""},
			{"nothing like this", "", "", "", "No matches"},
			{"???", "", "", "", "No matches"},
			{"%", "", "", "", "No matches"},
			{"🌧️", "", "", "", "No matches"},
			{strings.Repeat("a", 400), "", "", "", "No matches"},
		} {
			r := h.get("/search?q=" + url.QueryEscape(test.q))
			got := []string{r.doc.Find("section[aria-labelledby=markets] li a bdi").Text(), r.text("section[aria-labelledby=agents] li a"),
				r.doc.Find("section[aria-labelledby=predictions] tbody .question a").Text(), r.text(".empty-title")}
			if test.q == "<script>" {
				got[2] = "" // the theses contain the word too
			}
			want := []string{test.markets, test.agents, test.predictions, test.empty}
			if r.status != 200 || strings.Join(got, "|") != strings.Join(want, "|") {
				t.Errorf("%.20q: %d %q, want %q", test.q, r.status, got, want)
			}
			if test.q != "" && !strings.Contains(r.text("h1"), test.q) {
				t.Errorf("%.20q: heading %q", test.q, r.text("h1"))
			}
		}
		if r := h.get("/search"); r.status != 200 || r.text("h1") != "Search" || r.doc.Find("main input[name=q]").Length() != 1 {
			t.Errorf("without words: %d %q", r.status, r.text("main"))
		}
		for _, path := range []string{"/search?q=" + strings.Repeat("a", 401), "/search?q=%00", "/search?q=%ff", "/search?q=%e2%80%ae", "/search?q=a&in=markets", "/search?q=a&in=agents&cursor=!"} {
			if r := h.get(path); r.status != 400 || r.text("h1") == "" {
				t.Errorf("%.40s: %d", path, r.status)
			}
		}
	})
}

// TestSearchesBoundWords checks that a search of every list may repeat its words, also within one character, but may not
// have more than 32 different ones.
func TestSearchesBoundWords(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		many := ""
		for i := range 33 {
			many += fmt.Sprint("w", i, " ")
		}
		for _, path := range []string{"/search?", "/markets?", "/markets?view=markets&", "/markets?state=closed&", "/news?", "/predictions?", "/predictions?sort=edge&"} {
			for q, want := range map[string]int{strings.Repeat("ﷺ", 400): 200, strings.Repeat("w ", 200): 200, many: 400} {
				if r := h.get(path + "q=" + url.QueryEscape(q)); r.status != want || want == 400 && !strings.Contains(r.text("main"), "at most 32 different words") {
					t.Errorf("%s with %.20q…: %d %q, want %d", path, q, r.status, r.text("main"), want)
				}
			}
		}
	})
}

// TestSearchFindsEvents checks that an event is found by its title, even if no market of it
// contains the words.
func TestSearchFindsEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		yes := 0.3
		markets := make([]market.Market, 2)
		for i := range markets {
			name := []string{"Ilse Marten", "Tomas Rehn"}[i]
			markets[i] = market.Market{
				ID: "e" + name[:1], Source: "polymarket", Question: "Will " + name + " win?", Title: "Will " + name + " win?", Label: name,
				EventID: "77", EventTitle: "Harvest festival election", Outcomes: []string{"Yes", "No"}, Prices: []float64{0.3, 0.7},
				Probability: &yes, Active: true, ObservedAt: start, ClosesAt: start.Add(72 * time.Hour),
			}
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return market.Store{}.Observe(ctx, tx, markets) })
		if err != nil {
			t.Fatal(err)
		}
		r := h.get("/search?q=harvest")
		found := r.doc.Find("section[aria-labelledby=markets] li")
		if found.Length() != 1 || found.Find("a").AttrOr("href", "") != "/events/77" {
			t.Errorf("%d found: %q", found.Length(), found.Text())
		}
		if got := r.text("section[aria-labelledby=markets] .who-note"); !strings.HasPrefix(got, "2 outcomes, likeliest Ilse Marten") {
			t.Errorf("%q", got)
		}
	})
}

// TestSearchExamples checks that the search without a query offers examples with matches.
func TestSearchExamples(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	examples := h.get("/search").doc.Find("nav[aria-label=Examples] a")
	if examples.Length() == 0 || examples.First().Text() != "Oslo" {
		t.Fatalf("examples: %q", examples.Text())
	}
	for _, a := range examples.EachIter() {
		if r := h.get(a.AttrOr("href", "")); r.doc.Find("section[aria-labelledby=markets] li").Length() == 0 {
			t.Errorf("%q finds no market", a.Text())
		}
	}
}

// TestSearchLeadsToLists checks that a search links to the list of all matches, and that the pages
// of agents skip none.
func TestSearchLeadsToLists(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	want := map[string]bool{}
	for i := range 30 {
		name := "Zig " + string(rune('a'+i%26)) + strings.Repeat("x", i/26+1)
		a, err := agent.Store{}.Create(t.Context(), h.db, agent.New{Profile: agent.Profile{Name: name}, At: start})
		if err != nil {
			t.Fatal(err)
		}
		want["/agents/"+a.Handle] = true
	}
	for range 7 {
		h.publish("Will a zig win?", "", 0.5)
	}
	r := h.get("/search?q=zig")
	if n := r.doc.Find("section[aria-labelledby=agents] li").Length(); n != 6 {
		t.Errorf("%d agents", n)
	}
	if href := r.doc.Find("section[aria-labelledby=predictions] .section-head a").AttrOr("href", ""); href != "/predictions?q=zig" {
		t.Errorf("all predictions: %q", href)
	}
	next := r.doc.Find("section[aria-labelledby=agents] .section-head a").AttrOr("href", "")
	for pages := 0; next != ""; pages++ {
		if pages == 3 {
			t.Fatal("the pages of agents do not end")
		}
		r = h.get(next)
		for _, a := range r.doc.Find("section[aria-labelledby=agents] li a").EachIter() {
			href := a.AttrOr("href", "")
			if !want[href] {
				t.Errorf("%s is listed twice or doesn't exist", href)
			}
			delete(want, href)
		}
		next = r.doc.Find("a[rel=next]").AttrOr("href", "")
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
}

func TestManifest(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	page := h.get("/")
	href := page.doc.Find("link[rel=manifest]").AttrOr("href", "")
	r := h.get(href)
	if r.status != 200 || r.header.Get("Content-Type") != "application/manifest+json" || !strings.Contains(r.body, `"start_url": "/"`) {
		t.Errorf("%q: %d %s %s", href, r.status, r.header.Get("Content-Type"), r.body)
	}
	if !strings.Contains(page.header.Get("Content-Security-Policy"), "manifest-src 'self'") {
		t.Error("the policy does not allow the manifest")
	}
}
