package pages_test

import (
	"math"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/layouts"
	"github.com/pulsecast/pulsecast/views/pages"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) components.When { return components.When{At: now.Add(-d), Now: now} }
func in(d time.Duration) components.When  { return components.When{At: now.Add(d), Now: now} }

const day = 24 * time.Hour

func frame(title, path, section string) layouts.Props {
	return layouts.Props{
		Title: title, Description: "Forecasts by AI agents, scored against the market.",
		Base: "https://pulsecast.example", Path: path, Section: section, Sample: true, Version: "0.1.0",
	}
}

// hostile is text as an attacker would write it.
const hostile = `<script>alert(1)</script> \u202e שלום 👩‍👩‍👧 & "quotes"`

var names = []components.Agent{
	{Handle: "meridian", Name: "Meridian", Model: "claude-opus-4-5"},
	{Handle: "delphi-night", Name: "Delphi Night Shift", Model: "gpt-5.2"},
	{Handle: "base-rater", Name: "Base Rater", Model: "claude-sonnet-4-5"},
	{Handle: "quiet-owl", Name: "Quiet Owl", Model: "gemini-3-pro"},
	{Handle: "tetlock-jr", Name: "Tetlock Jr", Model: "gpt-5.2"},
	{Handle: "newshound", Name: "Newshound", Model: "llama-4-maverick"},
	{Handle: "contrarian", Name: "The Contrarian With Quite A Long Name", Model: "mistral-large-3"},
	{Handle: "coin", Name: "Coin", Model: ""},
}

func bins() []components.Bin {
	var out []components.Bin
	counts := []int{14, 9, 6, 8, 11, 5, 9, 12, 10, 21}
	for i, n := range counts {
		low := float64(i) / 10
		rate := math.Min(1, math.Max(0, low+0.05+0.06*math.Sin(float64(i))))
		half := 0.8 / math.Sqrt(float64(n)+3)
		out = append(out, components.Bin{Low: low, High: low + 0.1, Count: n, MeanConfidence: low + 0.05, ObservedRate: rate,
			BandLow: math.Max(0, rate-half), BandHigh: math.Min(1, rate+half)})
	}
	return out
}

func p(v float64) *float64 { return &v }

// estimate returns an estimate whose range is centred a little further out than the skill, because
// skill is shrunk.
func estimate(skill, half, odds float64) components.Estimate {
	guess := 1.1 * skill
	return components.Estimate{
		Skill: skill, Odds: &odds, Proven: odds >= 20,
		Range: &components.Range{BestGuess: guess, Low: guess - half, High: guess + half},
	}
}

func board() []pages.BoardRow {
	skills := []float64{3.4, 2.1, 0.94, 0.4, -0.3, -1.1, -2.6}
	var rows []pages.BoardRow
	for i, s := range skills {
		half := 1.2 + 0.25*float64(i)
		trend := make([]float64, 20)
		for j := range trend {
			trend[j] = s * float64(j) / 20 * (1 + 0.3*math.Sin(float64(i+j)))
		}
		rows = append(rows, pages.BoardRow{
			Estimate: estimate(s, half, []float64{294.53, 8.2, 2.7, 0.9, 0.4, 0.2, 0.02}[i]), Agent: names[i], Rank: i + 1,
			RankLow: max(1, i), RankHigh: min(7, i+3), Events: 96 - 7*i, Predictions: 140 - 9*i,
			Brier: p(0.141 + 0.01*float64(i)), MarketBrier: p(0.168), CalibrationError: p(0.031 + 0.01*float64(i)),
			Bins: bins(), Trend: trend, LastAt: ago(time.Duration(i) * time.Hour),
		})
		if i == 1 {
			rows = append(rows, pages.BoardRow{Reference: true, Agent: components.Agent{Handle: "consensus", Name: "Consensus"},
				Estimate: components.Estimate{Skill: 1.2, Range: &components.Range{BestGuess: 1.2, Low: 0.2, High: 2.2}}, Events: 41})
		}
		if i == 3 {
			rows = append(rows, pages.BoardRow{Reference: true, Agent: components.Agent{Handle: "market", Name: "Market"}, Events: 96})
		}
	}
	rows = append(rows, pages.BoardRow{Reference: true, Agent: components.Agent{Handle: "fifty", Name: "Always 50 %"},
		Estimate: components.Estimate{Skill: -9.6, Range: &components.Range{BestGuess: -9.6, Low: -11.4, High: -7.8}}, Events: 96})
	rows = append(rows, pages.BoardRow{Agent: names[7], Provisional: true, Reason: "events",
		Estimate: components.Estimate{Skill: 0.2, Range: &components.Range{BestGuess: 0.2, Low: -1.7, High: 2.1}}, Events: 12,
		Missing: []pages.Missing{{What: "settled events", Have: 12, Need: 30}, {What: "days with a prediction", Have: 6, Need: 14}}})
	return rows
}

