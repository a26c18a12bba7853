package settlement

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// closing creates a market of an event, publishes a prediction of each agent with a number in
// from..to, fixes the baselines and closes the market. The market is observed but not settled yet.
func (w *world) closing(id, event string, from, to int) *market.Market {
	w.t.Helper()
	m := w.market(id, event, "politics", start.AddDate(0, 0, 1))
	m.Prices = []float64{.5, .5}
	w.tick(w.service(0), m)
	w.clock = w.clock.Add(10 * time.Second)
	for n := from; n <= to; n++ {
		w.publish(w.agent(n), m, 0, float64(n%10)/10)
	}
	w.clock = w.clock.Add(3 * time.Minute)
	w.tick(w.service(0), m)
	w.clock = w.clock.Add(time.Minute)
	closeWith(m, w.clock, 1, 0)
	w.observe(m)
	return m
}

// background runs fn in a goroutine. The returned function waits for its result.
func background(fn func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- fn() }()
	return func() error { return <-done }
}

// hold begins a transaction with begin, runs fn in it and keeps it open until release is called.
// release returns the transaction's error.
func hold(
	w *world, begin func(context.Context, func(context.Context, bun.Tx) error) error,
	fn func(context.Context, bun.Tx) error,
) (release func() error) {
	w.t.Helper()
	held, end := make(chan struct{}), make(chan struct{})
	wait := background(func() error {
		return begin(context.Background(), func(ctx context.Context, tx bun.Tx) error {
			defer func() { <-end }()
			defer close(held)
			return fn(ctx, tx)
		})
	})
	<-held
	return func() error {
		close(end)
		return wait()
	}
}

// holdChunk settles the first chunk of a market's predictions and commits it when release is
// called.
func holdChunk(w *world, s *Service, m *market.Market) (release func() error) {
	w.t.Helper()
	if changed, err := s.decide(context.Background(), m, m.Verdict(), nil); err != nil || !changed {
		w.t.Fatal("not decided:", err)
	}
	run := applyRun{service: s, market: m.ID}
	return hold(w, s.inLedger, func(ctx context.Context, tx bun.Tx) error {
		err := run.step(ctx, tx)
		if err == nil && run.last == uuid.Nil {
			err = errors.New("the market has nothing to settle")
		}
		return err
	})
}

// waiting returns once n database connections wait for a lock.
func (w *world) waiting(n int) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for found := 0; found < n; {
		w.must(w.db.NewRaw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").
			Scan(ctx, &found))
	}
}

// TestMarketsOfOtherAgentsDontWait checks that while one worker has a chunk open, another can
// settle a market of other agents completely, also if both markets are of one event. Always 50 %
// and Consensus have rows on both markets.
func TestMarketsOfOtherAgentsDontWait(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{"two events": "", "siblings": "e"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, dbtest.Open(t, database.Postgres))
			var agents []uuid.UUID
			for n := range 6 {
				agents = append(agents, w.agent(1+n), w.agent(11+n))
			}
			w.experience(w.service(0), agents...)
			before := w.settled()
			held := w.closing("1", event, 1, 6)
			other := w.closing("2", event, 11, 16)
			late := w.publish(w.agent(11), w.market("3", "", "politics", start.AddDate(0, 0, 1)), 0, .4)
			w.clock = w.clock.Add(time.Hour)
			release := holdChunk(w, w.service(3), held)

			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			s := w.service(2)
			w.must(s.FixBaselines(ctx))
			if changed, err := s.decide(ctx, other, other.Verdict(), nil); err != nil || !changed {
				t.Fatal("not decided:", err)
			}
			w.must(s.apply(ctx, other.ID))
			var moved int
			w.must(w.db.NewRaw("SELECT count(*) FROM prediction_records WHERE market_id = '2' AND status = 'resolved'").Scan(ctx, &moved))
			if moved != 6 {
				t.Errorf("settled %d predictions beside an open chunk, want 6", moved)
			}
			w.must(w.db.NewRaw("SELECT count(*) FROM reference_predictions WHERE market_id = '2' AND status = 'resolved'").Scan(ctx, &moved))
			if moved != 2 {
				t.Errorf("settled %d reference rows beside an open chunk, want 2", moved)
			}
			if p := w.prediction(late); p.BaselineState != prediction.Missed {
				t.Errorf("the baseline is %s, want missed", p.BaselineState)
			}
			w.must(release())
			w.must(w.service(0).AfterMarkets(context.Background(), nil))
			if n := w.settled() - before; n != 12 {
				t.Errorf("settled %d predictions, want 12", n)
			}
			w.rebuilt()
		})
	}
}

