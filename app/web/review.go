package web

import (
	"fmt"
	"math"

	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

func (s *Site) reviewProps(r *leaderboard.Review) pages.ReviewProps {
	p := pages.ReviewProps{
		Predictions: r.All.Predictions, Events: int(r.All.Sums.N), Newest: leaderboard.MaxReviewed,
		All: r.Settled <= leaderboard.MaxReviewed, Without: withoutConclusion(r.Comparisons),
		Groups: []pages.ReviewGroup{
			{Rows: []pages.ReviewRow{reviewRow("Overall", &r.All)}},
			reviewGroup("By category", r.Categories, func(s *score.Slice) string { return s.Category }),
			reviewGroup("By time from publication to the close", r.Horizons, horizonLabel),
			reviewGroup("By distance from the market, in percentage points", r.Distances, distanceLabel),
		},
		Best: s.reviewCalls(r.Best), Worst: s.reviewCalls(r.Worst),
	}
	for _, c := range r.Conclusions {
		p.Conclusions = append(p.Conclusions, pages.ReviewConclusion{Better: c.Better, Text: c.Text})
	}
	var rows []pages.ReviewRow
	for _, g := range p.Groups {
		rows = append(rows, g.Rows...)
	}
	p.Scale = reviewScale(4, rows)
	rows = nil
	for i := range r.Moves {
		m := &r.Moves[i]
		row := pages.ReviewRow{
			Estimate: sumsEstimate(m.Gain), Name: fmt.Sprintf("%.0f %%", m.Share*100), Predictions: m.Predictions,
			Events: int(m.Gain.N), Verdict: m.Verdict,
		}
		rows = append(rows, row)
		p.Moves = append(p.Moves, pages.ReviewMove{ReviewRow: row, Mean: m.Sums.Mean()})
	}
	p.MoveScale = reviewScale(2, rows)
	return p
}

func withoutConclusion(comparisons int) string {
	if comparisons == 0 {
		return fmt.Sprintf("No conclusion yet: it needs %d events on %d days.", score.ReviewMinEvents, score.ReviewMinDays)
	}
	return fmt.Sprintf("No conclusion yet: %s, and each result may be chance.", components.Plural(comparisons, "comparison", "comparisons"))
}

func reviewGroup(title string, list []score.Slice, name func(*score.Slice) string) pages.ReviewGroup {
	g := pages.ReviewGroup{Title: title}
	for i := range list {
		g.Rows = append(g.Rows, reviewRow(name(&list[i]), &list[i]))
	}
	return g
}

func reviewRow(name string, s *score.Slice) pages.ReviewRow {
	return pages.ReviewRow{
		Estimate: sumsEstimate(s.Sums), Name: name, Predictions: s.Predictions, Events: int(s.Sums.N), Verdict: s.Verdict,
	}
}

// sumsEstimate returns the mean and its interval in the form that charts draw.
func sumsEstimate(s score.Sums) components.Estimate {
	e := components.Estimate{Skill: s.Mean()}
	if low, high, ok := s.Interval(); ok {
		e.Range = &components.Range{BestGuess: e.Skill, Low: low, High: high}
	}
	return e
}

// reviewScale returns a scale in about n steps. It covers the rows with enough events for a
// verdict, or all rows if none has enough. A row with one event has an interval that would flatten
// the others.
func reviewScale(n int, rows []pages.ReviewRow) components.Scale {
	var firm, all []float64
	for _, r := range rows {
		ends := []float64{r.Skill}
		if r.Range != nil {
			ends = append(ends, r.Range.Low, r.Range.High)
		}
		all = append(all, ends...)
		if r.Events >= score.ReviewMinEvents {
			firm = append(firm, ends...)
		}
	}
	if len(firm) > 0 {
		return components.NewScale(n, firm...)
	}
	return components.NewScale(n, all...)
}

func horizonLabel(s *score.Slice) string {
	const day = 24
	switch {
	case math.IsInf(s.Low, 1):
		return "no date"
	case s.Low == 0:
		return "under 1 day"
	case math.IsInf(s.High, 1):
		return fmt.Sprintf("%.0f+ days", s.Low/day)
	}
	return fmt.Sprintf("%.0f–%.0f days", s.Low/day, s.High/day)
}

func distanceLabel(s *score.Slice) string {
	low, high := 100*s.Low, 100*s.High
	switch {
	case s.Low == 0:
		return fmt.Sprintf("under %.0f", high)
	case math.IsInf(s.High, 1):
		return fmt.Sprintf("%.0f+", low)
	}
	return fmt.Sprintf("%.0f–%.0f", low, high)
}

func (s *Site) reviewCalls(records []prediction.Record) []pages.ReviewCall {
	out := make([]pages.ReviewCall, len(records))
	for i := range records {
		p := s.predictionProps(&records[i])
		out[i] = pages.ReviewCall{ID: p.ID, Confidence: p.Confidence, Baseline: p.Baseline, Value: p.Value}
		out[i].Title, out[i].Outcome, out[i].Note = p.Listed()
		if p.Edge != nil {
			out[i].Edge = *p.Edge
		}
	}
	return out
}
