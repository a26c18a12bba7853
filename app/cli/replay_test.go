package cli

import (
	"strings"
	"testing"
)

// plans are contents of files for --run, with a part of the refusal, or "" if the plan is accepted.
var plans = []struct{ content, refusal string }{
	{`{"seed":1,"pairs":[{"market":"1","at":"2026-11-20T12:00:00Z"}]}`, ""},
	{`{"seed":1,"pairs":[]}`, "it has no pairs"},
	{`{"ok":true}`, "it has no pairs"},
	{`null`, "it has no pairs"},
	{`{"pairs":[{"market":"1","at":"2026-11-20T12:00:00Z"},{"market":"2"}]}`, "pair 2 lacks market or at"},
	{`{"pairs":[{"at":"2026-11-20T12:00:00Z"}]}`, "pair 1 lacks market or at"},
	{`{"pairs":[{"market":"1","at":"yesterday"}]}`, "yesterday"},
	{`market,at`, "invalid character"},
	{``, "unexpected end"},
}

func TestReadPlan(t *testing.T) {
	t.Parallel()
	for _, c := range plans {
		pairs, err := readPlan([]byte(c.content))
		if c.refusal == "" {
			if err != nil || len(pairs) != 1 || pairs[0].Market != "1" {
				t.Errorf("%s gives %v, %v", c.content, pairs, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.refusal) {
			t.Errorf("%s is refused by %v, want %q", c.content, err, c.refusal)
		}
	}
}

// FuzzPlan checks that a file for --run is refused or has pairs that are whole.
func FuzzPlan(f *testing.F) {
	for _, c := range plans {
		f.Add([]byte(c.content))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		pairs, err := readPlan(content)
		if err == nil && len(pairs) == 0 {
			t.Errorf("%q is a plan without pairs", content)
		}
		for _, p := range pairs {
			if p.Market == "" || p.At.IsZero() {
				t.Errorf("%q has the pair %+v", content, p)
			}
		}
	})
}
