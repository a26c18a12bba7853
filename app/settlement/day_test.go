package settlement

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestDayOfScores checks that the day that a prediction shows with its scores is the day that its ledger entry counts
// on. On a market without an end date, that is the day of the decision, which may come long after the close.
func TestDayOfScores(t *testing.T) {
	t.Parallel()
	rule := func(w *world, s *Service, day int, kind, target, outcome string) {
		w.t.Helper()
		w.clock = time.Date(2026, 11, day, 12, 0, 0, 0, time.UTC)
		_, err := s.Rule(context.Background(), kind, target, Ruling{Outcome: outcome, Note: "seen elsewhere", Actor: "ada"})
		w.must(err)
	}
	// The market closes on 20 November, and an admin decides it on the 23rd.
	late := func(w *world, s *Service, m *market.Market) uuid.UUID {
		id := w.trade(s, m, w.agent(1), .6, .7)
		closeWith(m, w.clock)
		w.tick(s, m)
		rule(w, s, 23, KindMarketCorrected, m.ID, "Yes")
		return id
	}
	undated := func(w *world) *market.Market { return w.market("1", "", "x", time.Time{}) }
	for name, c := range map[string]struct {
		run  func(w *world, s *Service) uuid.UUID
		want string
	}{
		"decided days after the close": {func(w *world, s *Service) uuid.UUID { return late(w, s, undated(w)) }, "2026-11-23"},
		"with an end date": {func(w *world, s *Service) uuid.UUID {
			return late(w, s, w.market("1", "", "x", start.AddDate(0, 0, 10)))
		}, "2026-11-30"},
		"corrected": {func(w *world, s *Service) uuid.UUID {
			id := late(w, s, undated(w))
			rule(w, s, 25, KindMarketCorrected, "1", "No")
			return id
		}, "2026-11-23"},
		"voided": {func(w *world, s *Service) uuid.UUID {
			id := late(w, s, undated(w))
			rule(w, s, 25, KindMarketVoided, "1", "")
			return id
		}, ""},
		"voided, then corrected": {func(w *world, s *Service) uuid.UUID {
			id := late(w, s, undated(w))
			rule(w, s, 25, KindMarketVoided, "1", "")
			rule(w, s, 27, KindMarketCorrected, "1", "Yes")
			return id
		}, "2026-11-27"},
		"reopened": {func(w *world, s *Service) uuid.UUID {
			m := undated(w)
			id := late(w, s, m)
			w.clock = w.clock.AddDate(0, 0, 2)
			reopen(m, .6, .4)
			w.tick(s, m)
			return id
		}, ""},
		"reopened, then settled": {func(w *world, s *Service) uuid.UUID {
			m := undated(w)
			id := late(w, s, m)
			w.clock = w.clock.AddDate(0, 0, 2)
			reopen(m, .6, .4)
			w.tick(s, m)
			w.clock = w.clock.AddDate(0, 0, 2)
			closeWith(m, w.clock.AddDate(0, 0, -1), 1, 0)
			w.tick(s, m)
			return id
		}, "2026-11-27"},
		"after a sibling": {func(w *world, s *Service) uuid.UUID {
			first, second := w.market("1", "e", "x", time.Time{}), w.market("2", "e", "x", time.Time{})
			w.trade(s, first, w.agent(1), .6, .7)
			closeWith(first, w.clock, 1, 0)
			w.tick(s, first)
			return late(w, s, second)
		}, "2026-11-20"},
		"without a baseline": {func(w *world, s *Service) uuid.UUID {
			m := undated(w)
			id := w.publish(w.agent(1), m, 0, .7)
			closeWith(m, w.clock.Add(time.Minute))
			w.tick(s, m)
			rule(w, s, 23, KindMarketCorrected, m.ID, "Yes")
			return id
		}, "2026-11-23"},
		"without a market": {func(w *world, s *Service) uuid.UUID { // its horizon is two days after publication
			id := w.publish(w.agent(1), nil, 0, .7)
			rule(w, s, 23, KindPredictionSettled, id.String(), "yes")
			return id
		}, "2026-11-22"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				id := c.run(w, w.service(0))
				if got := w.prediction(id).Day; got != c.want {
					t.Errorf("the prediction shows %q, want %q", got, c.want)
				}
				w.sameDays()
				w.rebuilt()
			})
		})
	}
}

// sameDays fails the test if a prediction shows another day than its latest score has in the ledger.
func (w *world) sameDays() {
	w.t.Helper()
	var n int
	w.must(w.db.NewRaw(`SELECT count(*) FROM prediction_records AS p WHERE COALESCE(p.day, '') <> COALESCE((
		SELECT CASE s.kind WHEN 'score' THEN s.day ELSE '' END FROM score_entries AS s WHERE s.prediction_id = p.id
		ORDER BY s.seq DESC LIMIT 1), '')`).Scan(context.Background(), &n))
	if n > 0 {
		w.t.Errorf("%d predictions show another day than the ledger", n)
	}
}
