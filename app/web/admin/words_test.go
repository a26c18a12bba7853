package admin_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// TestWords checks that the pages have words for every reason to wait.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{
		settlement.ReasonVanished, settlement.ReasonContested, settlement.ReasonUnknown, settlement.ReasonUndecided, settlement.ReasonOutcomeGone,
	} {
		if views.ReasonWords(reason) == "" {
			t.Errorf("no words for the reason %q", reason)
		}
	}
}
