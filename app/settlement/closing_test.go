package settlement

import (
	"context"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestCorrectedClosing checks a source that corrects a closing time to an earlier one, with the
// same outcome. Predictions published after the corrected time become void, because their agents
// may have known the result. It doesn't matter whether prices, the order book or an admin decided the
// outcome. A correction that affects no prediction changes nothing.
func TestCorrectedClosing(t *testing.T) {
	t.Parallel()
	unclear := []float64{.7, .3} // prices that don't decide
	for name, c := range map[string]struct {
		prices []float64 // of the closed market
		book   bool      // which says that the first outcome won
		ruling string    // "" for none
		source string
	}{
		"market": {prices: []float64{1, 0}, source: sourceMarket},
		"book":   {prices: unclear, book: true, source: sourceMarket},
		"admin":  {prices: unclear, ruling: "Yes", source: sourceAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				if c.book {
					s.winner = func(context.Context, *market.Market) (int, bool, error) { return 0, true, nil }
				}
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
				outcome := func() (o Outcome) {
					t.Helper()
					w.must(db.NewSelect().Model(&o).Where("market_id = ?", m.ID).Scan(t.Context()))
					return o
				}
				closed := func(at time.Time) {
					t.Helper()
					w.clock = w.clock.Add(time.Minute)
					closeWith(m, at, c.prices...)
					w.tick(s, m)
				}
				closed(start.Add(30 * time.Minute))
				corrections := 1
				if c.ruling != "" {
					corrections++ // the ruling
					_, err := s.Rule(t.Context(), KindMarketCorrected, m.ID, Ruling{Outcome: c.ruling, Note: "seen", Actor: "ada"})
					w.must(err)
				}
				status("closed after both", prediction.Resolved, prediction.Resolved)
				first := outcome()
				closed(start.Add(32 * time.Minute))
				if o := outcome(); o.Revision != first.Revision {
					t.Errorf("after a correction without an effect: got revision %d, want %d", o.Revision, first.Revision)
				}
				closed(start.Add(15 * time.Minute))
				if o := outcome(); o.Revision != first.Revision+1 || o.Source != c.source || o.Note != first.Note || !o.equal(&first) {
					t.Errorf("the outcome %+v became %+v", first, o)
				}
				status("closed between them", prediction.Resolved, prediction.Void)
				if edge := w.prediction(late).Edge; edge != nil {
					t.Errorf("the late prediction has edge %v, want none", *edge)
				}
				list, err := listCorrections(t, db)
				if err != nil || len(list) != corrections || list[corrections-1].Kind != KindMarketChanged || list[corrections-1].Actor != sourceMarket ||
					list[corrections-1].Note != "The market's closing time was corrected to 20 November 2026 08:15:00 UTC." {
					t.Errorf("corrections %+v, %v", list, err)
				}
				closed(start.Add(30 * time.Minute))
				status("closed after both again", prediction.Resolved, prediction.Resolved)
			})
		})
	}
}

func listCorrections(t *testing.T, db *database.DB) (list []Correction, err error) {
	t.Helper()
	err = db.NewSelect().Model(&list).Order("created_at", "id").Scan(t.Context())
	return list, err
}
