package settlement

import "testing"

func TestKindWords(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{
		KindMarketChanged, KindMarketReopened, KindMarketCorrected, KindMarketVoided,
		KindPredictionSettled, KindPredictionChanged, KindPredictionVoided,
	} {
		if KindWords(kind) == kind {
			t.Errorf("no words for the correction %q", kind)
		}
	}
	if got := KindWords("unheard_of"); got != "unheard_of" {
		t.Errorf("an unknown kind is %q", got)
	}
}
