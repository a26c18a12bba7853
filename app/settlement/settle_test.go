package settlement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
	"github.com/pulsecast/pulsecast/app/score"
)

// trade publishes p between two observations of the same price.
func (w *world) trade(s *Service, m *market.Market, agent uuid.UUID, price, p float64) uuid.UUID {
	w.t.Helper()
	m.Prices = []float64{price, 1 - price}
	w.clock = w.clock.Add(time.Minute)
	w.tick(s, m)
	w.clock = w.clock.Add(time.Second)
	id := w.publish(agent, m, 0, p)
	w.clock = w.clock.Add(2 * time.Minute)
	w.tick(s, m)
	return id
}

// TestWorkedNumbers checks the worked examples of the specification with the database.
func TestWorkedNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p, q, y     float64
		edge, brier float64
	}{
		{.7, .6, 1, 7, .09}, {.7, .6, 0, -13, .49}, {.7, .6, .5, -3, .04}, {.9, .5, 1, 24, .01},
	} {
		t.Run(fmt.Sprint(c.p, " ", c.q, " ", c.y), func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				m := w.market("1", "", "x", start)
				id := w.trade(s, m, w.agent(1), c.q, c.p)
				w.clock = w.clock.Add(time.Hour)
				m.Scalar = c.y == .5
				closeWith(m, w.clock, c.y, 1-c.y)
				w.tick(s, m)
				p := w.prediction(id)
				if p.Status != prediction.Resolved || p.Edge.Float() != c.edge || *p.Brier != c.brier || *p.ResolutionValue != c.y {
					t.Errorf("%+v: %s, edge %v, Brier %v", c, p.Status, p.Edge.Float(), show(p.Brier))
				}
				if c.q == .5 && *p.LogEdge != .847997 {
					t.Errorf("got log edge %v, want .847997", *p.LogEdge)
				}
			})
		})
	}
}

func TestWorkedCluster(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		a, b := w.market("1", "e", "x", start.AddDate(0, 0, 3)), w.market("2", "e", "y", start)
		agent := w.agent(1)
		w.trade(s, a, agent, .6, .7)
		w.trade(s, b, agent, .85, .9)
		closeWith(b, w.clock, 1, 0)
		w.tick(s, b)
		closeWith(a, w.clock, 1, 0)
		w.tick(s, a)
		var category, day string
		var tally score.Tally
		w.must(db.NewRaw("SELECT category, day, clusters, cluster_sum, cluster_squares FROM agent_days WHERE agent_id = ? AND category <> ''", agent).Scan(t.Context(), &category, &day, &tally.N, &tally.S, &tally.SS))
		if category != "x" || day != "2026-11-23" || tally.N != 1 || tally.S.Float() != 7.625 || tally.SS != 76250*76250 {
			t.Errorf("%s, %s: %+v", category, day, tally)
		}
		w.rebuilt()
	})
}

