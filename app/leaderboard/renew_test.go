package leaderboard

import (
	"strings"
	"testing"
)

// TestRenew checks what a row says about its rank when it is read.
func TestRenew(t *testing.T) {
	t.Parallel()
	limits := Thresholds{Events: 30, CategoryEvents: 15, Days: 14}
	provisional := Row{Provisional: true, Reason: "Not ranked yet: needs 12 more days."}
	ranked := Row{Rank: new(int64(1))}
	for name, c := range map[string]struct {
		row              Row
		closed, disabled bool
		says             string
	}{
		"more days since the board was built": {row: provisional, says: "needs 30 more"},
		"a closed account":                    {row: provisional, closed: true, says: closedReason},
		"a ranked account that was closed":    {row: ranked, closed: true},
		"a disabled agent":                    {row: provisional, disabled: true, says: disabledReason},
		"disabled, then closed":               {row: provisional, closed: true, disabled: true, says: disabledReason},
		"disabled since the board was built":  {row: ranked, disabled: true},
		"over the limit of its owner":         {row: Row{Reason: overLimit}, says: overLimit},
		"not on the board yet":                {row: Row{}, says: unbuiltReason},
		"a reference row":                     {row: Row{Reference: true}},
	} {
		limits.renew(&c.row, 5, c.closed, c.disabled)
		if got := c.row.Reason; !strings.Contains(got, c.says) || (c.says == "") != (got == "") {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
}
