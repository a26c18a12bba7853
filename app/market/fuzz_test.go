package market

import (
	"math"
	"slices"
	"testing"
)

// FuzzVerdict checks that the verdict on a closed market is a fraction or unknown, whatever its prices.
func FuzzVerdict(f *testing.F) {
	f.Add(0.9999992, 0.0000008, false, "resolved")
	f.Add(0.5, 0.5, false, "")
	f.Add(math.NaN(), math.Inf(1), true, "proposed")
	f.Add(math.NaN(), math.Inf(1), true, "resolved")
	f.Add(-1.0, 2.0, true, "resolved")
	f.Fuzz(func(t *testing.T, yes, no float64, scalar bool, resolution string) {
		m := &Market{Outcomes: []string{"Yes", "No"}, Prices: []float64{yes, no}, Closed: true, Scalar: scalar, Resolution: resolution}
		v := m.Verdict()
		if v.Winner >= len(m.Outcomes) || (v.Stage == Settled) != (len(v.Values) == len(m.Outcomes)) {
			t.Errorf("prices %v and %v: got %+v", yes, no, v)
		}
		for _, y := range v.Values {
			if !(y >= 0 && y <= 1) {
				t.Errorf("prices %v and %v: got %+v", yes, no, v)
			}
		}
	})
}

// FuzzCategory checks that tags give a known category or none, and slugs that aren't empty.
func FuzzCategory(f *testing.F) {
	f.Add("Politics", "us-elections")
	f.Add("", "\xff")
	f.Add("crypto crypto", "İ")
	f.Fuzz(func(t *testing.T, a, b string) {
		if c := CategoryOf(a, b); c != "" && !slices.Contains(Categories, c) {
			t.Errorf("tags %q and %q: got category %q", a, b, c)
		}
		for _, slug := range TagSlugs(a, b) {
			if slug == "" {
				t.Errorf("tags %q and %q give an empty slug", a, b)
			}
		}
	})
}