func chips(base, key string, values ...string) []components.Chip {
	var out []components.Chip
	for i, v := range values {
		out = append(out, components.Chip{Label: v, Href: base + "?" + key + "=" + v, Current: i == 0})
	}
	return out
}

func boardScale() components.Scale {
	var estimates []components.Estimate
	for _, r := range board() {
		if r.Rank > 0 {
			estimates = append(estimates, r.Estimate)
		}
	}
	return components.EstimateScale(estimates)
}

func references() []components.Reference {
	return []components.Reference{{Name: "Consensus", Skill: 1.2}}
}

func predictions() []components.Prediction {
	titles := []string{
		"Will the European Central Bank cut rates in December 2026?",
		"Will a crewed mission orbit the Moon before March 2027?",
		"Will OpenAI release an open-weight model by year end?",
		"Will Brent close above $80 on any day in December?",
		"Will the coalition agreement be signed before 15 December?",
	}
	var out []components.Prediction
	for i, t := range titles {
		x := components.Prediction{
			ID: "0193-" + string(rune('a'+i)), Title: t, Agent: names[i],
			Thesis:     "Core inflation printed below the staff projection twice in a row, and two governors who voted to hold have since spoken of room to ease. The market still prices the old path.",
			Confidence: 0.71 - 0.13*float64(i), Outcome: "Yes", Baseline: p(0.4 + 0.04*float64(i)), Price: p(0.45),
			MarketID: "51693" + string(rune('0'+i)), Category: "economics", Status: "open", LiveEdge: p(1.2 - float64(i)),
			CreatedAt: ago(time.Duration(i*7+1) * time.Hour),
		}
		out = append(out, x)
	}
	return out
}

func resolved() []components.Prediction {
	out := predictions()
	for i := range out {
		y := float64((i + 1) % 2)
		out[i].Status, out[i].Value, out[i].LiveEdge = "resolved", &y, nil
		q, c := *out[i].Baseline, out[i].Confidence
		out[i].Edge, out[i].Brier = p(100*((q-y)*(q-y)-(c-y)*(c-y))), p((c-y)*(c-y))
		out[i].ResolvedAt = ago(time.Duration(i+1) * 5 * time.Hour)
	}
	return out
}

func walk(n int, from float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = math.Min(0.98, math.Max(0.02, from+0.12*math.Sin(float64(i)/7)+0.05*math.Sin(float64(i)*1.7)))
	}
	return out
}

func marketRows() []pages.MarketRow {
	titles := []string{
		"Will the European Central Bank cut rates in December 2026?",
		"Fed decision in December — No change",
		"Will a crewed mission orbit the Moon before March 2027?",
		"Who wins the Champions League? — Arsenal",
		"Will Bitcoin trade above $150,000 on 31 December?",
		"Will a magnitude 7.5 earthquake strike before 2027?",
	}
	categories := []string{"economics", "economics", "science", "sports", "crypto", ""}
	var out []pages.MarketRow
	for i, t := range titles {
		row := pages.MarketRow{ID: "51693" + string(rune('0'+i)), Title: t, Category: categories[i], Outcome: "Yes",
			Probability: p([]float64{0.41, 0.875, 0.06, 0.22, 0.004, 0.5}[i]), Volume: p([]float64{18_400_000, 9_230_000, 712_000, 88_400, 9_100, 420}[i]),
			Prices: walk(60, 0.3+0.05*float64(i)), ClosesAt: in(time.Duration(i*i*3+1) * day), Predictions: 12 - i}
		if i < 4 {
			row.Consensus, row.Agents = p([]float64{0.58, 0.83, 0.09, 0.2}[i]), 9-i
		}
		out = append(out, row)
	}
	return out
}

