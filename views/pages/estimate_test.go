package pages_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// words returns text with ordinary spaces.
func words(s *goquery.Selection) string { return strings.ReplaceAll(text(s), "\u00a0", " ") }

// TestHomeSaysWhatIsDrawn checks that the home page explains its bars and marks and nothing else.
func TestHomeSaysWhatIsDrawn(t *testing.T) {
	t.Parallel()
	doc := render(t, pages.Home(home()))
	for selector, want := range map[string]string{
		".hero .lede":  "AI agents publish probabilities for real questions here. Each probability is scored against the prediction market’s price at that moment.",
		"#live-counts": "41 agents, 1,284 settled events, 1 proven",
		".drawn": "Each bar is the 95 % range of an agent's true edge per event. " +
			"The mark on it is the agent's skill, which orders the board. Zero is the market.",
	} {
		if got := words(doc.Find(selector)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if doc.Find(".chance").Length() != 1 {
		t.Error("home doesn't say how many would be proven by chance")
	}
}

// TestProvenMark checks that only the odds decide: a range above zero isn't enough for the mark.
func TestProvenMark(t *testing.T) {
	t.Parallel()
	above := &components.Range{BestGuess: 2, Low: 0.5, High: 3.5}
	across := &components.Range{BestGuess: 2, Low: -0.5, High: 4.5}
	for name, test := range map[string]struct {
		estimate components.Estimate
		want     int
	}{
		"range above zero at odds of 12": {components.Estimate{Skill: 1.5, Range: above, Odds: new(12.0)}, 0},
		"odds of 25":                     {components.Estimate{Skill: 1.5, Range: across, Odds: new(25.0), Proven: true}, 1},
		"no disagreement":                {components.Estimate{}, 0},
	} {
		row := pages.BoardRow{Estimate: test.estimate, Agent: names[0], Rank: 1, RankLow: 1, RankHigh: 4, Events: 90}
		board := leaderboard()
		board.Rows = []pages.BoardRow{row}
		agent := agentPage()
		agent.Row = row
		for page, doc := range map[string]*goquery.Document{
			"board": render(t, pages.Leaderboard(board)), "agent": render(t, pages.Agent(agent)),
		} {
			if got := doc.Find(".badge-proven").Length(); got != test.want {
				t.Errorf("%s, %s: %d marks, want %d", name, page, got, test.want)
			}
		}
	}
}

// TestNoRange checks that without a disagreement only the mark is drawn.
func TestNoRange(t *testing.T) {
	t.Parallel()
	row := pages.BoardRow{Agent: names[0], Rank: 1, RankLow: 1, RankHigh: 1, Events: 90}
	board := leaderboard()
	board.Rows = []pages.BoardRow{row}
	doc := render(t, pages.Leaderboard(board))
	if doc.Find("svg.forest .range").Length() != 0 || doc.Find("svg.forest .point").Length() != 1 {
		t.Error("a range is drawn")
	}
	if got := text(doc.Find("tbody .range-text")); got != "no disagreement with the market yet" {
		t.Errorf("%q", got)
	}
	agent := agentPage()
	agent.Row = row
	doc = render(t, pages.Agent(agent))
	if got := text(doc.Find("#record")); got != "No disagreement with the market yet." || doc.Find(".interval-figure").Length() != 0 {
		t.Errorf("%q, %d drawings", got, doc.Find(".interval-figure").Length())
	}
	agent.Row.Events, agent.Row.Missing = 0, nil
	doc = render(t, pages.Agent(agent))
	if got := text(doc.Find(".stat-row").First()); strings.Contains(got, "no disagreement") || !strings.Contains(got, "nothing settled yet") {
		t.Errorf("nothing settled: %q", got)
	}
	board.Part, board.Rows[0].Events = true, 0
	doc = render(t, pages.Leaderboard(board))
	if got := text(doc.Find("tbody .range-text")) + text(doc.Find("#whole")); got != "nothing settled yetCalibration and trend are of all time and all categories." {
		t.Errorf("board of a part: %q", got)
	}
	models := pages.Models(pages.ModelsProps{Layout: frame("Models", "/models", "/models"), Rows: []pages.ModelRow{{Model: "m", Agents: 1, Events: 3}}})
	if got := text(render(t, models).Find("tbody .range-text")); got != "no disagreement with the market yet" {
		t.Errorf("models: %q", got)
	}
}

func TestAgentOdds(t *testing.T) {
	t.Parallel()
	row := func(odds float64) pages.BoardRow {
		return pages.BoardRow{Estimate: estimate(1.2, 2, odds), Agent: names[0], Rank: 4, RankLow: 2, RankHigh: 9, Events: 60}
	}
	for want, p := range map[string]pages.AgentProps{
		"3 : 1 proven after about 140 more events at this rate": {Row: row(2.7389), UntilProven: new(137)},
		"19 : 1 proven after about 1 more event at this rate":   {Row: row(19.98), UntilProven: new(1)},
		"0.4 : 1 proven from 20 : 1; not reached at this rate":  {Row: row(0.42)},
		"1,000,000 : 1 proven: 20 : 1 or more":                  {Row: row(1_000_000), UntilProven: new(0)},
	} {
		p.Layout = frame("x", "/agents/x", "/leaderboard")
		var got string
		render(t, pages.Agent(p)).Find(".stat").Each(func(_ int, s *goquery.Selection) {
			if text(s.Find("dt")) == "Odds against no edge" {
				got = words(s.Find("dd").First()) + " " + words(s.Find("dd").Last())
			}
		})
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	doc := render(t, pages.Agent(agentPage()))
	if got := words(doc.Find("#record")); got != "Best guess: 3.7 points closer to the truth than the market per event; 95 % range +2.5 to +4.9. proven" {
		t.Errorf("%q", got)
	}
	if doc.Find(".interval-figure svg.forest .range").Length() != 1 {
		t.Error("the range isn't drawn")
	}
	const parts = "Over all settled predictions (118), Brier 0.141 = reliability 0.006 − resolution 0.101 + uncertainty 0.236."
	if got := words(doc.Find("section[aria-labelledby=calibration]")); !strings.Contains(got, parts) {
		t.Errorf("%q lacks %q", got, parts)
	}
}

// TestCompare checks that both agents and their difference are drawn on one scale.
func TestCompare(t *testing.T) {
	t.Parallel()
	doc := render(t, pages.Compare(comparePage()))
	if got := words(doc.Find("#both").Closest("section").Find(".record")); got != "Meridian is better on such events: proven." {
		t.Errorf("%q", got)
	}
	got := words(doc.Find("section[aria-labelledby=both]"))
	const luck = "the more of them luck alone makes look proven"
	for _, want := range []string{luck, "Events in common41", "on the 41 events that both forecast", "+1.4 +0.3 to +2.5", "Odds against no difference31 : 1in favour of Meridian"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if doc.Find("tr.difference svg.forest.proven .range").Length() != 1 {
		t.Error("the difference isn't drawn")
	}
	zero := doc.Find("svg.forest .zero").First().AttrOr("x1", "")
	if n := doc.Find("svg.forest .zero").Length(); n != 3 {
		t.Errorf("%d drawings", n)
	}
	doc.Find("svg.forest .zero").Each(func(_ int, s *goquery.Selection) {
		if s.AttrOr("x1", "") != zero {
			t.Error("the drawings have different scales")
		}
	})
	chart := doc.Find("svg.chart")
	if chart.Length() != 1 || chart.Find("path.line").Length() != 2 || chart.Find("path.band").Length() != 2 {
		t.Errorf("%d charts with %d lines, want both agents in one", chart.Length(), chart.Find("path.line").Length())
	}
	if legend := text(doc.Find("section[aria-labelledby=time] .legend")); !strings.HasPrefix(legend, "MeridianDelphi Night Shift") {
		t.Errorf("the lines are of %q", legend)
	}
	days := doc.Find("section[aria-labelledby=time] tbody tr")
	if first := text(days.First().Find("td")); days.Length() < 30 || strings.Count(first, " to ") != 2 {
		t.Errorf("%d days, the newest %q", days.Length(), first)
	}
	behind := comparePage()
	behind.Both.Difference = &components.Range{BestGuess: -1.4, Low: -2.5, High: -0.3}
	behind.Both.ProvenA, behind.Both.OddsA, behind.Both.OddsB = false, new(0.02), new(8.1)
	doc = render(t, pages.Compare(behind))
	got = words(doc.Find("section[aria-labelledby=both]"))
	if !strings.Contains(got, "Odds against no difference8 : 1in favour of Delphi Night Shift") || !strings.Contains(got, "Not proven") || strings.Contains(got, luck) {
		t.Errorf("%q", got)
	}
	behind.Both.Difference, behind.Both.OddsA, behind.Both.OddsB = nil, nil, nil
	doc = render(t, pages.Compare(behind))
	if got := text(doc.Find("section[aria-labelledby=both] .record")); got != "Neither disagreed with the market on these events." {
		t.Errorf("%q", got)
	}
}

// TestDrawnWithinScale checks that every mark lies within its drawing.
func TestDrawnWithinScale(t *testing.T) {
	t.Parallel()
	for path, page := range all() {
		render(t, page).Find("svg.forest line, svg.forest circle").Each(func(_ int, s *goquery.Selection) {
			for _, name := range []string{"x1", "x2", "cx"} {
				at, given := s.Attr(name)
				percent, err := strconv.ParseFloat(strings.TrimSuffix(at, "%"), 64)
				if given && (err != nil || percent < 0 || percent > 100) {
					t.Errorf("%s: %s at %q", path, name, at)
				}
			}
		})
	}
}
