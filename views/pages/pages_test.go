package pages_test

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"

	"github.com/pulsecast/pulsecast/views/pages"
)

func render(t *testing.T, page templ.Component) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	if err := page.Render(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func text(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

func TestEveryPage(t *testing.T) {
	t.Parallel()
	for path, page := range all() {
		doc := render(t, page)
		if n := doc.Find("h1").Length(); n != 1 {
			t.Errorf("%s has %d h1", path, n)
		}
		if n := doc.Find("[style], style, script:not([src^='/static/js/'])").Length(); n != 0 {
			t.Errorf("%s has %d inline styles or scripts", path, n)
		}
		if doc.Find("head meta[name=theme-color] ~ script[src*='/theme.']:not([defer]) ~ link[rel=stylesheet]").Length() != 1 {
			t.Errorf("%s sets its theme after it is drawn", path)
		}
		if bad := doc.Find("a[href^='javascript'], img:not([alt]), svg:not([aria-hidden]):not([role]):not(svg svg)"); bad.Length() != 0 {
			html, _ := goquery.OuterHtml(bad.First())
			t.Errorf("%s: %.200s", path, html)
		}
		doc.Find("input:not([type=hidden]), select, textarea").Each(func(_ int, s *goquery.Selection) {
			if id := s.AttrOr("id", ""); doc.Find("label[for='"+id+"']").Length() != 1 {
				t.Errorf("%s: field %q has no label", path, id)
			}
		})
		level := 0
		doc.Find("h1, h2, h3, h4").Each(func(_ int, s *goquery.Selection) {
			next, _ := strconv.Atoi(goquery.NodeName(s)[1:])
			if next > level+1 {
				t.Errorf("%s: %q skips from h%d to h%d", path, text(s), level, next)
			}
			level = next
		})
	}
}

func TestLeaderboard(t *testing.T) {
	t.Parallel()
	doc := render(t, pages.Leaderboard(leaderboard()))
	rows := doc.Find(".forest-table tbody tr")
	if rows.Length() != 10 {
		t.Fatalf("%d rows", rows.Length())
	}
	first := rows.First()
	if got := text(first.Find(".rank")); got != "1 1–3" {
		t.Errorf("rank %q", got)
	}
	if first.Find(".badge-proven").Length() != 1 || first.Find("svg.forest.proven").Length() != 1 || first.Find("a[href='/agents/meridian#events']").Length() == 0 {
		t.Error("the first row lacks its mark, its drawing or its events")
	}
	if got := text(first.Find(".plot")); got != "95 % range +2.5 to +4.9, skill +3.4" {
		t.Errorf("range in words %q", got)
	}
	if got := text(doc.Find(".lede")); !strings.Contains(got, "leads with a skill of +3.4. Best guess: 3.7 points closer to the truth than the market per event; 95 % range +2.5 to +4.9.") {
		t.Errorf("%q", got)
	}
	if got := text(doc.Find(".interval-legend")); got != "95 % range of the true edge per event skill, which orders the board the market a reference row How they are calculated" {
		t.Errorf("legend %q", got)
	}
	if got := words(doc.Find(".chance")); got != "Of 23 ranked agents, 1 is proven: odds of at least 20 : 1 against having no edge. If no agent had an edge, luck alone would make about 0.4 of them look proven." {
		t.Errorf("%q", got)
	}
	zero := doc.Find("svg.forest .zero").First().AttrOr("x1", "")
	doc.Find("svg.forest .zero").Each(func(_ int, s *goquery.Selection) {
		if s.AttrOr("x1", "") != zero || s.AttrOr("x2", "") != zero {
			t.Error("the market's line is not straight")
		}
	})
	if got := text(doc.Find("tr.reference .agent")); got != "ConsensusMarketAlways 50 %" {
		t.Errorf("reference rows %q", got)
	}
	if got := text(doc.Find("tr.reference svg text")); got != "◂ −9.6" {
		t.Errorf("beyond the scale: %q", got)
	}
	if got := text(doc.Find(".waiting-table .missing")); got != "12 of 30 settled events 6 of 14 days with a prediction" {
		t.Errorf("missing %q", got)
	}
}

func TestEmptyStates(t *testing.T) {
	t.Parallel()
	for name, page := range map[string]templ.Component{
		"home":        pages.Home(pages.HomeProps{Layout: frame("", "/", "/")}),
		"leaderboard": pages.Leaderboard(pages.LeaderboardProps{Layout: frame("Leaderboard", "/leaderboard", "/leaderboard"), MinEvents: 30}),
		"models":      pages.Models(pages.ModelsProps{Layout: frame("Models", "/models", "/models")}),
		"markets":     pages.Markets(pages.MarketsProps{Layout: frame("Markets", "/markets", "/markets")}),
		"market":      pages.Market(pages.MarketProps{Layout: frame("x", "/markets/1", "/markets")}),
		"news":        pages.News(pages.NewsProps{Layout: frame("News", "/news", "/news")}),
		"predictions": pages.Predictions(pages.PredictionsProps{Layout: frame("Predictions", "/predictions", "/predictions")}),
		"agent":       pages.Agent(pages.AgentProps{Layout: frame("x", "/agents/x", "/leaderboard")}),
		"assignments": pages.Assignments(pages.AssignmentsProps{Layout: frame("Assignments", "/assignments", "/assignments")}),
		"changes":     pages.Changes(pages.ChangesProps{Layout: frame("Changes", "/changes", "")}),
		"data":        pages.Data(pages.DataProps{Layout: frame("Data", "/data", "")}),
		"compare":     pages.Compare(pages.CompareProps{Layout: frame("Compare", "/compare", "/leaderboard")}),
		"register":    pages.Register(pages.RegisterProps{Layout: frame("Join", "/agents/new", ""), How: "Ask."}),
	} {
		if doc := render(t, page); doc.Find(".empty .empty-title").Length() == 0 {
			t.Errorf("%s has no message for an empty list", name)
		}
	}
}

func TestHostileEvidence(t *testing.T) {
	t.Parallel()
	doc := render(t, pages.Prediction(predictionPage(predictions()[0])))
	links := doc.Find(".evidence a.external")
	if links.Length() != 2 {
		t.Fatalf("%d links", links.Length())
	}
	links.Each(func(_ int, s *goquery.Selection) {
		if href := s.AttrOr("href", ""); strings.HasPrefix(href, "javascript") || !strings.Contains(s.AttrOr("rel", ""), "ugc") {
			t.Errorf("link to %s with rel %q", href, s.AttrOr("rel", ""))
		}
	})
}

func TestMarketChart(t *testing.T) {
	t.Parallel()
	doc := render(t, pages.Market(marketPage()))
	if n := doc.Find("svg.chart a[href^='/predictions/']").Length(); n != 5 {
		t.Errorf("%d predictions in the chart", n)
	}
	if doc.Find("svg.chart > title").Text() == "" || doc.Find("details.numbers tbody tr").Length() < 30 {
		t.Error("the chart has no title or no table")
	}
	if doc.Find("svg.chart .ground > svg:has(.line) ~ .row-label").Length() == 0 || doc.Find("svg.chart .row-label ~ svg:has(.line)").Length() > 0 {
		t.Error("the lines are drawn over the labels of the chart")
	}
}
