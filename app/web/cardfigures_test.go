package web

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/views/components"
)

// TestCardSaysWhatIsHeldAgainst checks that a card names the baseline if it differs from the
// market's price.
func TestCardSaysWhatIsHeldAgainst(t *testing.T) {
	t.Parallel()
	plain := strings.NewReplacer("\u00a0", " ")
	at := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name        string
		then, q     float64
		status      string
		label, want string
	}{
		{"settled, q inside", 0.969, 0.81, "resolved", "Edge against 81 %", "+7.0"},
		{"settled, q is the price", 0.6, 0.6, "resolved", "Edge, in points", "+7.0"},
		{"open, q inside", 0.969, 0.81, "open", "Baseline", "81 %"},
	} {
		p := components.Prediction{Confidence: 0.9, MarketThen: at(c.then), Baseline: at(c.q), Status: c.status}
		if c.status == "resolved" {
			p.Value, p.Edge = at(1), at(7)
		}
		var shown []string
		found := false
		for _, f := range cardOfPrediction(p).Figures {
			shown = append(shown, f.Label+": "+f.Value)
			found = found || plain.Replace(f.Label) == c.label && plain.Replace(f.Value) == c.want
		}
		if !found {
			t.Errorf("%s: figures %q, want %s: %s", c.name, shown, c.label, c.want)
		}
	}
}

// TestOutcomeIsNamed checks that a shared link, a card and a row of an event say which outcome a probability is about.
func TestOutcomeIsNamed(t *testing.T) {
	t.Parallel()
	const question = "Will it rain?"
	for _, c := range []struct{ title, outcome, words, label, row string }{
		{question, "Yes", "Ada says 72 %.", "Agent says yes", ""},
		{question, "No", "Ada says 72 % for “No”.", "Agent says no", "No"},
		{question, "In May", "Ada says 72 % for “In May”.", "Agent, on one outcome", "In May"},
		{question + " — In May", "In May", "Ada says 72 %.", "Agent", ""},
	} {
		p := components.Prediction{Title: c.title, Outcome: c.outcome, Confidence: .72, Status: "open", Agent: components.Agent{Name: "Ada"}}
		if got := strings.ReplaceAll(predictionWords(p), "\u00a0", " "); got != c.words {
			t.Errorf("%s, %s: words %q, want %q", c.title, c.outcome, got, c.words)
		}
		if got := cardOfPrediction(p).Figures[0].Label; got != c.label {
			t.Errorf("%s, %s: card %q, want %q", c.title, c.outcome, got, c.label)
		}
		row := eventPrediction(&prediction.Prediction{Title: c.title, Outcome: c.outcome}, false)
		if row.Title != c.title || row.Outcome != c.row {
			t.Errorf("%s, %s: row %q %q, want %q", c.title, c.outcome, row.Title, row.Outcome, c.row)
		}
	}
}