// TestConsensusIsLockedInOneOrder checks that a chunk that reveals a prediction, and makes its agent
// count, locks the consensus of markets in ascending order, as publishing does.
func TestConsensusIsLockedInOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.Postgres))
	w.settleEvents(w.service(0), w.agent(1), ConsensusEvents-1)
	w.publish(w.agent(1), w.market("1", "", "politics", start.AddDate(0, 0, 1)), 0, .4)
	m := w.closing("2", "", 1, 1)
	w.exec("UPDATE predictions SET reveal = 'close', unrevealed = TRUE WHERE market_id = '2'")
	w.exec("DELETE FROM prediction_words WHERE id IN (SELECT id FROM predictions WHERE market_id = '2')")
	w.exec("UPDATE market_consensus SET predictions = 0 WHERE market_id = '2'")
	observed := w.observe(m)

	first, goOn := make(chan struct{}), make(chan struct{})
	publisher := background(func() error {
		return w.db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error {
			err := prediction.CountOnMarkets(ctx, tx, map[string]int64{"1": 0})
			close(first)
			<-goOn
			return errors.Join(err, prediction.CountOnMarkets(ctx, tx, map[string]int64{"2": 0}))
		})
	})
	<-first
	worker := background(func() error { return w.service(0).AfterMarkets(context.Background(), observed) })
	w.waiting(1)
	close(goOn)
	w.must(errors.Join(publisher(), worker()))
	w.rebuilt()
}

// TestSameAgentsWait checks two workers on one market, and one agent on two markets. The later
// worker waits and continues from the earlier one's result.
func TestSameAgentsWait(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.Postgres))
	first, second := w.closing("1", "", 1, 4), w.closing("2", "", 4, 6)
	release := holdChunk(w, w.service(0), first)
	observed := w.observe(first, second)
	wait := background(func() error { return w.service(0).AfterMarkets(context.Background(), observed) })
	waitToo := background(func() error { return w.service(2).AfterMarkets(context.Background(), observed[1:]) })
	w.waiting(2)
	w.must(release())
	w.must(errors.Join(wait(), waitToo()))
	if n := w.settled(); n != 7 {
		t.Errorf("settled %d predictions, want 7", n)
	}
	w.rebuilt()
}

// TestRebuildTakesEverything checks that a rebuild waits for open chunks, and that chunks wait for
// a rebuild.
func TestRebuildTakesEverything(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.Postgres))
	m, other := w.closing("1", "", 1, 4), w.closing("2", "", 5, 8)
	s := w.service(2)
	release := holdChunk(w, s, m)
	var report RebuildReport
	wait := background(func() (err error) {
		report, err = w.service(0).Rebuild(context.Background(), false)
		return err
	})
	w.waiting(1)
	w.must(release())
	w.must(wait())
	if report.Entries != 2 || len(report.Differences) > 0 {
		t.Errorf("the rebuild read %d entries of the chunk, want 2; differences %v", report.Entries, report.Differences)
	}

	release = hold(w, s.inWholeLedger, func(context.Context, bun.Tx) error { return nil })
	observed := w.observe(m, other)
	wait = background(func() error { return s.AfterMarkets(context.Background(), observed) })
	w.waiting(1)
	if n := w.settled(); n != 2 {
		t.Errorf("%d settled during a rebuild, want the 2 settled before", n)
	}
	w.must(release())
	w.must(wait())
	if n := w.settled(); n != 8 {
		t.Errorf("settled %d predictions, want 8", n)
	}
	w.rebuilt()
}

// TestPublishingDuringRebuild checks that publications wait for a rebuild of their agents and are
// counted once, including an agent's first one.
func TestPublishingDuringRebuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.Postgres))
	m := w.market("1", "", "politics", start)
	w.publish(w.agent(1), m, 0, .5)
	agents := []uuid.UUID{w.agent(1), w.agent(2)}
	release := hold(w, w.service(0).inWholeLedger, func(ctx context.Context, tx bun.Tx) error {
		var report RebuildReport
		return w.service(0).rebuildSome(ctx, tx, agents, true, &report)
	})
	var waits []func() error
	for _, agent := range agents {
		waits = append(waits, background(func() error { return w.insert(agent, m) }))
	}
	w.waiting(2)
	w.must(release())
	for _, wait := range waits {
		w.must(wait())
	}
	w.rebuilt()
	var tallies string
	w.must(w.db.NewRaw("SELECT string_agg(total || ' ' || open, ', ' ORDER BY agent_id) FROM agent_tallies").Scan(t.Context(), &tallies))
	if tallies != "2 2, 1 1" {
		t.Errorf("got tallies %s, want 2 2, 1 1", tallies)
	}
}

