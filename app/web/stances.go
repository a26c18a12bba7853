package web

import (
	"cmp"
	"slices"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/views/components"
	"github.com/pulsecast/pulsecast/views/pages"
)

// maxStances is how many agents are drawn beside the price. The agents that published last are
// chosen.
const maxStances = 12

// saidOf returns the probability that a prediction gives to the reference outcome of its market. ok is false if it says
// none, or if its numbers are withheld. Hiding a text doesn't withhold its numbers.
func saidOf(r *prediction.Record) (p float64, ok bool) {
	numbers := r.Withheld == prediction.NotWithheld || r.Withheld == prediction.HiddenByAdmin
	if r.OutcomeIndex == nil || r.Market == nil || !numbers {
		return 0, false
	}
	return r.Market.OfReference(*r.OutcomeIndex, r.Confidence)
}

// stances returns the agents' latest probabilities for the reference outcome, highest first. records are
// newest first.
func (s *Site) stances(records []prediction.Record) []pages.Stance {
	var out []pages.Stance
	seen := map[string]bool{}
	for i := range records {
		r := &records[i]
		said, ok := saidOf(r)
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

// predictionMarks returns the marks of a chart: the predictions of the reference outcome.
func predictionMarks(records []prediction.Record) []components.PredictionMark {
	var out []components.PredictionMark
	for i := range records {
		r := &records[i]
		said, ok := saidOf(r)
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