// TestReopenedMarket checks that the ledger keeps the whole history of a market that settles,
// reopens on another day and settles with another outcome.
func TestReopenedMarket(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", time.Time{}) // no end date, so it counts on the day of settlement
		id := w.trade(s, m, w.agent(1), .6, .7)
		late := w.publish(w.agent(2), m, 0, 1)
		closeWith(m, w.clock.Add(-time.Second), 1, 0)
		w.tick(s, m)
		if p := w.prediction(late); p.Status != prediction.Void || p.ResolutionNote != noteLate || p.Brier != nil {
			t.Errorf("a prediction published after the close is %s with note %q", p.Status, p.ResolutionNote)
		}
		w.clock = w.clock.AddDate(0, 0, 1)
		reopen(m, .6, .4)
		w.tick(s, m)
		if p := w.prediction(id); p.Status != prediction.Open || p.Edge != nil || p.ResolutionValue != nil || !p.ResolvedAt.IsZero() {
			t.Errorf("reopened: %+v", p)
		}
		w.rebuilt()
		w.clock = w.clock.AddDate(0, 0, 1)
		closeWith(m, w.clock, 0, 1)
		w.tick(s, m)
		if got, want := w.ledger(id), "0 score 1 Yes 7\n1 reversal 1 Yes -7\n2 score 0 No -13\n"; got != want {
			t.Errorf("ledger:\n%swant:\n%s", got, want)
		}
		var days []string
		w.must(db.NewRaw("SELECT day FROM agent_days WHERE agent_id = ? AND category <> '' AND clusters = 1", w.agent(1)).Scan(t.Context(), &days))
		if !slices.Equal(days, []string{"2026-11-22"}) {
			t.Errorf("counts on %v, want 2026-11-22", days)
		}
		w.rebuilt()
		changes, _, err := Corrections(t.Context(), db, CorrectionFilter{Limit: 10})
		if err != nil || len(changes) != 1 || changes[0].Kind != KindMarketReopened || changes[0].MarketID != "1" {
			t.Errorf("corrections %+v, error %v", changes, err)
		}
	})
}

func TestOrderBookDecides(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		answer := func() (int, bool, error) { return 0, false, nil }
		s.winner = func(context.Context, *market.Market) (int, bool, error) { return answer() }
		m := w.market("1", "", "x", start)
		id := w.trade(s, m, w.agent(1), .6, .7)
		closeWith(m, w.clock, .6, .4)
		w.tick(s, m)
		if p := w.prediction(id); p.Status != prediction.Open {
			t.Fatalf("the prediction is %s, but the book names no winner", p.Status)
		}
		down := errors.New("down")
		answer = func() (int, bool, error) { return 0, false, down }
		if err := s.AfterMarkets(t.Context(), w.observe(m)); !errors.Is(err, down) {
			t.Errorf("got error %v, want the order book's error", err)
		}
		answer = func() (int, bool, error) { return 1, true, nil }
		w.tick(s, m)
		if p := w.prediction(id); p.Status != prediction.Resolved || p.ResolutionOutcome != "No" || *p.ResolutionValue != 0 || p.ResolutionSource != "market" {
			t.Errorf("%+v", p)
		}
	})
}

// TestOrderBookIsAskedLast checks that an order book that doesn't answer delays no market with a clear result. It also
// checks that the order book gets a time limit.
func TestOrderBookIsAskedLast(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		unclear, clear := w.market("1", "", "x", start), w.market("2", "", "x", start)
		waits, settles := w.trade(s, unclear, w.agent(1), .6, .7), w.trade(s, clear, w.agent(2), .6, .7)
		asked := 0
		s.winner = func(ctx context.Context, m *market.Market) (int, bool, error) {
			asked++
			if m.ID != "1" {
				t.Errorf("the order book is asked about market %s", m.ID)
			}
			if limit, ok := ctx.Deadline(); !ok || time.Until(limit) > answerPatience {
				t.Errorf("the order book may take until %v, %t", limit, ok)
			}
			if p := w.prediction(settles); p.Status != prediction.Resolved {
				t.Errorf("the prediction on the clear market is %s while the order book is asked", p.Status)
			}
			return 0, false, context.DeadlineExceeded
		}
		closeWith(unclear, w.clock, .6, .4)
		closeWith(clear, w.clock, 1, 0)
		if err := s.AfterMarkets(t.Context(), w.observe(unclear, clear)); !errors.Is(err, context.DeadlineExceeded) || asked != 1 {
			t.Errorf("asked %d times, got error %v", asked, err)
		}
		if p := w.prediction(waits); p.Status != prediction.Open {
			t.Errorf("the prediction on the unclear market is %s", p.Status)
		}
	})
}