// insert stores a prediction in one transaction. It waits if another transaction holds the agent's
// tally, and doesn't check whether the market is open. It may run concurrently.
func (w *world) insert(agent uuid.UUID, m *market.Market) error {
	return w.db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error { return w.add(ctx, tx, agent, m) })
}

func (w *world) add(ctx context.Context, tx bun.Tx, agent uuid.UUID, m *market.Market) error {
	at, outcome := database.Stored(w.clock), 0
	return prediction.Store{}.Insert(ctx, tx, &prediction.Prediction{
		ID: database.NewID(at), AgentID: agent, Title: "t", Thesis: "t", Confidence: .7, HorizonAt: at, Category: "general",
		Evidence: []prediction.Evidence{}, MarketID: m.ID, Outcome: m.Outcomes[0], OutcomeIndex: &outcome, EventKey: m.EventKey(),
		MarketCategory: m.Category, ScheduledCloseAt: m.ClosesAt, BaselineState: prediction.Pending, Status: prediction.Open, CreatedAt: at,
	})
}

// publishOn publishes a prediction of an agent on each market, in one request.
func publishOn(p *prediction.Publisher, id uuid.UUID, ms ...*market.Market) error {
	confidence := .7
	items := make([]prediction.BatchItem, len(ms))
	for i, m := range ms {
		items[i].Draft = prediction.Draft{
			Thesis: "t", Confidence: &confidence, Category: "general", MarketID: m.ID, Outcome: m.Outcomes[0], Reveal: prediction.RevealNow,
		}
	}
	_, _, err := p.PublishAll(context.Background(), prediction.BatchSubmission{
		Agent: agent.Agent{ID: id}, Items: items,
		Render: func(list []prediction.ItemOutcome) (_ []byte, err error) {
			for _, o := range list {
				err = errors.Join(err, o.Err)
			}
			return nil, err
		},
	})
	return err
}

// TestWorkersAndPublishersTogether runs eight workers that fix baselines and settle the markets of
// the same agents, each in a different order, while the agents publish on two nodes. Four of them
// begin to count in consensus, so workers and publishers change the consensus of the same markets.
// Some predictions are stored when their market has settled, as if their transaction had begun
// before. There must be no deadlock, every prediction must be decided once and in order, and a
// rebuild must find no difference.
func TestWorkersAndPublishersTogether(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		var agents []uuid.UUID
		for n := range 11 {
			agents = append(agents, w.agent(n+1))
		}
		newcomers := agents[7:]
		w.clock = start.Add(-4 * time.Hour)
		for _, id := range newcomers {
			w.settleEvents(w.service(0), id, ConsensusEvents-1)
		}
		ms := populate(w, w.service(0), 5)
		for _, id := range newcomers {
			w.trade(w.service(0), ms[5], id, .5, .3)
		}
		w.clock = w.clock.Truncate(time.Minute).Add(time.Minute)
		open := []*market.Market{
			w.market("900", "e0", "sports", start.AddDate(0, 0, 1)), w.market("901", "", "politics", start.AddDate(0, 0, 1)),
		}
		open[0].Prices, open[1].Prices = []float64{.4, .6}, []float64{.7, .3}
		w.tick(w.service(0), open...)
		for i := range 77 {
			w.clock = w.clock.Add(100 * time.Millisecond)
			w.publish(agents[i%11], open[i%2], i/2%2, float64(i)/100)
		}
		w.clock = w.clock.Truncate(time.Minute).Add(time.Minute)
		for i := range ms {
			settleAs(w, ms, i)
		}
		observed := w.observe(append(ms, open...)...)

		var all sync.WaitGroup
		report := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		for n := range 8 {
			s, order := w.service(3+n), w.perm(len(observed))[:8]
			all.Go(func() {
				for _, i := range order {
					report(s.AfterMarkets(context.Background(), observed[i:i+1]))
				}
			})
		}
		nodes := make([]*prediction.Publisher, 2)
		for n := range nodes {
			p := prediction.NewPublisher(db, func() time.Time { return w.clock }, time.Hour, "https://pulse.example")
			nodes[n] = p
			for k := range 3 {
				all.Go(func() {
					for i := range 12 {
						report(publishOn(p, agents[(3*n+5*k+i)%11], open[i%2], open[(i+k)%2]))
					}
				})
			}
			all.Go(func() {
				for i := range 12 {
					report(w.insert(agents[(n+i)%11], ms[i%len(ms)]))
				}
			})
		}
		all.Wait()
		for _, p := range nodes {
			report(p.Stop(t.Context()))
		}

		w.clock = w.clock.Add(20 * time.Minute)
		w.must(w.service(0).AfterMarkets(context.Background(), w.observe(append(ms, open...)...)))
		checkNaively(w)
		w.rebuilt()
		counts, err := CountInConsensus(t.Context(), db, newcomers)
		w.must(err)
		for _, id := range newcomers {
			if !counts[id] {
				t.Errorf("agent %s doesn't count in consensus yet", id)
			}
		}
		var published, wrong int
		w.must(db.NewRaw("SELECT count(*) FROM predictions WHERE market_id IN ('900', '901')").Scan(t.Context(), &published))
		if published != 77+2*3*12*2 {
			t.Errorf("%d predictions on the open markets, want %d", published, 77+2*3*12*2)
		}
		w.must(db.NewRaw(`SELECT count(*) FROM prediction_records WHERE (market_id IN ('900', '901')) <> (status = 'open') AND market_id IS NOT NULL
			OR baseline_state = 'pending'`).Scan(t.Context(), &wrong))
		if wrong > 0 {
			t.Errorf("%d predictions have the wrong status", wrong)
		}
	})
}

