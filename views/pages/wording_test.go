package pages_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// TestClosing checks that a close in the past is not described as a future one.
func TestClosing(t *testing.T) {
	t.Parallel()
	later, before, never := in(48*time.Hour), ago(48*time.Hour), components.When{}
	for name, test := range map[string]struct {
		row        pages.MarketRow
		list, page string
	}{
		"open":                 {pages.MarketRow{ClosesAt: later}, "closes in 2 days", "Closesin 2 days"},
		"open past its time":   {pages.MarketRow{ClosesAt: before}, "awaiting result, due 2 days ago", "Awaiting result, due2 days ago"},
		"open without an end":  {pages.MarketRow{ClosesAt: never}, "", ""},
		"closed early":         {pages.MarketRow{ClosesAt: later, ClosedAt: ago(time.Hour), Closed: true}, "closed 1 hour ago", "Closed1 hour ago"},
		"closed, unknown when": {pages.MarketRow{ClosesAt: later, Closed: true}, "closed", ""},
		"closed on time":       {pages.MarketRow{ClosesAt: before, Closed: true}, "closed 2 days ago", "Closed2 days ago"},
	} {
		list := render(t, pages.Markets(pages.MarketsProps{Layout: frame("", "/markets", "/markets"), Rows: []pages.MarketRow{test.row}}))
		if got := strings.TrimPrefix(text(list.Find(".narrow-only")), "· "); got != test.list {
			t.Errorf("%s: the list says %q, want %q", name, got, test.list)
		}
		page := render(t, pages.Market(pages.MarketProps{Layout: frame("", "/markets/1", "/markets"), Row: test.row}))
		if got := text(page.Find(".stat-row")); !strings.HasPrefix(got, test.page) || (test.page == "" && got != "") {
			t.Errorf("%s: the page says %q, want %q", name, got, test.page)
		}
	}
}

func TestPredictionFacts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status             string
		closes, closed, at components.When
		want               string
	}{
		"open":              {"open", in(48 * time.Hour), components.When{}, components.When{}, "Closesin 2 days (23 November 2026, 12:00:00 UTC)"},
		"overdue":           {"open", ago(48 * time.Hour), components.When{}, components.When{}, "Awaiting result, due2 days ago (19 November 2026, 12:00:00 UTC)"},
		"settled":           {"resolved", ago(48 * time.Hour), components.When{}, ago(time.Hour), "Closed2 days ago (19 November 2026, 12:00:00 UTC)Settled1 hour ago (21 November 2026, 11:00:00 UTC) by the market's settlement"},
		"settled too early": {"resolved", in(48 * time.Hour), ago(2 * time.Hour), ago(time.Hour), "Closed2 hours ago (21 November 2026, 10:00:00 UTC)Settled1 hour ago (21 November 2026, 11:00:00 UTC) by the market's settlement"},
		"void":              {"void", ago(48 * time.Hour), components.When{}, ago(time.Hour), "Closed2 days ago (19 November 2026, 12:00:00 UTC)Voided1 hour ago (21 November 2026, 11:00:00 UTC) by the market's settlement"},
	} {
		p := pages.PredictionProps{Layout: frame("", "/predictions/1", "/predictions"), ClosesAt: test.closes, ClosedAt: test.closed, Source: "market"}
		p.Prediction.Status, p.Prediction.ResolvedAt = test.status, test.at
		if got := text(render(t, pages.Prediction(p)).Find(".facts")); !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestHashStays checks that a prediction keeps its hash on its page after the reveal, with what is needed to check it.
func TestHashStays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hash, salt string
		at         components.When
		want       string
		link       int
	}{
		"shown at once":    {"", "", components.When{}, "", 0},
		"revealed":         {"ab", "cd", ago(time.Hour), "Revealed1 hour ago (21 November 2026, 11:00:00 UTC)HashabSaltcd", 1},
		"hidden or erased": {"ab", "", ago(time.Hour), "Revealed1 hour ago (21 November 2026, 11:00:00 UTC)Hashab", 0},
	} {
		p := pages.PredictionProps{Layout: frame("", "/predictions/1", "/predictions"), Hash: test.hash, Salt: test.salt, RevealedAt: test.at}
		doc := render(t, pages.Prediction(p))
		got := text(doc.Find(".facts"))
		if !strings.Contains(got, test.want) || strings.Contains(got, "Hash") != (test.hash != "") || strings.Contains(got, "Salt") != (test.salt != "") {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if n := doc.Find("a[href='/method#showing-a-prediction-later']").Length(); n != test.link {
			t.Errorf("%s: %d links to how the hash is checked, want %d", name, n, test.link)
		}
	}
}

// TestCitations checks that the line about an item's citations says when they weren't all counted.
func TestCitations(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		cited int
		more  bool
	}{
		"1 prediction cites this":                          {1, false},
		"3 predictions cite this and 2 more":               {3, false},
		"More than 1,000 predictions cite this and others": {1000, true},
	} {
		item := pages.NewsItem{ID: "a", Title: "T", Cited: c.cited, MoreCited: c.more, CitedBy: predictions()[:1]}
		cited := render(t, pages.News(pages.NewsProps{Layout: frame("", "/news", "/news"), Items: []pages.NewsItem{item}})).Find(".cited")
		lines := []string{words(cited.Find("p").First())}
		if rest := cited.Find("p").Last(); cited.Find("p").Length() == 3 {
			lines = append(lines, words(rest))
		}
		if got := strings.ReplaceAll(strings.Join(lines, " "), "\u00a0", " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestOneOrNone checks that counts of one and of zero read as sentences.
func TestOneOrNone(t *testing.T) {
	t.Parallel()
	price := 0.5
	for says, want := range map[float64]string{
		0.5:    "One agent50 %equal to the price",
		0.5003: "One agent50 %equal to the price",
		0.504:  "One agent50 %+0.4 percentage points from the price",
		0.4955: "One agent50 %−0.5 percentage points from the price",
		0.5097: "One agent51 %+1 percentage point from the price",
		0.51:   "One agent51 %+1 percentage point from the price",
		0.49:   "One agent49 %−1 percentage point from the price",
		0.6:    "One agent60 %+10 percentage points from the price",
	} {
		row := pages.MarketRow{Outcome: "Yes", Probability: &price, Consensus: &says, Agents: 1}
		got := text(render(t, pages.Market(pages.MarketProps{Layout: frame("", "/markets/1", "/markets"), Row: row})).Find(".stat-row"))
		if !strings.Contains(strings.ReplaceAll(got, "\u00a0", " "), want) {
			t.Errorf("%v: %q, want %q", says, got, want)
		}
	}
	// A new service has only the reference rows, which aren't a board.
	reference := []pages.BoardRow{{Agent: components.Agent{Name: "Market"}, Reference: true}}
	home := render(t, pages.Home(pages.HomeProps{Layout: frame("", "/", "/"), Board: reference}))
	board := render(t, pages.Leaderboard(pages.LeaderboardProps{Layout: frame("", "/leaderboard", "/leaderboard"), Rows: reference, MinEvents: 30}))
	if home.Find(".forest-table").Length() != 0 || text(home.Find("section[aria-labelledby=board] .empty-title")) != "No agent is ranked yet" {
		t.Error("home ranks a reference row")
	}
	if board.Find(".forest-table").Length() != 0 || text(board.Find(".empty-title")) != "No agents on this board yet" {
		t.Error("the leaderboard ranks a reference row")
	}
}