// TestOrderBookIsAskedInAnyOrder checks that a market without an answer doesn't always come before the others.
func TestOrderBookIsAskedInAnyOrder(t *testing.T) {
	t.Parallel()
	s, first := &Service{}, map[string]bool{}
	for range 100 {
		asked := 0
		s.winner = func(_ context.Context, m *market.Market) (int, bool, error) {
			if asked++; asked == 1 {
				first[m.ID] = true
			}
			return 0, false, errors.New("no answer")
		}
		if err := s.askBook(t.Context(), []*market.Market{{ID: "1"}, {ID: "2"}, {ID: "3"}}, nil); err == nil || asked != 3 {
			t.Fatalf("asked %d times, %v; want 3 and an error", asked, err)
		}
	}
	if len(first) != 3 {
		t.Errorf("always begins with one of %v", first)
	}
}

// TestOutcomeGoneIsNotReadAgain checks that a prediction whose outcome is gone waits for an admin without work on its
// market in each tick, although each tick reads it, and that a later prediction on the market still settles.
func TestOutcomeGoneIsNotReadAgain(t *testing.T) {
	t.Parallel()
	for name, ruled := range map[string]bool{"decided by the market": false, "ruled while open": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				s := w.service(0)
				work := 0 // chunks, and questions to the order book
				s.afterChunk = func() error { work++; return nil }
				s.winner = func(context.Context, *market.Market) (int, bool, error) { work++; return 0, false, nil }
				m, _, stuck := w.election(s)
				m.Outcomes, m.Prices = []string{"GOP", "Dem"}, []float64{.4, .6} // Rep can't be told
				w.tick(s, m)
				observed := []*market.Market{m}
				if ruled {
					w.clock, observed = w.clock.Add(2*vanishedAfter), nil
					_, err := s.Rule(t.Context(), KindMarketCorrected, "1", Ruling{Outcome: "Dem", Note: "seen", Actor: "ada"})
					w.must(err)
				} else {
					closeWith(m, w.clock, 0, 1)
					w.tick(s, m)
					m.Prices = []float64{.4, .6} // as if only the order book knew
				}
				next := func() int {
					t.Helper()
					work = 0
					w.clock = w.clock.Add(time.Minute)
					w.tick(s, observed...)
					return work
				}
				if n := next(); n != 0 {
					t.Errorf("the next tick did %d pieces of work, want none", n)
				}
				late := w.publish(w.agent(2), m, 0, .7)
				for range 3 { // until its baseline is overdue
					w.clock = w.clock.Add(BaselineWithin)
					next()
				}
				if p := w.prediction(late); p.Status != prediction.Void {
					t.Errorf("a later prediction is %s", p.Status)
				}
				if n := next(); n != 0 {
					t.Errorf("the tick after that did %d pieces of work, want none", n)
				}
				w.clock = w.clock.AddDate(0, 0, 8)
				if ids, err := s.Unsettled(t.Context(), 10); err != nil || len(ids) > 0 {
					t.Errorf("the markets %v are unsettled, error %v", ids, err)
				}
				if ids := w.requested(s); !slices.Equal(ids, []string{"1"}) {
					t.Errorf("a tick requests %v, want the market of the open prediction", ids)
				}
				list, err := s.Waiting(t.Context(), 10)
				if err != nil || len(list) != 1 || list[0].Reason != ReasonOutcomeGone || w.prediction(stuck).Status != prediction.Open {
					t.Errorf("waiting markets %+v, error %v", list, err)
				}
				if _, err := s.Rule(t.Context(), KindMarketVoided, "1", Ruling{Note: "renamed", Actor: "ada"}); err != nil {
					t.Fatal(err)
				}
				if p := w.prediction(stuck); p.Status != prediction.Void {
					t.Errorf("after a ruling the prediction is %s", p.Status)
				}
				w.exec("UPDATE markets SET active = FALSE")
				w.clock = w.clock.AddDate(0, 0, 8)
				_, err = db.ExecContext(t.Context(), "UPDATE markets SET observed_at = ?", database.Stored(w.clock))
				w.must(err)
				if ids := w.requested(s); len(ids) > 0 {
					t.Errorf("a week after the ruling a tick requests %v", ids)
				}
				w.rebuilt()
			})
		})
	}
}

