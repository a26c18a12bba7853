package admin_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/settlement"
	views "github.com/pulsecast/pulsecast/views/admin"
)

// TestWords checks that the pages have words for every kind of correction and every reason to wait.
func TestWords(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		settlement.KindMarketChanged, settlement.KindMarketReopened, settlement.KindMarketCorrected, settlement.KindMarketVoided,
		settlement.KindPredictionSettled, settlement.KindPredictionChanged, settlement.KindPredictionVoided,
	} {
		if views.KindWords(kind) == "" {
			t.Errorf("no words for the correction %q", kind)
		}
	}
	for _, reason := range []string{
		settlement.ReasonVanished, settlement.ReasonContested, settlement.ReasonUnknown, settlement.ReasonUndecided, settlement.ReasonOutcomeGone,
	} {
		if views.ReasonWords(reason) == "" {
			t.Errorf("no words for the reason %q", reason)
		}
	}
}
