package web

import (
	"strings"
	"testing"

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