// refused checks the status of a refusal and that its text contains the words.
func refused(t *testing.T, err error, status int, words ...string) {
	t.Helper()
	p := problem.As(err)
	if err == nil || p.Status != status {
		t.Errorf("got %v, want status %d", err, status)
		return
	}
	for _, word := range words {
		if !strings.Contains(p.Detail, word) {
			t.Errorf("%q does not mention %q", p.Detail, word)
		}
	}
}

func TestRulingsOnMarkets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", start)
		id, other := w.trade(s, m, w.agent(1), .6, .7), w.trade(s, m, w.agent(2), .6, .2)
		yes := Ruling{Outcome: " yes ", Note: "the court said so", Actor: "ada"}

		_, err := s.Rule(ctx, KindMarketCorrected, "1", yes)
		refused(t, err, 409, "open")
		_, err = s.Rule(ctx, KindMarketCorrected, "none", yes)
		refused(t, err, 404)
		closeWith(m, w.clock) // without prices the outcome is unknown
		w.tick(s, m)
		stuck, err := s.Waiting(ctx, 10)
		if err != nil || len(stuck) != 1 || stuck[0].Market.ID != "1" || stuck[0].Reason != ReasonUnknown {
			t.Errorf("waiting markets %+v, error %v", stuck, err)
		}
		_, err = s.Rule(ctx, KindMarketCorrected, "1", Ruling{Outcome: "Maybe", Note: "n", Actor: "ada"})
		refused(t, err, 422, "Yes, No")
		_, err = s.Rule(ctx, KindMarketCorrected, "1", Ruling{Outcome: "Yes", Note: " ", Actor: "ada"})
		refused(t, err, 422, "reason")

		before := w.sums()
		change, err := s.Preview(ctx, KindMarketCorrected, "1", yes)
		if err != nil || change != (Change{Kind: KindMarketCorrected, MarketID: "1", From: "open", To: "Yes", Open: 2}) {
			t.Errorf("preview %+v, error %v", change, err)
		}
		if w.sums() != before {
			t.Error("a preview changed something")
		}
		if done, err := s.Rule(ctx, KindMarketCorrected, "1", yes); err != nil || done != change {
			t.Errorf("ruled %+v, error %v; want the preview", done, err)
		}
		_, err = s.Rule(ctx, KindMarketCorrected, "1", yes)
		refused(t, err, 409, "Yes")
		p := w.prediction(id)
		if p.Status != prediction.Resolved || p.Edge.Float() != 7 || p.ResolutionSource != "admin" || p.ResolutionNote != "the court said so" {
			t.Errorf("%+v", p)
		}
		// A later reading of the closed market doesn't undo the ruling.
		w.clock = w.clock.Add(time.Minute)
		closeWith(m, start.Add(time.Hour), 0, 1)
		w.tick(s, m)
		if p := w.prediction(id); p.ResolutionOutcome != "Yes" {
			t.Errorf("undone: %+v", p)
		}
		// A prediction that was voided alone stays void when the market is corrected.
		if _, err := s.Rule(ctx, KindPredictionVoided, other.String(), Ruling{Note: "published by mistake of ours", Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
		_, err = s.Rule(ctx, KindPredictionVoided, other.String(), yes)
		refused(t, err, 409, "mistake of ours")
		w.clock = w.clock.Add(time.Minute)
		if _, err := s.Rule(ctx, KindMarketCorrected, "1", Ruling{Outcome: "No", Note: "the appeal", Actor: "bob"}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.ledger(id), "0 score 1 Yes 7\n1 reversal 1 Yes -7\n2 score 0 No -13\n"; got != want {
			t.Errorf("ledger:\n%swant:\n%s", got, want)
		}
		if got, want := w.ledger(other), "0 score 1 Yes -48\n1 reversal 1 Yes 48\n"; got != want {
			t.Errorf("ledger:\n%swant:\n%s", got, want)
		}
		w.clock = w.clock.Add(time.Minute)
		if _, err := s.Rule(ctx, KindMarketVoided, "1", Ruling{Note: "ambiguous", Actor: "bob"}); err != nil {
			t.Fatal(err)
		}
		_, err = s.Rule(ctx, KindMarketVoided, "1", yes)
		refused(t, err, 409, "void")
		if p := w.prediction(id); p.Status != prediction.Void || p.ResolutionNote != "ambiguous" || p.Edge != nil {
			t.Errorf("%+v", p)
		}
		w.rebuilt()
		kinds := []string{}
		changes, _, err := Corrections(ctx, db, CorrectionFilter{Limit: 3})
		for _, c := range changes {
			kinds = append(kinds, c.Kind+" by "+c.Actor)
		}
		if err != nil || !slices.Equal(kinds, []string{"market_voided by bob", "market_corrected by bob", "prediction_voided by ada"}) {
			t.Errorf("corrections %v, error %v", kinds, err)
		}
	})
}

