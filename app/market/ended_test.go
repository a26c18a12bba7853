package market_test

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/queue"
)

// TestEndedAt checks the time from which a market waits for its settlement. If the source doesn't say when the market
// closed, later readings and the scheduled close don't move that time.
func TestEndedAt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for id, c := range map[string]struct {
			closedAt, closesAt time.Duration // before noon; closedAt is 0 if it is unknown
			unpriced, open     bool
			want               time.Duration
		}{
			"said":      {closedAt: time.Hour, closesAt: -24 * time.Hour, want: time.Hour},
			"scheduled": {closesAt: -365 * 24 * time.Hour, want: 5 * time.Hour},
			"overdue":   {closesAt: 30 * 24 * time.Hour, want: 5 * time.Hour},
			"unpriced":  {closesAt: -24 * time.Hour, unpriced: true, want: 6 * time.Hour},
			"vanished":  {closesAt: -24 * time.Hour, open: true, want: 5 * time.Hour},
		} {
			for _, ago := range []time.Duration{6 * time.Hour, 5 * time.Hour, 4 * time.Hour, time.Minute} {
				m := yesNo(id, 1, noon.Add(-ago))
				m.ClosesAt = noon.Add(-c.closesAt)
				if c.unpriced {
					m.Prices = nil
				}
				if ago < 5*time.Hour {
					m.Closed, m.Active = true, false
					if c.closedAt != 0 {
						m.ClosedAt = noon.Add(-c.closedAt)
					}
				}
				if !m.Closed || !c.open {
					observe(t, db, m)
				}
			}
			depth, err := queue.Read(t.Context(), market.Ended(db.Reader, noon).Where("m.id = ?", id), market.EndedAt)
			if err != nil || depth.Count != 1 || depth.Age(noon) != c.want {
				t.Errorf("%s: ended %s ago, want %s; %+v, %v", id, depth.Age(noon), c.want, depth, err)
			}
		}
	})
}
