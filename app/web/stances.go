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

// saidOf returns the probability that a prediction gives to an outcome of its market. In a market
// with two outcomes, one probability is 1 minus the other. ok is false if the numbers are withheld. Hiding a
// text doesn't withhold its numbers.
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

// stances returns the agents' latest probabilities for an outcome, highest first. records are
// newest first.
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

// predictionMarks returns the marks of a chart: the predictions of the outcome that it shows.
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