// TestRulingIsStoredAlthoughSettlingFails checks that Rule returns the change if its caller leaves after the ruling
// was stored, and that the next tick settles the predictions.
func TestRulingIsStoredAlthoughSettlingFails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", start)
		id := w.trade(s, m, w.agent(1), .6, .7)
		closeWith(m, w.clock)
		w.tick(s, m)
		ctx, leave := context.WithCancel(t.Context())
		defer leave()
		db.Watch(dbtest.OnCommit(leave))
		change, err := s.Rule(ctx, KindMarketCorrected, "1", Ruling{Outcome: "Yes", Note: "n", Actor: "ada"})
		if err == nil || change.To != "Yes" {
			t.Fatalf("ruled %+v, error %v; want a change with an error", change, err)
		}
		w.tick(s, m)
		if p := w.prediction(id); p.Status != prediction.Resolved {
			t.Errorf("after the next tick the prediction is %s", p.Status)
		}
	})
}

func TestRulingsOnUnlinkedPredictions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", start)
		agent := w.agent(1)
		linked, id := w.publish(agent, m, 0, .7), w.publish(agent, nil, 0, .8)
		half, yes := .5, Ruling{Outcome: "Yes", Note: "seen", Actor: "ada"}

		_, err := s.Rule(ctx, KindPredictionSettled, linked.String(), yes)
		refused(t, err, 409, "market 1")
		_, err = s.Rule(ctx, KindPredictionSettled, uuid.New().String(), yes)
		refused(t, err, 404)
		_, err = s.Rule(ctx, KindPredictionSettled, id.String(), yes)
		refused(t, err, 409, "2026-11-22T08:00:00Z")
		_, err = s.Rule(ctx, KindPredictionChanged, id.String(), yes)
		refused(t, err, 409, "Settle it")
		w.clock = start.AddDate(0, 0, 5)
		due, err := prediction.Store{}.Due(ctx, db, w.clock, 10)
		if err != nil || len(due) != 1 || due[0].ID != id {
			t.Errorf("due predictions %+v, error %v", due, err)
		}
		_, err = s.Rule(ctx, KindPredictionSettled, id.String(), Ruling{Outcome: "perhaps", Note: "n", Actor: "ada"})
		refused(t, err, 422, "Yes")
		high := 1.1
		_, err = s.Rule(ctx, KindPredictionSettled, id.String(), Ruling{Value: &high, Note: "n", Actor: "ada"})
		refused(t, err, 422, "0 to 1")
		if _, err := s.Rule(ctx, KindPredictionSettled, id.String(), yes); err != nil {
			t.Fatal(err)
		}
		_, err = s.Rule(ctx, KindPredictionSettled, id.String(), yes)
		refused(t, err, 409, "Yes")
		_, err = s.Rule(ctx, KindPredictionChanged, id.String(), yes)
		refused(t, err, 409, "Yes")
		if _, err := s.Rule(ctx, KindPredictionChanged, id.String(), Ruling{Value: &half, Note: "half of it", Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
		if got, want := w.ledger(id), "0 score 1 Yes\n1 reversal 1 Yes\n2 score 0.5 \n"; got != want {
			t.Errorf("ledger:\n%swant:\n%s", got, want)
		}
		var text string
		w.must(db.NewRaw("SELECT category || ' ' || day || ' ' || resolved || ' ' || scored || ' ' || resolved_brier || ' ' || clusters || ' ' || b8_count || ' ' || b8_observed FROM agent_days WHERE agent_id = ? AND category <> ''", agent).Scan(ctx, &text))
		if text != "general 2026-11-22 1 0 9000000 0 1 500000000" {
			t.Errorf("day: %s", text)
		}
		w.rebuilt()
	})
}

