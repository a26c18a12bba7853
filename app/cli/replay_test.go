package cli

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/replay"
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

// TestPrintBacktest checks that the range stands beside the best guess, to which it belongs, and that the summary counts
// the pairs on which the bot published.
func TestPrintBacktest(t *testing.T) {
	t.Parallel()
	r := &replay.Report{Overall: replay.Score{
		Events: 2, Edge: new(-1.04), BestGuess: new(-0.01), RangeLow: new(-0.1), RangeHigh: new(0.1), Odds: new(0.98), Brier: new(0.25), MarketBrier: new(0.24),
	}}
	r.Predictions.Pairs, r.Predictions.PairsPublished, r.Predictions.Total, r.Predictions.Resolved, r.Predictions.Open = 4, 2, 3, 2, 1
	r.Run.ID = "r7"
	r.Before, r.After = &replay.Score{}, &replay.Score{Events: 1, Edge: new(0.5)}
	r.Warnings = []string{"One."}
	const want = `run                 r7
predictions         3 on 2 of 4 pairs: 2 resolved, 1 open and 0 void
all                 2 events: mean edge -1.0; best guess of the true edge 0.0, 95 % range -0.1 to 0.1; odds 1.0; Brier 0.250 (market 0.240)
before the cut-off  no settled event
after the cut-off   1 event: mean edge 0.5; best guess of the true edge unknown; odds unknown; Brier unknown (market unknown)
note                One.
report              report.json
`
	var out strings.Builder
	if err := printBacktest(&out, r, []string{"report.json"}, 0); err != nil {
		t.Fatal(err)
	}
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
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
