package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestRebuildReport checks that a rebuild reports its corrections, and that it fails if the ledger itself
// disagrees with the rules. It never rewrites the ledger.
func TestRebuildReport(t *testing.T) {
	t.Parallel()
	agent := uuid.MustParse("00000000-0000-7000-8000-000000000009")
	sum := settlement.Difference{What: settlement.ComparedDays, Agent: agent, Key: "sport 2026-12-05", Have: "stake 1", Want: "stake 2"}
	tally := settlement.Difference{What: settlement.ComparedTallies, Agent: agent, Have: "total 1", Want: "total 2"}
	count := settlement.Difference{What: settlement.ComparedCounts, Key: "m1", Have: "1", Want: "2"}
	entry := settlement.Difference{What: settlement.ComparedLedger, Agent: agent, Key: "p1/0", Have: "brier 0", Want: "brier 1"}
	for _, c := range []struct {
		differences []settlement.Difference
		says, fails string
	}{
		{nil, "every number agrees", ""},
		{
			[]settlement.Difference{sum, tally, count}, "day of 00000000-0000-7000-8000-000000000009, sport 2026-12-05: have stake 1, want stake 2\n" +
				"tally of 00000000-0000-7000-8000-000000000009: have total 1, want total 2\n" +
				"count of m1: have 1, want 2\n" +
				"3 numbers differed and were corrected", "",
		},
		{[]settlement.Difference{sum, entry}, "1 numbers differed and were corrected", "1 numbers of the ledger disagree"},
	} {
		var out strings.Builder
		err := printReport(&out, settlement.RebuildReport{Differences: c.differences})
		if !strings.Contains(out.String(), c.says) || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%d differences: %q, %v", len(c.differences), out.String(), err)
		}
	}
}

// TestWaitingReport checks that settle says how many markets are waiting, even if it lists only the first.
func TestWaitingReport(t *testing.T) {
	t.Parallel()
	one := settlement.Stuck{Market: market.Market{ID: "m", Question: "Will it rain?"}, Reason: settlement.ReasonVanished}
	const line = "  m (vanished): Will it rain?\n"
	for _, c := range []struct {
		waiting int64
		first   []settlement.Stuck
		want    string
	}{
		{0, nil, "settled; 0 markets are waiting\n"},
		{1, []settlement.Stuck{one}, "settled; 1 markets are waiting\n" + line},
		{250, slices.Repeat([]settlement.Stuck{one}, listed), "settled; 250 markets are waiting\n" + strings.Repeat(line, 100) + "  and 150 more\n"},
	} {
		var out strings.Builder
		if err := printWaiting(&out, c.waiting, c.first); err != nil || out.String() != c.want {
			t.Errorf("%d waiting: %q, %v; want %q", c.waiting, out.String(), err, c.want)
		}
	}
}