// TestClockAhead checks that an outcome decided while the clock was ahead follows the market again once the clock is set
// back.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", start)
		id := w.trade(s, m, w.agent(1), .6, .7)
		now := w.clock
		w.clock = now.Add(24 * time.Hour)
		closeWith(m, now, 1, 0)
		w.tick(s, m)
		w.clock = now.Add(time.Minute)
		closeWith(m, now, 0, 1)
		w.tick(s, m)
		if p := w.prediction(id); p.Status != prediction.Resolved || p.ResolutionValue == nil || *p.ResolutionValue != 0 {
			t.Errorf("got %+v, want the value 0 of the newer reading", p)
		}
		w.rebuilt()
	})
}

// TestRebuildAfterAClockThatWasAhead checks that a rebuild leaves out publication days that have not come yet. Otherwise
// the agent's days wouldn't count until then.
func TestRebuildAfterAClockThatWasAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		m := w.market("1", "", "x", start.AddDate(1, 0, 0))
		for _, days := range []int{0, 40, 41} {
			w.clock = start.AddDate(0, 0, days)
			w.publish(w.agent(1), m, 0, .6)
		}
		w.rebuilt() // the wrong clock calls its days plausible
		w.clock = start.AddDate(0, 0, 1)
		if report, err := w.service(0).Rebuild(t.Context(), true); err != nil || len(report.Differences) != 1 {
			t.Errorf("got the differences %v, %v; want the tally", report.Differences, err)
		}
		for range 2 {
			w.publish(w.agent(1), m, 0, .6)
			w.rebuilt()
			w.clock = w.clock.AddDate(0, 0, 1)
		}
		tally, err := prediction.Store{}.Tally(t.Context(), db, w.agent(1))
		if err != nil || tally.PublicationDays != 3 || tally.LastRankedDay != "2026-11-22" {
			t.Errorf("got %+v, %v; want 3 days, the last one 2026-11-22", tally, err)
		}
	})
}

func TestVanishedMarket(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		w := newWorld(t, db)
		s := w.service(0)
		m, still := w.market("1", "", "x", start), w.market("2", "", "x", start)
		id := w.trade(s, m, w.agent(1), .6, .7)
		sample := w.market("3", "", "x", start) // no source reports a sample market again
		sample.Sample = true
		w.trade(s, sample, w.agent(2), .6, .7)
		w.clock = w.clock.Add(25 * time.Hour)
		still.Prices = []float64{.5, .5}
		w.tick(s, still)
		stuck, err := s.Waiting(ctx, 10)
		if err != nil || len(stuck) != 1 || stuck[0].Market.ID != "1" || stuck[0].Reason != ReasonVanished {
			t.Errorf("waiting markets %+v, error %v", stuck, err)
		}
		if ids := w.requested(s); !slices.Equal(ids, []string{"1", "2"}) {
			t.Errorf("a tick requests %v", ids)
		}
		for _, at := range []time.Time{w.clock.Add(-time.Hour), w.clock} { // the source knows neither
			w.must(market.Store{}.Missed(ctx, db, []string{"1", "2"}, at))
		}
		if ids := w.requested(s); !slices.Equal(ids, []string{"1"}) {
			t.Errorf("a tick requests %v, want the market of the open prediction", ids)
		}
		if p := w.prediction(id); p.Status != prediction.Open {
			t.Errorf("the prediction is %s, want open", p.Status)
		}
		if _, err := s.Rule(ctx, KindMarketVoided, "1", Ruling{Note: "gone upstream", Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
		if p := w.prediction(id); p.Status != prediction.Void {
			t.Errorf("the prediction is %s, want void", p.Status)
		}
		w.rebuilt()
	})
}

