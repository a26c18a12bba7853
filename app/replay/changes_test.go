package replay

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestChangesAfterKnown checks that a record leaves out what happened to a market before the state that it began with.
// It would replace that state, and delete the later prices of the day.
func TestChangesAfterKnown(t *testing.T) {
	t.Parallel()
	known := firstDay.Add(15 * time.Hour)
	r := record{markets: map[string]*followed{"a": {Market: market.Market{ID: "a", ObservedAt: known}}}}
	d := day{closings: map[string][]archive.ClosingRow{"a": {
		{Market: "a", Observed: observed(known.Add(-14*time.Hour), "polymarket")}, {Market: "a", Observed: observed(known.Add(time.Hour), "polymarket")},
	}}}
	got := r.changes(&d)
	if len(got) != 1 || !got[0].ObservedAt.Equal(known.Add(time.Hour)) {
		t.Errorf("got %+v, want only the later closing", got)
	}
}
