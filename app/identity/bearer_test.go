package identity

import (
	"strings"
	"testing"
)

// TestWellFormed checks which bearers are refused before the database or the provider sees them.
func TestWellFormed(t *testing.T) {
	t.Parallel()
	longest := strings.Repeat("a", maxBearer)
	for _, good := range []string{"pa_x-Y.9~+/", "aGk=", "aGk==", longest} {
		if !wellFormed(good) {
			t.Errorf("%.20q is refused", good)
		}
	}
	for _, bad := range []string{"", "=", "a=b", "a b", `"a"`, "gööd", "a\x00", longest + "a"} {
		if wellFormed(bad) {
			t.Errorf("%.20q is accepted", bad)
		}
	}
}