// TestPublishedAfterRuling checks that a prediction on a vanished market is void if it was published after an admin had
// decided the market. No reading of the market comes again.
func TestPublishedAfterRuling(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m, other := w.market("1", "", "x", time.Time{}), w.market("2", "", "x", start)
		before := w.trade(s, m, w.agent(1), .6, .7)
		w.clock = w.clock.Add(25 * time.Hour)
		if _, err := s.Rule(t.Context(), KindMarketCorrected, "1", Ruling{Outcome: "Yes", Note: "seen elsewhere", Actor: "ada"}); err != nil {
			t.Fatal(err)
		}
		w.clock = w.clock.Add(time.Hour)
		after := w.publish(w.agent(2), m, 0, .99)
		w.clock = w.clock.Add(time.Hour) // by then it has no baseline
		w.tick(s, other)
		if p := w.prediction(before); p.Status != prediction.Resolved {
			t.Errorf("the prediction before the ruling is %s", p.Status)
		}
		if p := w.prediction(after); p.Status != prediction.Void || p.ResolutionNote != noteDecided {
			t.Errorf("the prediction after the ruling is %s: %s", p.Status, p.ResolutionNote)
		}
		w.rebuilt()
	})
}

// TestStragglersAndOldReadings checks that a later tick settles a prediction that another process
// stored while the market closed. It also checks that a reading older than the decision changes
// nothing.
func TestStragglersAndOldReadings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		m := w.market("1", "", "x", start)
		w.trade(s, m, w.agent(1), .6, .7)
		old := *m
		w.clock = w.clock.Add(time.Second)
		closeWith(m, w.clock.Add(time.Hour), 1, 0)
		w.tick(s, m)
		id := w.publish(w.agent(2), m, 0, .9)
		w.tick(s, m)
		if p := w.prediction(id); p.Status != prediction.Resolved || p.BaselineState != prediction.Missed || p.Edge != nil || fmt.Sprintf("%.2f", *p.Brier) != "0.01" {
			t.Errorf("straggler: %+v", p)
		}
		w.must(s.AfterMarkets(t.Context(), []market.Market{old}))
		if p := w.prediction(id); p.Status != prediction.Resolved {
			t.Errorf("after an old reading the prediction is %s, want resolved", p.Status)
		}
		w.rebuilt()
	})
}

