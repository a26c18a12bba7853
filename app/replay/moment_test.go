package replay

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/market"
)

// TestFilterWords checks that a run finds markets as the lists of markets do.
func TestFilterWords(t *testing.T) {
	t.Parallel()
	m := market.Market{Question: "Will Houston raise its rates, by 2027?", Title: "Rates"}
	for q, want := range map[string]bool{"": true, "RATE houston": true, "rates, 2027?": true, "us": false, "ouston": false, "rate rain": false} {
		if got := (&Filter{Q: q}).matches(&m); got != want {
			t.Errorf("q %q: got %v", q, got)
		}
	}
}
