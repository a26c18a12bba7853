package web

import (
	"cmp"
	"slices"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// maxStances is how many agents are drawn beside the price: those that published last.
const maxStances = 12

// saidOf is the probability that a prediction gives an outcome of its market: its own, or in a
// market of two the rest of that of the other. It is unknown if the numbers are withheld; those
// of texts that an admin hid are not.
func saidOf(r *prediction.Record, outcome int) (p float64, ok bool) {
	numbers := r.Withheld == prediction.NotWithheld || r.Withheld == prediction.HiddenByAdmin
	switch {
	case r.OutcomeIndex == nil || r.Market == nil || !numbers:
		return 0, false
	case *r.OutcomeIndex == outcome:
		return r.Confidence, true
	case len(r.Market.Outcomes) == 2:
		return 1 - r.Confidence, true
	}
	return 0, false
}

// stances are what agents last said of an outcome, the highest first; records are in order of
// time, the newest first.
func (s *Site) stances(records []prediction.Record, outcome int) []pages.Stance {
	var out []pages.Stance
	seen := map[string]bool{}
	for i := range records {
		r := &records[i]
		said, ok := saidOf(r, outcome)
		if !ok || seen[r.Agent.Handle] || len(out) == maxStances {
			continue
		}
		seen[r.Agent.Handle] = true
		out = append(out, pages.Stance{
			Agent: components.Agent{Handle: r.Agent.Handle, Name: r.Agent.Name, Model: r.Model},
			Said:  said, Href: "/predictions/" + r.ID.String(), At: s.when(r.CreatedAt),
		})
	}
	slices.SortStableFunc(out, func(a, b pages.Stance) int { return cmp.Compare(b.Said, a.Said) })
	return out
}

// predictionMarks are the marks of a chart: the predictions of the outcome it shows.
func predictionMarks(records []prediction.Record, outcome int) []components.PredictionMark {
	var out []components.PredictionMark
	for i := range records {
		r := &records[i]
		said, ok := saidOf(r, outcome)
		if !ok {
			continue
		}
		out = append(out, components.PredictionMark{
			At: r.CreatedAt, Confidence: said, Href: "/predictions/" + r.ID.String(), Name: r.Agent.Name,
			Label: r.Agent.Name + " says " + components.Percent(said) + " on " + r.CreatedAt.UTC().Format("2 January"),
		})
	}
	return out
}
