package score

import "testing"

// TestValues checks that results are compared and rounded to nine decimals, so that a stored value equals the one sent.
func TestValues(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b float64
		same bool
	}{
		{0, 0, true},
		{0.1 + 0.2, 0.3, true},
		{0.3, 0.3000000004, true},
		{0.3, 0.300000001, false},
		{0, 1, false},
	} {
		if got := SameValue(c.a, c.b); got != c.same {
			t.Errorf("SameValue(%v, %v) = %t", c.a, c.b, got)
		}
		if got := RoundValue(c.a) == RoundValue(c.b); got != c.same {
			t.Errorf("RoundValue gives %v and %v", RoundValue(c.a), RoundValue(c.b))
		}
	}
}
