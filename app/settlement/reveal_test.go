package settlement

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
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

// TestSettlingReveals checks that the transaction that fixes a baseline or decides a prediction with
// its market also reveals it, and that Consensus uses only revealed predictions. A prediction that is
// voided alone stays withheld until its market is decided.
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
		check("one voided", atClose, voided)
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

// TestRevealingLeftReadsOpenOnce checks that revealing what is left on a decided market reads its open predictions once,
// and not again for each transaction that reveals some. They stay open because their outcome is gone.
func TestRevealingLeftReadsOpenOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const predictions, chunk = 101, 50 // 50 are revealed at once
		var seen queries
		w := newWorld(t, &database.DB{DB: db.WithQueryHook(&seen), Reader: db.Reader, Kind: db.Kind, Breaker: db.Breaker})
		s := w.service(chunk)
		m := w.market("1", "", "x", time.Time{}, "A", "B", "C")
		for i := range predictions {
			w.publish(w.agent(i+1), m, 2, .5)
		}
		w.exec("UPDATE predictions SET reveal = 'close', unrevealed = TRUE")
		w.exec("DELETE FROM prediction_words")
		w.clock = w.clock.Add(24 * time.Hour)
		m.Outcomes = []string{"A", "B"}
		closeWith(m, w.clock, 1, 0)
		w.observe(m)
		w.must(s.FixBaselines(t.Context()))
		if changed, err := s.decide(t.Context(), m, m.Verdict(), nil); err != nil || !changed {
			t.Fatal("not decided:", err)
		}
		seen.asked = nil
		w.must(s.apply(t.Context(), m.ID))
		pages := 0
		for _, query := range seen.asked {
			if strings.Contains(query, "s.status = 'open'") && strings.Contains(query, "NOT s.ruled") {
				pages++
			}
		}
		if want := predictions/chunk + 1; pages != want {
			t.Errorf("read %d pages of open predictions, want %d", pages, want)
		}
		var left struct{ Open, Withheld int }
		w.must(db.NewRaw(`SELECT (SELECT COUNT(*) FROM results WHERE status = 'open') AS open,
			(SELECT COUNT(*) FROM predictions WHERE unrevealed) AS withheld`).Scan(t.Context(), &left))
		if o, err := OutcomeOf(t.Context(), db, m.ID); err != nil || o == nil || !o.Applied || left.Open != predictions || left.Withheld != 0 {
			t.Errorf("outcome %+v, %v; %+v; want all predictions open and revealed, and the outcome applied", o, err, left)
		}
	})
}

// TestVoidStaysWithheld checks that a prediction which is withheld until the close and then voided discloses nothing,
// because its baseline may be the confidence of another one that is withheld. The close and an admin's decision on the
// market reveal both, and the archive lists the void one on that day.
func TestVoidStaysWithheld(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]func(w *world, s *Service, m *market.Market){
		"the market closes": func(w *world, s *Service, m *market.Market) {
			closeWith(m, w.clock, 1, 0)
			w.tick(s, m)
		},
		"its scheduled close passes": func(w *world, s *Service, m *market.Market) {
			w.exec("UPDATE markets SET closes_at = observed_at")
			w.must(prediction.RevealDue(w.t.Context(), w.db, w.clock))
		},
		"an admin decides it": func(w *world, s *Service, m *market.Market) {
			_, err := s.Rule(w.t.Context(), KindMarketCorrected, "1", Ruling{Outcome: "Yes", Note: "seen elsewhere", Actor: "ada"})
			w.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				m := w.market("1", "", "politics", time.Time{})
				m.Prices = []float64{0.5, 0.5}
				w.tick(s, m)
				w.clock = w.clock.Add(time.Second)
				first := w.publish(w.agent(1), m, 0, .4273)
				w.clock = w.clock.Add(time.Second)
				second := w.publish(w.agent(1), m, 0, .42)
				w.withhold(first, prediction.RevealClose)
				w.withhold(second, prediction.RevealClose)
				for range 4 {
					w.clock = w.clock.Add(time.Minute)
					w.tick(s, m)
				}
				if p := w.prediction(second); p.Baseline == nil || *p.Baseline != .4273 {
					t.Fatalf("the baseline of the second is %v, want the confidence of the first", show(p.Baseline))
				}
				_, err := s.Rule(t.Context(), KindPredictionVoided, second.String(), Ruling{Note: "spam", Actor: "ada"})
				w.must(err)
				voided := w.clock
				public := func() *prediction.Record {
					t.Helper()
					found, err := prediction.Store{}.ByIDs(t.Context(), db, []uuid.UUID{second})
					w.must(err)
					return found[second]
				}
				if r := public(); r.Withheld != prediction.NotRevealed || r.Baseline != nil || r.BaselinePrevious != nil || r.Stake != nil {
					t.Errorf("the public sees %+v", r.Prediction)
				}
				if p := w.prediction(second); p.Status != prediction.Void {
					t.Errorf("the second is %s, want void", p.Status)
				}
				var content []byte
				w.must(db.NewRaw("SELECT content FROM update_outbox ORDER BY id DESC LIMIT 1").Scan(t.Context(), &content))
				var told []update.Update
				w.must(json.Unmarshal(content, &told))
				if len(told) != 1 || told[0].Type != update.PredictionVoided || told[0].Ref.Prediction.Confidence != nil || told[0].Ref.Prediction.Baseline != nil {
					t.Errorf("the stream says %s", content)
				}
				w.clock = w.clock.Add(48 * time.Hour)
				ends(w, s, m)
				if r := public(); r.Withheld != prediction.NotWithheld || r.Status != prediction.Void || r.BaselinePrevious == nil || *r.BaselinePrevious != .4273 {
					t.Errorf("after the end the public sees %+v", r.Prediction)
				}
				if p := w.prediction(first); p.Unrevealed {
					t.Error("the first is still withheld")
				}
				w.listed(voided, nil, nil, []uuid.UUID{second})
				w.rebuilt()
			})
		})
	}
}
