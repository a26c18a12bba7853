package metaculus

import (
	"strings"
	"testing"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"1": "1", "516938": "516938", "999999999999999999": "999999999999999999",
		"1000000000000000000": "", "0": "", "007": "", "sample-1": "", "a": "1000000000000000353", "é/x y": "", strings.Repeat("z", maxIDBytes): "",
	} {
		n := number(id)
		if want != "" && n != want || !canonical(n) {
			t.Errorf("the number of %q is %s, want %s", id, n, want)
		}
		if back, ok := marketID(n); !ok || back != id {
			t.Errorf("marketID(%s) = %q, %t", n, back, ok)
		}
	}
	// The last two would be the numbers of ids that already have shorter numbers.
	for _, bad := range []string{"", "0", "-1", "1.5", "01", "1e3", "x", "1000000000000000000", "1000000000000000001", "1000000000000000100",
		strings.Repeat("9", 5000), "1000000000000000305", "1000000000000078645"} {
		if id, ok := marketID(bad); ok {
			t.Errorf("marketID(%q) = %q, want none", bad, id)
		}
	}
}

// FuzzMarketID checks that no market has two numbers.
func FuzzMarketID(f *testing.F) {
	for _, seed := range []string{"1", "516938", "1000000000000000353", "1753796185241917532221489", "x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, n string) {
		if id, ok := marketID(n); ok && number(id) != n {
			t.Errorf("marketID(%s) = %q, whose number is %s", n, id, number(id))
		}
	})
}
