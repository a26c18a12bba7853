package score

import "testing"

// FuzzParseInt128 checks that a parsed integer is unchanged when it is written and parsed again.
func FuzzParseInt128(f *testing.F) {
	for _, seed := range []string{"0", "-1", "170141183460469231731687303715884105727", "-170141183460469231731687303715884105728", "1e3", "0x1", "", "1_0", "+1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		i, err := ParseInt128(s)
		if err != nil {
			return
		}
		if again, err := ParseInt128(i.String()); err != nil || again != i {
			t.Errorf("%q is parsed as %s, and that as %s, %v", s, i, again, err)
		}
	})
}
