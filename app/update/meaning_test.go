package update_test

import (
	"testing"

	"github.com/pulsecast/pulsecast/app/update"
)

// TestMeanings checks that every type is explained, in order.
func TestMeanings(t *testing.T) {
	t.Parallel()
	if len(update.Meanings) != len(update.Types) {
		t.Fatalf("%d of %d types are explained", len(update.Meanings), len(update.Types))
	}
	for i, m := range update.Meanings {
		if m.Type != update.Types[i] || m.Text == "" || m.Ref == "" {
			t.Errorf("%d: %+v, want %s", i, m, update.Types[i])
		}
	}
}
