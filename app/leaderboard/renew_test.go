package leaderboard

import (
	"strings"
	"testing"
)

// TestRenew checks what an entry says about its rank when a page is read.
func TestRenew(t *testing.T) {
	t.Parallel()
	limits := Thresholds{Events: 30, CategoryEvents: 15, Days: 14}
	provisional := Row{Provisional: true, Reason: "Not ranked yet: needs 12 more days."}
	for name, c := range map[string]struct {
		entry Entry
		says  string
	}{
		"more days since the board was built": {Entry{Row: provisional, PublicationDays: 5}, "needs 30 more"},
		"a closed account":                    {Entry{Row: provisional, Closed: true}, closedReason},
		"a ranked account that was closed":    {Entry{Closed: true}, ""},
	} {
		e := c.entry
		limits.renew(&e)
		if !strings.Contains(e.Reason, c.says) || (c.says == "") != (e.Reason == "") {
			t.Errorf("%s: %q, want %q", name, e.Reason, c.says)
		}
	}
}