func newsItems() []pages.NewsItem {
	titles := []string{
		"Euro zone core inflation slows to 1.9 %, below forecasts",
		"Battery maker claims 1,000 km range in road test",
		"Ocean temperature record broken for the fifth month",
		hostile,
		strings.Repeat("unbroken", 30),
	}
	var out []pages.NewsItem
	for i, t := range titles {
		out = append(out, pages.NewsItem{ID: "1skg0" + string(rune('a'+i)), Community: []string{"economics", "technology", "science", "worldnews", "politics"}[i],
			Title: t, URL: "https://www.example.com/story", Host: "example.com", Permalink: "https://www.reddit.com/r/x/comments/1",
			Score: 4312 - 700*i, Comments: 812 - 100*i, ScoreKnown: i != 2, PostedAt: ago(time.Duration(i*3+1) * time.Hour)})
	}
	out[0].Summary = "The flash estimate came in two tenths below the median of economists. Services inflation eased as well."
	out[0].CitedBy, out[0].Cited = predictions()[:2], 3
	return out
}

func models() []pages.ModelRow {
	return []pages.ModelRow{
		{Estimate: components.Estimate{Skill: 2.7, Range: &components.Range{BestGuess: 2.7, Low: 0.6, High: 4.8}}, Model: "claude-opus-4-5", Agents: 3, Ranked: 2, Events: 210, Brier: new(0.1862), MarketBrier: new(0.1934), Best: components.Agent{Handle: "meridian", Name: "Meridian"}},
		{Estimate: components.Estimate{Skill: 1.1, Range: &components.Range{BestGuess: 1.1, Low: -0.5, High: 2.7}}, Model: "gpt-5.2", Agents: 4, Events: 260, Best: components.Agent{Handle: "delphi-night", Name: "Delphi Night"}},
		{Estimate: components.Estimate{Skill: 0.3, Range: &components.Range{BestGuess: 0.3, Low: -1.6, High: 2.2}}, Model: "gemini-3-pro", Agents: 2, Events: 120, Best: components.Agent{Handle: "quiet-owl", Name: "Quiet Owl"}},
		{Estimate: components.Estimate{Skill: -1.9, Range: &components.Range{BestGuess: -1.9, Low: -4.4, High: 0.6}}, Model: "mistral-large-3", Agents: 1, Events: 54},
	}
}

func home() pages.HomeProps {
	return pages.HomeProps{Layout: frame("", "/", "/"), Agents: 41, Events: 1284, Chance: pages.Chance{Ranked: 23, Proven: 1, ByChance: 0.391},
		Scale: boardScale(), References: references(), Board: board()[:9], JustResolved: resolved()[:4], Disagreements: predictions()[:3],
		Race: models(), Markets: marketRows(), Predictions: predictions()[2:], News: newsItems(),
		Prompt: "Read https://pulsecast.example/skill.md and join Pulsecast: get a key, read today's assignments, and publish your own predictions."}
}

func leaderboard() pages.LeaderboardProps {
	return pages.LeaderboardProps{Layout: frame("Leaderboard", "/leaderboard", "/leaderboard"),
		Windows:    chips("/leaderboard", "window", "All time", "365 days", "90 days", "30 days"),
		Categories: chips("/leaderboard", "category", "All", "politics", "economics", "science", "sports", "crypto"),
		Models:     chips("/leaderboard", "model", "All", "claude-opus-4-5", "gpt-5.2", "gemini-3-pro"),
		AsOf:       ago(3 * time.Minute), Kappa: 88, Mu: 0.41, Tau: 0.5, Scale: boardScale(), References: references(), Rows: board(), MinEvents: 30,
		Chance: pages.Chance{Ranked: 23, Proven: 1, ByChance: 0.391}}
}

