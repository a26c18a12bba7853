package settlement

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestMovesAFewPredictionsAtATime checks that one transaction on SQLite fixes the baselines of a bounded number of
// predictions, and settles a bounded number.
func TestMovesAFewPredictionsAtATime(t *testing.T) {
	t.Parallel()
	const predictions, most = 250, 50
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	m := w.market("1", "e1", "politics", start.Add(24*time.Hour))
	m.Prices, m.Liquidity = []float64{.5, .5}, new(100_000.0)
	w.observe(m)
	for i := range predictions {
		w.publish(w.agent(i+1), m, 0, .7)
	}
	had := map[string]int{}
	w.db.Watch(dbtest.OnCommit(func() {
		for what, query := range map[string]string{
			"fixed":  "SELECT COUNT(*) FROM results WHERE baseline_state <> 'pending'",
			"scored": "SELECT COUNT(*) FROM score_entries",
		} {
			var n int
			if err := w.db.Reader.NewRaw(query).Scan(t.Context(), &n); err != nil || n-had[what] > most {
				t.Errorf("one transaction %s %d predictions (%v), want at most %d", what, n-had[what], err, most)
			}
			had[what] = n
		}
	}))
	s := w.service(0)
	w.clock = w.clock.Add(time.Minute)
	w.tick(s, m)
	w.clock = w.clock.Add(24 * time.Hour)
	closeWith(m, w.clock, 1, 0)
	w.tick(s, m)
	if had["fixed"] != predictions || had["scored"] != predictions {
		t.Errorf("moved %v, want %d each", had, predictions)
	}
}
