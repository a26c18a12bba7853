package leaderboard

import (
	"errors"
	"testing"
)

func TestTotalsRoundTrip(t *testing.T) {
	t.Parallel()
	var filled totals
	for i, field := range filled.fields() {
		*field = int64(i-3) * 1_000_000_007
	}
	for name, want := range map[string]totals{"empty": {}, "filled": filled} {
		encoded := want.encode()
		if got, err := decodeTotals(encoded); err != nil || got != want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	if (&totals{}).encode() != nil {
		t.Error("empty totals take space")
	}
	encoded := filled.encode()
	if got, err := decodeTotals(append([]byte{totalsVersion + 1}, encoded[1:]...)); err != nil || got != (totals{}) {
		t.Errorf("of another version: got %+v, %v", got, err)
	}
	for _, bad := range [][]byte{encoded[:len(encoded)-1], encoded[:1], append(encoded, 0)} {
		if _, err := decodeTotals(bad); !errors.Is(err, errMalformedTotals) {
			t.Errorf("%d of %d bytes: got %v", len(bad), len(encoded), err)
		}
	}
}