// TestRebuildMends checks that a rebuild finds and repairs altered sums.
func TestRebuildMends(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		w := newWorld(t, db)
		s := w.service(0)
		ms := populate(w, s, 3)
		finishes["in order"](w, ms)
		want := w.sums()
		for _, sql := range []string{
			"UPDATE agent_days SET cluster_sum = cluster_sum + 1 WHERE agent_id = (SELECT min(CAST(agent_id AS TEXT)) FROM agent_days WHERE clusters > 0)",
			"DELETE FROM clusters WHERE settled > 1 AND settled_day IS NULL",
			"UPDATE agent_tallies SET open = open + 1, resolved = resolved - 1",
		} {
			if database.IsPostgres(db) {
				sql = strings.Replace(sql, "(SELECT min(CAST(agent_id AS TEXT))", "(SELECT CAST(min(CAST(agent_id AS TEXT)) AS UUID)", 1)
			}
			_, err := db.ExecContext(ctx, sql)
			w.must(err)
		}
		report, err := s.Rebuild(ctx, true)
		if err != nil || len(report.Differences) < 10 || report.Entries == 0 || report.References == 0 {
			t.Errorf("the rebuild reported %d differences and %d entries, error %v", len(report.Differences), report.Entries, err)
		}
		if got := w.sums(); got != want {
			t.Errorf("the rebuild didn't restore the sums:%s", difference(got, want))
		}
		w.rebuilt()
		_, err = db.ExecContext(ctx, "UPDATE score_entries SET edge = edge + 1 WHERE edge IS NOT NULL")
		w.must(err)
		if report, err := s.Rebuild(ctx, false); err != nil || len(report.Differences) == 0 || report.Differences[0].What != ComparedLedger {
			t.Errorf("an altered ledger is not reported first (error %v)", err)
		}
	})
}

// TestRebuildChecksTheMarket checks that a rebuild reports anything that would count for the market, whose row on the
// boards must be exactly 0, and removes the sums.
func TestRebuildChecksTheMarket(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		m := w.market("1", "", "politics", start)
		q, y := .6, 1.0
		_, err := db.NewInsert().Model(&ReferencePrediction{AgentID: MarketAgent, MarketID: m.ID, Outcome: "Yes", Confidence: .7, Baseline: q,
			ObservedAt: start, EventKey: m.EventKey(), Status: prediction.Resolved, Value: &y, SettledAt: start, CreatedAt: start}).Exec(t.Context())
		w.must(err)
		reported := func(replace bool, want ...Compared) {
			t.Helper()
			report, err := w.service(0).Rebuild(t.Context(), replace)
			w.must(err)
			var got []Compared
			for _, d := range report.Differences {
				if d.Agent != MarketAgent {
					t.Error(d)
				}
				got = append(got, d.What)
			}
			if !slices.Equal(got, want) {
				t.Errorf("the rebuild reports %v of the market, want %v", got, want)
			}
		}
		reported(false, ComparedMarket)
		w.must(db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			c := Cluster{AgentID: MarketAgent, EventKey: m.EventKey(), Category: "politics", Day: dayOf(start), NextIndex: 1, Settled: 1, Value: 70_000}
			err := addClusters(ctx, tx, []Cluster{c})
			days := dayTerms{}
			days.add(c.share(1))
			return errors.Join(err, addDays(ctx, tx, days))
		}))
		reported(true, ComparedMarket, ComparedClusters, ComparedDays, ComparedDays)
		reported(false, ComparedMarket) // a rebuild deletes no prediction
		w.exec("DELETE FROM reference_predictions WHERE confidence = 0.7")
		w.rebuilt()
	})
}

// TestRebuildWhileAgentsPublish checks that a rebuild beside a live server loses no publication and
// reports no false difference.
func TestRebuildWhileAgentsPublish(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		var publishing sync.WaitGroup
		for n := range 8 {
			agent := w.agent(n + 1)
			publishing.Go(func() {
				for range 40 {
					x := prediction.Prediction{ID: database.NewID(start), AgentID: agent, Title: "t", Thesis: "t", Confidence: 0.5, HorizonAt: start,
						Category: "general", Evidence: []prediction.Evidence{}, BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: start}
					err := db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, &x) })
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		done := make(chan struct{})
		go func() { publishing.Wait(); close(done) }()
		for live := true; live; {
			select {
			case <-done:
				live = false
			default:
			}
			report, err := s.Rebuild(t.Context(), true)
			if err != nil || len(report.Differences) > 0 {
				t.Errorf("%v, %v", report.Differences, err)
			}
		}
	})
}
