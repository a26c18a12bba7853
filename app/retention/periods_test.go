package retention_test

import (
	"os"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/retention"
)

// TestPeriodsInDocs checks that the operator's table gives the same period as the public pages for each kind of
// data that both name alike.
func TestPeriodsInDocs(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	both := 0
	for _, k := range retention.Periods() {
		_, row, found := strings.Cut(string(docs), "\n| "+k.What+" | ")
		if !found {
			continue
		}
		both++
		if period, _, _ := strings.Cut(row, " |\n"); period != k.For {
			t.Errorf("%s: got %q in the docs and %q on the pages", k.What, period, k.For)
		}
	}
	if both == 0 {
		t.Error("got no row that both name alike, want at least one")
	}
}
