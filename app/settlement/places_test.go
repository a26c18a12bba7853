package settlement

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// election returns a market with the outcomes Dem and Rep, and a prediction with a baseline on each.
func (w *world) election(s *Service) (m *market.Market, dem, rep uuid.UUID) {
	w.t.Helper()
	m = w.market("1", "", "x", start, "Dem", "Rep")
	m.Prices = []float64{.6, .4}
	w.tick(s, m)
	w.clock = w.clock.Add(time.Second)
	dem, rep = w.publish(w.agent(1), m, 0, .7), w.publish(w.agent(2), m, 1, .2)
	w.clock = w.clock.Add(2 * time.Minute)
	w.tick(s, m)
	return m, dem, rep
}

// ledgers compares the ledgers of two predictions.
func (w *world) ledgers(dem, rep uuid.UUID, wantDem, wantRep string) {
	w.t.Helper()
	if got := w.ledger(dem); got != wantDem {
		w.t.Errorf("ledger of Dem:\n%swant:\n%s", got, wantDem)
	}
	if got := w.ledger(rep); got != wantRep {
		w.t.Errorf("ledger of Rep:\n%swant:\n%s", got, wantRep)
	}
	w.rebuilt()
}

// TestRenamedAfterSettlement checks that a market that settled for Dem changes no score if it only renames its outcomes
// or lists them in another order, and that a changed result still counts.
func TestRenamedAfterSettlement(t *testing.T) {
	t.Parallel()
	const dem, rep = "0 score 1 Dem 7\n", "0 score 0 Dem 12\n"
	for name, c := range map[string]struct {
		outcomes         []string
		prices           []float64
		wantDem, wantRep string
	}{
		"renamed":                          {[]string{"Democrat", "Republican"}, []float64{1, 0}, "", ""},
		"letter case":                      {[]string{"DEM", "rep"}, []float64{1, 0}, "", ""},
		"another order":                    {[]string{"Rep", "Dem"}, []float64{0, 1}, "", ""},
		"one renamed, in another order":    {[]string{"GOP", "Dem"}, []float64{0, 1}, "", ""},
		"another result":                   {[]string{"Dem", "Rep"}, []float64{0, 1}, "1 reversal 1 Dem -7\n2 score 0 Rep -13\n", "1 reversal 0 Dem -12\n2 score 1 Rep -28\n"},
		"names swapped":                    {[]string{"Rep", "Dem"}, []float64{1, 0}, "1 reversal 1 Dem -7\n2 score 0 Rep -13\n", "1 reversal 0 Dem -12\n2 score 1 Rep -28\n"},
		"one renamed, with another result": {[]string{"Dem", "GOP"}, []float64{0, 1}, "1 reversal 1 Dem -7\n2 score 0 GOP -13\n", "1 reversal 0 Dem -12\n2 score 1 GOP -28\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				m, a, b := w.election(s)
				closeWith(m, w.clock, 1, 0)
				w.tick(s, m)
				w.ledgers(a, b, dem, rep)
				m.Outcomes = c.outcomes
				for range 2 {
					w.clock = w.clock.Add(time.Minute)
					closeWith(m, m.ClosedAt, c.prices...)
					w.tick(s, m)
				}
				w.ledgers(a, b, dem+c.wantDem, rep+c.wantRep)
			})
		})
	}
}

// TestRenamedBeforeSettlement checks which outcome predictions mean if their market renamed its outcomes, or listed them
// in another order, after their publication.
func TestRenamedBeforeSettlement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcomes         []string
		prices           []float64
		wantDem, wantRep string
	}{
		"renamed":       {[]string{"Democrat", "Republican"}, []float64{1, 0}, "0 score 1 Democrat 7\n", "0 score 0 Democrat 12\n"},
		"another order": {[]string{"Rep", "Dem"}, []float64{0, 1}, "0 score 1 Dem 7\n", "0 score 0 Dem 12\n"},
		// Rep may be the outcome at its place, but Dem is there now.
		"one renamed, in another order": {[]string{"GOP", "Dem"}, []float64{0, 1}, "0 score 1 Dem 7\n", ""},
		// Green may have come before Rep.
		"one renamed, in a longer list": {[]string{"Dem", "Green", "GOP"}, []float64{0, 1, 0}, "0 score 0 Green -13\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				m, dem, rep := w.election(s)
				m.Outcomes = c.outcomes
				w.tick(s, m)
				closeWith(m, w.clock, c.prices...)
				w.tick(s, m)
				w.ledgers(dem, rep, c.wantDem, c.wantRep)
				if c.wantRep != "" {
					return
				}
				stuck, err := s.Waiting(t.Context(), 10)
				if err != nil || len(stuck) != 1 || stuck[0].Reason != ReasonOutcomeGone {
					t.Errorf("waiting markets %+v, error %v", stuck, err)
				}
				_, err = s.Rule(t.Context(), KindMarketCorrected, "1", Ruling{Outcome: "Rep", Note: "n", Actor: "ada"})
				refused(t, err, 422, strings.Join(c.outcomes, ", "))
				_, err = s.Rule(t.Context(), KindMarketVoided, "1", Ruling{Note: "renamed upstream", Actor: "ada"})
				w.must(err)
				if p := w.prediction(rep); p.Status != prediction.Void {
					t.Errorf("after a ruling the prediction is %s", p.Status)
				}
				w.rebuilt()
			})
		})
	}
}

