package settlement

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestCorrectedClosing checks a source that corrects a closing time to an earlier one, with the
// same outcome. Predictions published after the corrected time become void, because their agents
// may have known the result. A correction that affects no prediction changes nothing.
func TestCorrectedClosing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "e1", "politics", start.Add(time.Hour))
		m.Prices = []float64{.5, .5}
		early := w.publish(w.agent(1), m, 0, .7)
		w.clock = w.clock.Add(3 * time.Minute)
		w.tick(s, m)
		w.clock = w.clock.Add(20 * time.Minute)
		w.tick(s, m)
		late := w.publish(w.agent(2), m, 0, .9)
		w.clock = w.clock.Add(3 * time.Minute)
		w.tick(s, m)
		w.clock = w.clock.Add(10 * time.Minute)
		status := func(when string, want ...prediction.Status) {
			t.Helper()
			got := []prediction.Status{w.prediction(early).Status, w.prediction(late).Status}
			if got[0] != want[0] || got[1] != want[1] {
				t.Errorf("%s: got statuses %v, want %v", when, got, want)
			}
			w.rebuilt()
		}
		closed := func(at time.Time) int64 {
			t.Helper()
			w.clock = w.clock.Add(time.Minute)
			closeWith(m, at, 1, 0)
			w.tick(s, m)
			var o Outcome
			w.must(db.NewSelect().Model(&o).Where("market_id = ?", m.ID).Scan(t.Context()))
			return o.Revision
		}
		closed(start.Add(30 * time.Minute))
		status("closed after both", prediction.Resolved, prediction.Resolved)
		revision := closed(start.Add(32 * time.Minute))
		if revision != 1 {
			t.Errorf("after a correction without an effect: got revision %d, want 1", revision)
		}
		if revision = closed(start.Add(15 * time.Minute)); revision != 2 {
			t.Errorf("revision %d", revision)
		}
		status("closed between them", prediction.Resolved, prediction.Void)
		if edge := w.prediction(late).Edge; edge != nil {
			t.Errorf("the late prediction has edge %v, want none", *edge)
		}
		list, err := listCorrections(t, db)
		if err != nil || len(list) != 1 || list[0].Kind != KindMarketChanged || list[0].Note != "The market's closing time was corrected to 20 November 2026 08:15:00 UTC." {
			t.Errorf("corrections %+v, %v", list, err)
		}
		closed(start.Add(30 * time.Minute))
		status("closed after both again", prediction.Resolved, prediction.Resolved)
	})
}

func listCorrections(t *testing.T, db *database.DB) (list []Correction, err error) {
	t.Helper()
	err = db.NewSelect().Model(&list).Scan(t.Context())
	return list, err
}