// TestRulingDuringSettlement checks that an admin's ruling between two steps of a market's
// settlement decides all its predictions.
func TestRulingDuringSettlement(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, outcome string
		want          string
	}{
		"corrected": {KindMarketCorrected, "No", "resolved No 8"},
		"void":      {KindMarketVoided, "", "void  8"},
	} {
		// The first five steps move predictions, the sixth moves reference rows and the last marks the outcome
		// applied.
		for _, after := range []int{1, 4, 6} {
			t.Run(fmt.Sprint(name, " after ", after), func(t *testing.T) {
				t.Parallel()
				dbtest.Each(t, func(t *testing.T, db *database.DB) {
					w := newWorld(t, db)
					m := w.closing("1", "", 1, 8)
					s, left := w.service(2), after
					observed := w.observe(m)
					s.afterChunk = func() error {
						if left--; left != 0 {
							return nil
						}
						_, err := w.service(3).Rule(context.Background(), c.kind, m.ID, Ruling{Outcome: c.outcome, Note: "so it was", Actor: "ada"})
						return err
					}
					w.must(s.AfterMarkets(t.Context(), observed))
					if left > 0 {
						t.Fatalf("no ruling was made: %d steps too few", left)
					}
					var got string
					w.must(db.NewRaw(`SELECT status || ' ' || COALESCE(resolution_outcome, '') || ' ' || count(*) FROM prediction_records
						GROUP BY status, resolution_outcome`).Scan(t.Context(), &got))
					if got != c.want {
						t.Errorf("got %s, want %s", got, c.want)
					}
					if o, err := loadOutcome(t.Context(), db, m.ID); err != nil || !o.Applied || o.Revision != 2 {
						t.Errorf("outcome %s, applied %t, revision %d, %v", o, o.Applied, o.Revision, err)
					}
					w.rebuilt()
				})
			})
		}
	}
}

