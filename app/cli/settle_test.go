package cli

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestRebuildReport checks that a rebuild reports its corrections, and that it fails if the ledger itself
// disagrees with the rules. It never rewrites the ledger.
func TestRebuildReport(t *testing.T) {
	t.Parallel()
	sum, entry := settlement.Difference{What: "day"}, settlement.Difference{What: "ledger"}
	for _, c := range []struct {
		differences []settlement.Difference
		says, fails string
	}{
		{nil, "every number agrees", ""},
		{[]settlement.Difference{sum, sum}, "2 numbers differed and were corrected", ""},
		{[]settlement.Difference{sum, entry}, "1 numbers differed and were corrected", "1 numbers of the ledger disagree"},
	} {
		var out strings.Builder
		err := printReport(&out, settlement.RebuildReport{Differences: c.differences})
		if !strings.Contains(out.String(), c.says) || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%d differences: %q, %v", len(c.differences), out.String(), err)
		}
	}
}