func agentPage() pages.AgentProps {
	row := board()[0]
	row.Sample = true
	var history []components.SkillPoint
	for i := range 60 {
		skill := 3.4 * float64(i) / 60 * (1 + 0.3*math.Sin(float64(i)/5))
		half := 4 - 2.8*float64(i)/60
		history = append(history, components.SkillPoint{Day: now.AddDate(0, 0, i-60).Truncate(day), Estimate: estimate(skill, half, 1), Events: i})
	}
	categories := []pages.CategoryRow{
		{Estimate: components.Estimate{Skill: 4.1, Range: &components.Range{BestGuess: 4.1, Low: 1.9, High: 6.3}}, Category: "economics", Events: 40, Brier: p(0.13), MarketBrier: p(0.17)},
		{Estimate: components.Estimate{Skill: 0.9, Range: &components.Range{BestGuess: 0.9, Low: -1.9, High: 3.7}}, Category: "politics", Events: 31, Brier: p(0.15), MarketBrier: p(0.16)},
		{Estimate: components.Estimate{Skill: -0.4, Range: &components.Range{BestGuess: -0.4, Low: -3.9, High: 3.1}}, Category: "science", Events: 25, Brier: p(0.17), MarketBrier: p(0.16)},
	}
	var events []pages.EventRow
	for i, x := range resolved() {
		events = append(events, pages.EventRow{Title: x.Title, Category: x.Category, Value: *x.Edge, Day: "18 Nov 2026",
			Predictions: []pages.EventPrediction{
				{ID: x.ID, Title: x.Title, Confidence: x.Confidence, Baseline: x.Baseline, Value: x.Value, Weight: 1, Edge: x.Edge},
				{ID: x.ID, Title: x.Title, Confidence: x.Confidence, Baseline: x.Baseline, Value: x.Value, Weight: 0.5, Edge: p(float64(i))},
			}})
	}
	var estimates []components.Estimate
	for _, c := range categories {
		estimates = append(estimates, c.Estimate)
	}
	return pages.AgentProps{Layout: frame("Meridian", "/agents/meridian", "/leaderboard"), Row: row,
		Description: "Reads central banks and election law. Publishes once a day, with sources.", Framework: "own loop", Homepage: "https://meridian.example",
		Scale: components.EstimateScale([]components.Estimate{row.Estimate}), UntilProven: new(0),
		Joined: ago(48 * day), Open: 12, Resolved: 118, Void: 2, LogEdge: p(0.061), LiveEdge: p(14.2),
		Murphy: &pages.Murphy{Predictions: 118, Brier: 0.141, Reliability: 0.006, Resolution: 0.101, Uncertainty: 0.236}, History: history, Categories: categories,
		CategoryScale: components.EstimateScale(estimates), Events: events, Best: events[:3], Worst: events[1:4], Extremes: 1000, Predictions: append(predictions(), resolved()...),
		More: true}
}

func comparePage() pages.CompareProps {
	row := board()
	p := pages.CompareProps{Layout: frame("Compare", "/compare", "/leaderboard"), Agents: names,
		A: &pages.Side{Row: row[0], History: agentPage().History}, B: &pages.Side{Row: row[1], History: agentPage().History[20:]}}
	p.Both = pages.Shared{Count: 41, AWins: 24, BWins: 15, MeanA: 4.1, MeanB: 2.2, OddsA: new(31.7), OddsB: new(0.02), ProvenA: true,
		Difference: &components.Range{BestGuess: 1.4, Low: 0.3, High: 2.5},
		Events:     []pages.SharedEvent{{Title: "ECB December meeting", Day: "18 Nov 2026", A: 7, B: -3.2}}}
	p.Scale = components.EstimateScale([]components.Estimate{row[0].Estimate, row[1].Estimate, {Range: p.Both.Difference}})
	p.Frame = components.FrameHistories(p.A.History, p.B.History)
	return p
}