// TestRenamedWithAnotherResult checks a correction in which the market has renamed its outcomes too. That may also be
// another order, so scores are taken back and wait for an admin. The admin may use the old names and the new ones.
func TestRenamedWithAnotherResult(t *testing.T) {
	t.Parallel()
	const dem, rep = "0 score 1 Dem 7\n1 reversal 1 Dem -7\n", "0 score 0 Dem 12\n1 reversal 0 Dem -12\n"
	const renamed = " (Dem counts as Democrat, Rep counts as Republican)"
	for outcome, want := range map[string]struct{ to, dem, rep string }{
		"Republican": {"Republican" + renamed, "2 score 0 Republican -13\n", "2 score 1 Republican -28\n"},
		" rep":       {"Republican" + renamed, "2 score 0 Republican -13\n", "2 score 1 Republican -28\n"},
		"Dem":        {"Democrat" + renamed, "2 score 1 Democrat 7\n", "2 score 0 Democrat 12\n"},
	} {
		t.Run(outcome, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				m, a, b := w.election(s)
				closeWith(m, w.clock, 1, 0)
				w.tick(s, m)
				m.Outcomes = []string{"Democrat", "Republican"}
				for range 2 {
					w.clock = w.clock.Add(time.Minute)
					closeWith(m, m.ClosedAt, 0, 1)
					w.tick(s, m)
				}
				w.ledgers(a, b, dem, rep)
				stuck, err := s.Waiting(t.Context(), 10)
				if err != nil || len(stuck) != 1 || stuck[0].Market.ID != "1" || stuck[0].Reason != ReasonOutcomeGone {
					t.Errorf("waiting markets %+v, error %v", stuck, err)
				}
				change, err := s.Rule(t.Context(), KindMarketCorrected, "1", Ruling{Outcome: outcome, Note: "seen", Actor: "ada"})
				if err != nil || change.From != "Republican" || change.To != want.to {
					t.Errorf("ruled from %q to %q, error %v; want to %q", change.From, change.To, err, want.to)
				}
				w.ledgers(a, b, dem+want.dem, rep+want.rep)
				_, err = s.Rule(t.Context(), KindMarketCorrected, "1", Ruling{Outcome: outcome, Note: "seen", Actor: "ada"})
				refused(t, err, 409, "already")
			})
		})
	}
}

// TestPreviousAfterARenaming checks that a baseline is bounded by the agent's previous confidence in the same outcome,
// whatever name and place the source gave that outcome meanwhile. Dem stays at 0.6.
func TestPreviousAfterARenaming(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		outcomes []string
		prices   []float64
		outcome  int
		p, want  float64
	}{
		"same list":                {[]string{"Dem", "Rep"}, []float64{.6, .4}, 0, .8, .7},
		"another order":            {[]string{"Rep", "Dem"}, []float64{.4, .6}, 1, .8, .7},
		"another order, the other": {[]string{"Rep", "Dem"}, []float64{.4, .6}, 0, .2, .3},
		"renamed":                  {[]string{"Democrat", "Rep"}, []float64{.6, .4}, 0, .8, .7},
		"renamed, the other":       {[]string{"Democrat", "Republican"}, []float64{.6, .4}, 1, .2, .3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				m, _, _ := w.election(s) // agent 1 says 0.7 for Dem
				m.Outcomes, m.Prices = c.outcomes, c.prices
				w.clock = w.clock.Add(2 * time.Hour)
				w.tick(s, m)
				w.clock = w.clock.Add(time.Second)
				id := w.publish(w.agent(1), m, c.outcome, c.p)
				w.clock = w.clock.Add(2 * time.Minute)
				w.tick(s, m)
				if q := w.prediction(id).Baseline; q == nil || *q != c.want {
					t.Errorf("baseline %s, want %v", show(q), c.want)
				}
			})
		})
	}
}
