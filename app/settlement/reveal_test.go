package settlement

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// withhold makes a stored prediction unrevealed until the given time.
func (w *world) withhold(id uuid.UUID, until prediction.Reveal) {
	w.t.Helper()
	_, err := w.db.NewRaw("UPDATE predictions SET reveal = ?, unrevealed = TRUE WHERE id = ?", until, id).Exec(w.t.Context())
	w.must(err)
	_, err = w.db.NewRaw("DELETE FROM prediction_words WHERE id = ?", id).Exec(w.t.Context())
	w.must(err)
	_, err = w.db.NewRaw("UPDATE market_consensus SET predictions = predictions - 1 WHERE market_id = (SELECT market_id FROM predictions WHERE id = ?)", id).
		Exec(w.t.Context())
	w.must(err)
}

// TestSettlingReveals checks that the transaction that fixes a baseline or decides a prediction
// also reveals it, and that Consensus uses only revealed predictions.
func TestSettlingReveals(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(2)
		m := w.market("1", "", "politics", start.Add(24*time.Hour))
		m.Prices = []float64{0.5, 0.5}
		w.tick(s, m)
		var all []uuid.UUID
		for n := range 6 {
			w.clock = w.clock.Add(time.Second)
			all = append(all, w.publish(w.agent(1+n), m, 0, 0.9))
		}
		atBaseline, atClose, voided := all[3], all[4], all[5]
		w.withhold(atBaseline, prediction.RevealBaseline)
		w.withhold(atClose, prediction.RevealClose)
		w.withhold(voided, prediction.RevealClose)
		check := func(when string, hidden ...uuid.UUID) {
			t.Helper()
			want := map[uuid.UUID]bool{}
			for _, id := range hidden {
				want[id] = true
			}
			for _, id := range all {
				p := w.prediction(id)
				if p.Unrevealed != want[id] || (p.Reveal != "now" && p.RevealedAt.IsZero() != want[id]) {
					t.Errorf("%s: prediction of agent %s: unrevealed %t, revealed at %s; want unrevealed %t", when, p.AgentID, p.Unrevealed, p.RevealedAt, want[id])
				}
			}
			counts, err := prediction.Store{}.Consensus(t.Context(), db, []string{"1"})
			if err != nil || counts["1"].Predictions != int64(len(all)-len(hidden)) {
				t.Errorf("%s: the consensus counts %d predictions (error %v), want %d", when, counts["1"].Predictions, err, len(all)-len(hidden))
			}
		}
		w.tick(s, m)
		check("published", atBaseline, atClose, voided)
		for range 4 {
			w.clock = w.clock.Add(time.Minute)
			w.tick(s, m)
		}
		if p := w.prediction(atClose); p.BaselineState != prediction.Fixed {
			t.Fatalf("the baseline is %s, want fixed", p.BaselineState)
		}
		check("baselines fixed", atClose, voided)
		rows, err := db.NewSelect().Model((*ReferencePrediction)(nil)).Where("r.agent_id = ?", ConsensusAgent).Count(t.Context())
		if err != nil || rows != 0 {
			t.Errorf("Consensus has %d rows (error %v) with only four revealed predictions, want 0", rows, err)
		}
		_, err = s.Rule(t.Context(), KindPredictionVoided, voided.String(), Ruling{Note: "spam", Actor: "ada"})
		w.must(err)
		check("one voided", atClose)
		w.clock = w.clock.Add(time.Hour)
		closeWith(m, w.clock, 1, 0)
		w.tick(s, m)
		if p := w.prediction(atClose); p.Status != prediction.Resolved {
			t.Fatalf("after the close the prediction is %s, want resolved", p.Status)
		}
		check("settled")
		w.rebuilt()
	})
}