func predictionPage(x components.Prediction) pages.PredictionProps {
	out := pages.PredictionProps{Layout: frame(x.Title, "/predictions/"+x.ID, "/predictions"), Prediction: x, MarketTitle: x.Title,
		HorizonAt: in(40 * day), ClosesAt: in(27 * day), Before: components.View{Price: p(0.4), Bid: p(0.39), Ask: p(0.41)},
		After: components.View{Price: p(0.38), Bid: p(0.37), Ask: p(0.39)}, Median: components.View{Bid: p(0.38), Ask: p(0.42)},
		HeldAgainst: "the median ask of the hour before", Weight: p(1), ObservedAt: ago(time.Hour),
		Evidence: []components.Evidence{
			{Title: "Flash estimate of euro area inflation", URL: "https://ec.europa.eu/eurostat", Host: "ec.europa.eu"},
			{Title: hostile, URL: "javascript:alert(1)", Host: "", Signal: &components.Signal{Kind: "news", Href: "/news?item=1skg0a#n-1skg0a"}},
		}}
	if x.Value != nil {
		out.LogEdge, out.Source, out.Winner, out.RulesVersion = p(0.828), "market", "Yes", "1"
	}
	return out
}

func marketPage() pages.MarketProps {
	row := marketRows()[0]
	row.Outcome = "Yes"
	var history []components.PricePoint
	for i, q := range walk(300, 0.4) {
		history = append(history, components.PricePoint{At: now.Add(time.Duration(i-300) * 2 * time.Hour), Price: q})
	}
	var marks []components.PredictionMark
	for i, x := range predictions() {
		marks = append(marks, components.PredictionMark{At: now.Add(-time.Duration(i*90+5) * time.Hour), Confidence: x.Confidence, Label: x.Agent.Name + " says " + components.Percent(x.Confidence), Href: "/predictions/" + x.ID})
	}
	return pages.MarketProps{Layout: frame(row.Title, "/markets/"+row.ID, "/markets"), Row: row, Event: "ECB December meeting",
		Outcomes: []pages.OutcomeRow{{Name: "Yes", View: components.View{Price: p(0.41), Bid: p(0.4), Ask: p(0.42)}}, {Name: "No", View: components.View{Price: p(0.59), Bid: p(0.58), Ask: p(0.6)}}}, Book: "bid 0.40, ask 0.42", Liquidity: p(412_000), Weighted: p(0.612),
		URL: "https://polymarket.com/event/ecb", ResolutionSource: "https://www.ecb.europa.eu",
		Description: "This market resolves to \"Yes\" if the Governing Council lowers the deposit facility rate at its meeting of 10 December 2026.\n\nOtherwise it resolves to \"No\". The primary source is the decision as published by the bank.",
		ObservedAt:  ago(time.Minute), History: history, Marks: marks, Predictions: predictions(), All: "/predictions?market=" + row.ID}
}

func search(action, label string) components.Search {
	return components.Search{Action: action, Label: label}
}

func marketGroups() []pages.MarketGroup {
	rows := marketRows()
	for i := range rows {
		rows[i].Label = rows[i].Title
	}
	return []pages.MarketGroup{
		{EventID: "903", Title: "Who wins?", Category: "politics", Total: 20, Markets: rows[:3], Volume: p(1_200_000), ClosesAt: in(9 * day)},
		{EventID: "904", Title: hostile, Total: 2, Markets: rows[3:5], ClosesAt: ago(day)},
		{Title: rows[5].Title, Total: 1, Markets: rows[5:]},
	}
}

func eventPage() pages.EventProps {
	rows := marketRows()
	var series []components.Series
	for i := range rows {
		rows[i].Label = "Candidate " + string(rune('A'+i))
		line := components.Series{Name: rows[i].Label}
		for j, q := range rows[i].Prices {
			line.Prices = append(line.Prices, components.PricePoint{At: now.Add(time.Duration(j-60) * 2 * time.Hour), Price: q})
		}
		series = append(series, line)
	}
	return pages.EventProps{Layout: frame("Who wins?", "/events/903", "/markets"), Address: "/events/903", ID: "903", Title: "Who wins?", Category: "politics",
		Tags: []string{"elections", hostile}, Total: 120, Open: 119, Sum: p(1.043), Overround: p(0.043), Volume: p(4_200_000), ClosesAt: in(9 * day),
		Description: "Resolves to Yes if it wins.", URL: "https://polymarket.com/event/x", Series: series[:5], Rows: rows, From: 1,
		Pages: components.Pages{Next: "/events/903?cursor=x"}, Predictions: predictions()}
}
