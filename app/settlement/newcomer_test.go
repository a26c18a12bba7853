package settlement

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestConsensusRowIsARecord checks that the row of Consensus keeps the agents that counted when it
// was stored. Agents that begin to count later and settlements taken back don't change it, and a
// rebuild finds no difference. A disabled agent doesn't count.
func TestConsensusRowIsARecord(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		agents := make([]uuid.UUID, 7)
		for i := range agents {
			agents[i] = w.agent(i + 1)
		}
		disabled := agents[6]
		w.experience(s, append(slices.Clone(agents[:4]), disabled)...)
		m := w.market("1", "", "x", start)
		m.Prices = []float64{.3, .7}
		w.tick(s, m)
		for i, p := range []float64{.2, .4, .6, .8, .9} {
			w.publish(agents[i], m, 0, p)
		}
		w.publish(disabled, m, 0, .99)
		_, err := db.NewRaw("UPDATE agents SET status = 'disabled' WHERE id = ?", disabled).Exec(t.Context())
		w.must(err)
		observe := func(price float64) {
			w.clock = w.clock.Add(2 * time.Minute)
			m.Prices = []float64{price, 1 - price}
			w.tick(s, m)
		}
		check := func(when, consensus string) {
			t.Helper()
			if got, want := references(w, "1"), "fifty 0.5 against 0.3; "+consensus; got != want {
				t.Errorf("%s: got %s, want %s", when, got, want)
			}
			w.rebuilt()
		}
		observe(.35)
		check("four agents count, and a newcomer published", "")
		w.settleEvents(s, agents[4], ConsensusEvents)
		check("the fifth counts, but no baseline was fixed since", "")
		w.publish(agents[5], m, 0, .01)
		observe(.45)
		const row = "consensus 0.6 against 0.45; " // .2 .4 .6 .8 .9
		check("a newcomer's baseline triggers the row", row)
		observe(.5)
		w.settleEvents(s, agents[5], ConsensusEvents)
		observe(.55)
		check("a sixth agent counts later", row)
		reopened := w.markets["9000"]
		reopen(reopened, .5, .5)
		w.clock = w.clock.Add(time.Minute)
		w.tick(s, reopened)
		counts, err := CountInConsensus(t.Context(), db, agents)
		if err != nil || counts[agents[0]] || !counts[agents[4]] {
			t.Errorf("after an event was taken back: counts %v, error %v", counts, err)
		}
		check("four events were taken back", row)
		closeWith(m, w.clock, 1, 0)
		w.tick(s, m)
		live := w.sums()
		report, err := s.Rebuild(t.Context(), true)
		if w.must(err); len(report.Differences) > 0 {
			t.Errorf("the rebuild found differences: %v", report.Differences)
		}
		if got := w.sums(); got != live {
			t.Errorf("rebuilt sums differ:%s", difference(got, live))
		}
		check("settled and rebuilt", row)
	})
}

// settleEvents gives an agent n settled events, on new markets.
func (w *world) settleEvents(s *Service, agent uuid.UUID, n int) {
	w.t.Helper()
	at := w.clock
	for range n {
		w.serial++
		m := w.market(fmt.Sprint(10_000+w.serial), "", "x", at)
		w.trade(s, m, agent, .5, .6)
		closeWith(m, w.clock, 1, 0)
		w.tick(s, m)
	}
}

// TestFirstSettlementClearsMarks checks that a newcomer's predictions are marked until its first
// settlement.
func TestFirstSettlementClearsMarks(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m, other := w.market("1", "", "x", start), w.market("2", "", "x", start)
		first, open := w.trade(s, m, w.agent(1), .5, .7), w.trade(s, other, w.agent(1), .5, .7)
		stranger := w.trade(s, other, w.agent(2), .5, .7)
		w.exec("UPDATE predictions SET newcomer = TRUE")
		w.exec("UPDATE results SET newcomer = TRUE")
		closeWith(m, w.clock, 1, 0)
		w.tick(s, m)
		for id, want := range map[uuid.UUID]bool{first: false, open: false, stranger: true} {
			if p := w.prediction(id); p.Newcomer != want {
				t.Errorf("prediction of agent %s (%s): newcomer %t, want %t", p.AgentID, p.Status, p.Newcomer, want)
			}
		}
		var left int
		w.must(db.NewRaw("SELECT COUNT(*) FROM results WHERE newcomer").Scan(t.Context(), &left))
		if left != 1 || w.prediction(first).Status != prediction.Resolved {
			t.Errorf("%d results are marked as a newcomer's, want 1", left)
		}
	})
}