// TestRulingOnPredictionOfAChunk checks that a ruling on a prediction waits for the chunk that
// moves it, and that a chunk waits for a ruling.
func TestRulingOnPredictionOfAChunk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.Postgres))
	m := w.closing("1", "", 1, 4)
	var ids []uuid.UUID
	w.must(w.db.NewRaw("SELECT id FROM predictions ORDER BY id").Scan(t.Context(), &ids))
	void := func(id uuid.UUID) func() error {
		return func() error {
			_, err := w.service(0).Rule(context.Background(), KindPredictionVoided, id.String(), Ruling{Note: "spam", Actor: "ada"})
			return err
		}
	}
	s := w.service(2)
	release := holdChunk(w, s, m)
	wait := background(void(ids[0]))
	w.waiting(1)
	w.must(release())
	w.must(wait())
	if got, want := w.ledger(ids[0]), "0 score 1 Yes -56\n1 reversal 1 Yes 56\n"; got != want {
		t.Errorf("ledger:\n%swant:\n%s", got, want)
	}

	held := hold(w, s.inLedger, func(ctx context.Context, tx bun.Tx) error {
		p, err := s.checkVoidPrediction(ids[3])(ctx, tx, Ruling{Note: "spam", Actor: "ada"}, lockItems)
		if err != nil {
			return err
		}
		return s.movePrediction(ctx, tx, p)
	})
	wait = background(func() error { return s.AfterMarkets(context.Background(), nil) })
	w.waiting(1)
	w.must(held())
	w.must(wait())
	if got := w.ledger(ids[3]); got != "" {
		t.Errorf("a void prediction has ledger entries:\n%s", got)
	}
	if n := w.settled(); n != 2 {
		t.Errorf("%d predictions settled, want the 2 without a ruling", n)
	}
	w.rebuilt()
}

// TestAdminsRuleAtOnce checks that when admins make the same ruling at once, one succeeds and the
// others are refused.
func TestAdminsRuleAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		m := w.closing("1", "", 1, 3)
		var all sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			all.Go(func() {
				_, errs[i] = w.service(0).Rule(context.Background(), KindMarketCorrected, m.ID, Ruling{Outcome: "No", Note: "seen", Actor: "ada"})
			})
		}
		all.Wait()
		refused := 0
		for _, err := range errs {
			var p *problem.Error
			switch {
			case err == nil:
			case errors.As(err, &p) && p.Code == problem.CodeAlreadySettled.Name:
				refused++
			default:
				t.Error(err)
			}
		}
		if refused != len(errs)-1 {
			t.Errorf("%d of %d refused, want all but one", refused, len(errs))
		}
		if list, _, err := Corrections(t.Context(), db, CorrectionFilter{Limit: 10}); err != nil || len(list) != 1 {
			t.Errorf("got %d corrections (error %v), want 1", len(list), err)
		}
		w.rebuilt()
	})
}

// TestRebuildCountsWithoutTheWriter checks that a rebuild that finds no wrong count of a market or an event takes no
// connection that writes, because counting all predictions and clusters can take seconds. On SQLite there is only one.
func TestRebuildCountsWithoutTheWriter(t *testing.T) {
	t.Parallel()
	w := newWorld(t, dbtest.Open(t, database.SQLite))
	s := w.service(0)
	w.experience(s, w.agent(1))
	w.rebuilt()
	tx, err := w.db.BeginTx(t.Context(), nil)
	w.must(err)
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	var report RebuildReport
	for name, rebuild := range map[string]func(context.Context, bool, *RebuildReport) error{
		"markets": s.rebuildCounts, "events": s.rebuildEvents,
	} {
		if err := rebuild(ctx, false, &report); err != nil {
			t.Errorf("%s: while another transaction writes: %v", name, err)
		}
	}
	if len(report.Differences) > 0 {
		t.Errorf("differences: %v, want none", report.Differences)
	}
}

// TestRebuildsAFewPredictionsAtATime checks that one transaction of a rebuild takes no more agents than have a
// bounded number of predictions together, but always one.
func TestRebuildsAFewPredictionsAtATime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		totals []int
		want   int
	}{
		{[]int{0, 0, 0}, 3},
		{[]int{rebuildRows - 1, 1, 0, 1}, 3},
		{[]int{rebuildRows, 1}, 1},
		{[]int{10 * rebuildRows, 0}, 1},
		{[]int{1, 10 * rebuildRows}, 1},
	} {
		t.Run(fmt.Sprint(c.totals), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, dbtest.Open(t, database.SQLite))
			var agents []uuid.UUID
			for i, total := range c.totals {
				agents = append(agents, w.agent(i+1))
				if total == 0 {
					continue // it has no tally
				}
				_, err := w.db.NewRaw(`INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days)
					VALUES (?, ?, 0, 0, 0, 0)`, agents[i], total).Exec(t.Context())
				w.must(err)
			}
			some, err := w.service(0).atMostRows(t.Context(), agents)
			if err != nil || len(some) != c.want {
				t.Errorf("%d agents, %v; want %d", len(some), err, c.want)
			}
		})
	}
}
