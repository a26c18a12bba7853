package leaderboard_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	identity "github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// count runs a new ConsensusCounter until the stored consensus is up to date.
func (w *world) count() {
	w.t.Helper()
	if err := leaderboard.NewConsensusCounter(w.db, w.clock.now).CountAll(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) consensus(markets ...string) map[string]prediction.Consensus {
	w.t.Helper()
	found, err := prediction.Store{}.Consensus(w.t.Context(), w.db, markets)
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// counts gives agents enough settled events to count in a consensus. The events are on a day that
// no board shows, so the agents have no skill.
func (w *world) counts(ids ...uuid.UUID) {
	w.t.Helper()
	for _, id := range ids {
		w.exec(`INSERT INTO agent_days (agent_id, category, day, clusters, cluster_sum) VALUES (?, '', '2030-01-01', ?, 0)`,
			id, settlement.ConsensusEvents)
	}
}

// asComputed fails the test if a stored consensus differs from a new count and is not marked as
// changed.
func (w *world) asComputed(id string) prediction.Consensus {
	w.t.Helper()
	stored := w.consensus(id)[id]
	fresh, err := leaderboard.CountAgain(w.t.Context(), w.db, []prediction.Consensus{stored})
	if err != nil {
		w.t.Fatal(err)
	}
	if got, want := words(stored), words(fresh[0]); stored.Changed || got != want {
		w.t.Errorf("%s is stored as %s (changed: %t), want %s", id, got, stored.Changed, want)
	}
	return stored
}

func words(c prediction.Consensus) string {
	show := func(p *float64) string {
		if p == nil {
			return "none"
		}
		return fmt.Sprintf("%.4f", *p)
	}
	return fmt.Sprintf("%d of %d (%d others), %s %s, %s", c.Agents, c.Predictions, c.Others, c.Outcome, show(c.Median), show(c.Weighted))
}

// publish stores an open prediction without a baseline and marks its market's consensus as changed.
func (w *world) publish(agent uuid.UUID, marketID string, outcome int, p float64) uuid.UUID {
	w.clock.move(time.Second)
	at := database.Stored(w.clock.now())
	x := &prediction.Prediction{ID: database.NewID(at), AgentID: agent, Title: "t", Thesis: "t", Confidence: p, HorizonAt: at,
		Category: "sport", Evidence: []prediction.Evidence{}, MarketID: marketID, Outcome: []string{"Yes", "No"}[outcome],
		OutcomeIndex: &outcome, EventKey: "m:" + marketID, BaselineState: prediction.Missed, Status: prediction.Open, CreatedAt: at}
	w.inTx(func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, x) })
	return x.ID
}

func (w *world) inTx(f func(ctx context.Context, tx bun.Tx) error) {
	if err := w.db.InTx(context.WithoutCancel(w.t.Context()), f); err != nil {
		w.t.Error(err)
	}
}

// observe stores a market and runs settlement.
func (w *world) observe(id string, closed bool, prices ...float64) {
	w.t.Helper()
	w.clock.move(time.Minute)
	now := w.clock.now()
	markets, err := market.Store{}.ByIDs(w.t.Context(), w.db, []string{id})
	if err != nil {
		w.t.Fatal(err)
	}
	m := markets[0]
	m.Closed, m.Active, m.Prices, m.ObservedAt, m.ClosedAt, m.Resolution = closed, !closed, prices, now, time.Time{}, ""
	if closed {
		m.ClosedAt, m.Resolution = now, "resolved"
	}
	w.inTx(func(ctx context.Context, tx bun.Tx) error {
		return market.Store{}.Observe(ctx, tx, []market.Market{m})
	})
	s := settlement.New(settlement.Options{DB: w.db, Now: w.clock.now})
	if err := s.AfterMarkets(w.t.Context(), []market.Market{m}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) disable(id uuid.UUID, to identity.Status) {
	w.inTx(func(ctx context.Context, tx bun.Tx) error {
		if _, err := (identity.Store{}).SetStatus(ctx, tx, id, to, w.clock.now()); err != nil {
			return err
		}
		return prediction.AgentsChanged(ctx, tx, []uuid.UUID{id})
	})
}

// TestConsensusFollows checks that every change of agents, predictions or markets shows in the
// stored consensus after the next count.
func TestConsensusFollows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b, c := w.agent(agent{handle: "a", days: 1}), w.agent(agent{handle: "b", days: 1}), w.agent(agent{handle: "c", days: 1})
		w.days(a, "sport", "2026-11-01", 40, 3)
		w.counts(b, c)
		w.market("m", "", "sport", nil, 0.5, 0.5)
		w.tick()
		var second uuid.UUID
		none := math.NaN()
		for _, step := range []struct {
			name        string
			do          func()
			agents      int
			predictions int64
			median      float64
		}{
			{"first", func() { w.publish(a, "m", 0, .2) }, 1, 1, .2},
			{"another agent", func() { second = w.publish(b, "m", 0, .6) }, 2, 2, .4},
			{"repeat", func() { w.publish(a, "m", 0, .8) }, 2, 3, .7},
			{"other outcome", func() { w.publish(c, "m", 1, .7) }, 3, 4, .6},
			{"hidden", func() {
				w.inTx(func(ctx context.Context, tx bun.Tx) error {
					_, _, err := prediction.Store{}.Hide(ctx, tx, second, true)
					return err
				})
			}, 3, 4, .6},
			{"disabled", func() { w.disable(b, identity.Disabled) }, 2, 4, .55},
			{"enabled", func() { w.disable(b, identity.Active) }, 3, 4, .6},
			{"settled", func() { w.observe("m", true, 1, 0) }, 0, 4, none},
			{"reopened", func() { w.observe("m", false, .5, .5) }, 3, 4, .6},
			{"void", func() { w.observe("m", true, .5, .5) }, 0, 4, none},
			{"reopened again", func() { w.observe("m", false, .5, .5) }, 3, 4, .6},
			{"voided by an admin", func() {
				rules := settlement.New(settlement.Options{DB: w.db, Now: w.clock.now})
				if _, err := rules.Rule(t.Context(), settlement.KindPredictionVoided, second.String(), settlement.Ruling{Note: "spam", Actor: "ada"}); err != nil {
					t.Fatal(err)
				}
			}, 2, 4, .55},
		} {
			step.do()
			w.count()
			got := w.asComputed("m")
			wrong := got.Agents != step.agents || got.Predictions != step.predictions || (got.Median == nil) != math.IsNaN(step.median)
			if wrong || (got.Median != nil && math.Abs(*got.Median-step.median) > 1e-9) {
				t.Errorf("%s: %s; want %d of %d, median %v", step.name, words(got), step.agents, step.predictions, step.median)
			}
		}
	})
}

// TestOvertakenCount checks that a count that fails, or that stores an outdated result, leaves the
// market marked as changed.
func TestOvertakenCount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b := w.agent(agent{handle: "a", days: 1}), w.agent(agent{handle: "b", days: 1})
		take := func() []prediction.Consensus {
			t.Helper()
			rows, err := prediction.TakeChanged(t.Context(), db, "", 10, w.clock.now())
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		save := func(rows []prediction.Consensus) {
			rows[0].Agents = 99
			w.inTx(func(ctx context.Context, tx bun.Tx) error { return prediction.SaveConsensus(ctx, tx, rows) })
		}
		for name, during := range map[string]func(id string){
			"stop":                   func(string) { take() },
			"publish during a count": func(id string) { rows := take(); w.publish(b, id, 0, .9); save(rows) },
			"settlement during a count": func(id string) {
				rows := take()
				w.inTx(func(ctx context.Context, tx bun.Tx) error { return prediction.ConsensusChanged(ctx, tx, id) })
				save(rows)
			},
			"second node counts later":    func(string) { rows := take(); w.clock.move(time.Second); take(); save(rows) },
			"second node counts between":  func(string) { rows := take(); w.count(); save(rows) },
			"second node takes meanwhile": func(id string) { rows := take(); w.publish(b, id, 0, .9); take(); save(rows) },
		} {
			w.market(name, "", "sport", nil, 0.5, 0.5)
			w.publish(a, name, 0, .3)
			during(name)
			w.count()
			if got := w.asComputed(name); got.Agents > 2 {
				t.Errorf("%s: %s", name, words(got))
			}
		}
	})
}

// TestTwoNodesCount checks that every market is counted when two Counters and several publishers
// run at once.
func TestTwoNodesCount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		var agents []uuid.UUID
		for i := range 4 {
			agents = append(agents, w.agent(agent{handle: fmt.Sprint("agent-", i), days: 1}))
		}
		const markets = 60 // more than one chunk
		for i := range markets {
			w.market(fmt.Sprint("m", i), "", "sport", nil, 0.5, 0.5)
		}
		var publishing, counting sync.WaitGroup
		for i, id := range agents {
			publishing.Go(func() {
				for n := range 2 * markets {
					w.publish(id, fmt.Sprint("m", n*(i+1)%markets), n%2, float64(n%9+1)/10)
				}
			})
		}
		published := make(chan struct{})
		go func() { publishing.Wait(); close(published) }()
		for range 2 {
			counting.Go(func() {
				counter := leaderboard.NewConsensusCounter(db, w.clock.now)
				for over := false; !over; {
					select {
					case <-published:
						over = true
					default:
					}
					if _, err := counter.Tick(context.WithoutCancel(t.Context())); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		counting.Wait()
		w.count()
		total := int64(0)
		for i := range markets {
			if id := fmt.Sprint("m", i); w.consensus(id)[id].Predictions > 0 {
				total += w.asComputed(id).Predictions
			}
		}
		if want := int64(len(agents) * 2 * markets); total != want {
			t.Errorf("%d predictions counted, want %d", total, want)
		}
	})
}

// TestOldConsensusIsRefreshed checks that a consensus is counted again after an hour, or if it was counted while a clock
// was ahead. New boards change the agents' weights without marking any market as changed.
func TestOldConsensusIsRefreshed(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b := w.agent(agent{handle: "a", days: 20}), w.agent(agent{handle: "b", days: 20})
		w.counts(a, b)
		w.market("m", "", "sport", nil, 0.5, 0.5)
		w.publish(a, "m", 0, .2)
		w.publish(b, "m", 0, .6)
		w.count()
		before := words(w.asComputed("m"))
		watcher := generation.NewWatcher(db.Reader, slog.New(slog.DiscardHandler))
		moved := func() bool {
			t.Helper()
			was := *watcher.Stamp()
			if err := watcher.Check(t.Context()); err != nil {
				t.Fatal(err)
			}
			return was[generation.Consensus] != watcher.Stamp()[generation.Consensus]
		}
		moved()
		w.days(a, "sport", "2026-11-01", 40, 9)
		w.tick()
		w.count()
		if now := words(w.consensus("m")["m"]); now != before || moved() {
			t.Errorf("at once: %s, want %s still", now, before)
		}
		w.clock.move(2 * time.Hour)
		w.count()
		if now := words(w.asComputed("m")); now == before || !moved() {
			t.Errorf("after two hours: still %s", now)
		}
		w.clock.move(2 * time.Hour)
		w.count()
		if w.asComputed("m"); moved() {
			t.Error("a count that changed nothing moved the generation")
		}
		w.clock.move(72 * time.Hour)
		w.count()
		ahead := words(w.asComputed("m"))
		w.clock.move(-72 * time.Hour)
		w.days(b, "sport", "2026-11-01", 40, 9)
		if err := w.builder.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.count()
		if now := words(w.asComputed("m")); now == ahead {
			t.Errorf("after the clock was set back: still %s", now)
		}
	})
}

// TestRecountMarkets checks that a rebuild finds wrong and missing counts.
func TestRecountMarkets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a := w.agent(agent{handle: "a", days: 1})
		for _, id := range []string{"right", "wrong", "missing", "none"} {
			w.market(id, "", "sport", nil, 0.5, 0.5)
		}
		for _, id := range []string{"right", "wrong", "wrong", "missing"} {
			w.publish(a, id, 0, .5)
		}
		w.exec("UPDATE market_consensus SET predictions = 7, agents = 9, changed = FALSE WHERE market_id = 'wrong'")
		w.exec("DELETE FROM market_consensus WHERE market_id = 'missing'")
		s := settlement.New(settlement.Options{DB: db, Now: w.clock.now})
		for _, round := range []struct {
			replace bool
			want    []string
		}{{false, []string{"missing 0 1", "wrong 7 2"}}, {true, []string{"missing 0 1", "wrong 7 2"}}, {true, nil}} {
			report, err := s.Rebuild(t.Context(), round.replace)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range report.Differences {
				if d.What == settlement.ComparedCounts {
					got = append(got, d.Key+" "+d.Have+" "+d.Want)
				}
			}
			if !slices.Equal(got, round.want) {
				t.Errorf("replace %t: %q, want %q", round.replace, got, round.want)
			}
		}
		w.counts(a)
		w.count()
		for id, want := range map[string]string{"right": "1 of 1", "wrong": "1 of 2", "missing": "1 of 1"} {
			if got := words(w.asComputed(id)); got[:6] != want {
				t.Errorf("%s: %s, want %s", id, got, want)
			}
		}
	})
}

// TestRecountWhileOthersWrite checks that a wrong count is corrected exactly although a prediction is published, or
// another rebuild corrects the count, between the count and the correction.
func TestRecountWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a := w.agent(agent{handle: "a", days: 1})
		w.market("m", "", "sport", nil, 0.5, 0.5)
		w.publish(a, "m", 0, .5)
		recount := func() {
			t.Helper()
			if _, err := prediction.RecountMarkets(t.Context(), db, "", 100, true); err != nil {
				t.Fatal(err)
			}
		}
		counted := &afterQuery{text: "AS want"}
		db.Watch(counted)
		for i, meanwhile := range []func(){recount, func() { w.publish(a, "m", 0, .6) }} {
			w.exec("UPDATE market_consensus SET predictions = 7")
			counted.once = sync.Once{}
			counted.then = func(context.Context) { counted.then = nil; meanwhile() }
			recount()
			if c := w.consensus("m")["m"]; counted.then != nil || c.Predictions != int64(i+1) {
				t.Errorf("case %d: %d predictions are stored, want %d", i, c.Predictions, i+1)
			}
		}
	})
}

// TestFortyFreshKeys checks that forty new agents change no consensus and push no earlier agent out
// of it, even if they publish and withhold more predictions than a count reads.
func TestFortyFreshKeys(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		a, b := w.agent(agent{handle: "a", days: 1}), w.agent(agent{handle: "b", days: 1})
		w.counts(a, b)
		w.market("m", "", "sport", nil, 0.5, 0.5)
		w.publish(a, "m", 0, .2)
		w.publish(b, "m", 0, .4)
		w.count()
		before := w.asComputed("m")
		fresh := make([]uuid.UUID, 40)
		for i := range fresh {
			fresh[i] = w.agent(agent{handle: fmt.Sprint("fresh-", i)})
		}
		for _, id := range fresh {
			for range 6 {
				w.publish(id, "m", 0, .99)
			}
		}
		w.exec("UPDATE predictions SET newcomer = TRUE, unrevealed = id <> (SELECT p.id FROM predictions AS p WHERE p.agent_id = predictions.agent_id ORDER BY p.id DESC LIMIT 1) WHERE confidence = 0.99")
		w.exec("UPDATE results SET newcomer = TRUE WHERE agent_id NOT IN (?, ?)", a, b)
		w.count()
		after := w.asComputed("m")
		if after.Agents != 2 || after.Others != len(fresh) || *after.Median != *before.Median || *after.Weighted != *before.Weighted {
			t.Errorf("%s, want the consensus as before: %s", words(after), words(before))
		}
		w.counts(fresh[0])
		w.inTx(func(ctx context.Context, tx bun.Tx) error { return prediction.AgentsChanged(ctx, tx, fresh[:1]) })
		w.count()
		if now := w.asComputed("m"); now.Agents != 3 || now.Others != len(fresh)-1 || *now.Median != .4 {
			t.Errorf("once one of them counts: %s", words(now))
		}
	})
}

// TestReadsOfBusyMarkets checks that what a market's page reads costs the same however many
// predictions are on the market.
func TestReadsOfBusyMarkets(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			a := w.agent(agent{handle: "a", days: 1})
			w.market("m", "", "sport", nil, 0.5, 0.5)
			asked := assignment.Draft{MarketID: "m", DueAt: start.Add(48 * time.Hour)}
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, err := assignment.Store{}.Create(ctx, tx, asked, start)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			reads := map[string]func(db bun.IDB) error{
				"opinions": func(db bun.IDB) error {
					_, err := prediction.Opinions(t.Context(), db, []string{"m"})
					return err
				},
				"consensus": func(db bun.IDB) error {
					_, err := prediction.Store{}.Consensus(t.Context(), db, []string{"m"})
					return err
				},
				"predictions": func(db bun.IDB) error {
					_, _, err := prediction.Store{}.List(t.Context(), db, prediction.Filter{MarketID: "m", Limit: 5})
					return err
				},
				"assignments": func(db bun.IDB) error {
					list, _, err := assignment.Store{}.List(t.Context(), db, assignment.Filter{Limit: 24, AgentID: a}, start.Add(time.Hour))
					if len(list) != 1 || !list[0].Done {
						t.Errorf("assignments: %+v", list)
					}
					return err
				},
			}
			rows := map[string]int64{}
			for _, size := range []int{10, 10_000} {
				w.fill(a, "m", size)
				if kind == database.Postgres {
					w.exec("ANALYZE")
				}
				for name, read := range reads {
					queries := dbtest.Explain(t, db, func(db *database.DB) {
						if err := read(db.Reader); err != nil {
							t.Error(err)
						}
					})
					n := dbtest.TouchedRows(queries)
					if before, known := rows[name]; known && n > before {
						t.Errorf("%s: %d rows read of %d predictions, %d of 10", name, n, size, before)
					}
					rows[name] = n
					for _, q := range queries {
						if len(q.Unbounded) > 0 {
							t.Errorf("%s: %q in %s", name, q.Unbounded, q.Query)
						}
					}
				}
			}
		})
	}
}

// TestOpinionsOfManyAgents checks that the opinions on a market cost the same however many predictions its agents
// have made there, also while Postgres's statistics are from a time before the first.
func TestOpinionsOfManyAgents(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			w.market("m", "", "sport", nil, 0.5, 0.5)
			var agents []uuid.UUID
			for i := range 40 {
				agents = append(agents, w.agent(agent{handle: fmt.Sprint("agent", i), days: 1}))
				other := fmt.Sprint("other", i)
				w.market(other, "", "sport", nil, 0.5, 0.5)
				w.fill(agents[i], other, 8)
			}
			w.exec("ANALYZE")
			var rows []int64
			published := 0
			for _, each := range []int{20, 100} {
				for _, id := range agents {
					published += each
					w.fill(id, "m", published)
				}
				queries := dbtest.Explain(t, db, func(db *database.DB) {
					list, err := prediction.Opinions(t.Context(), db.Reader, []string{"m"})
					if err != nil || len(list) < 10*len(agents) {
						t.Errorf("%d opinions, %v", len(list), err)
					}
				})
				rows = append(rows, dbtest.TouchedRows(queries))
			}
			if rows[1] > rows[0] {
				t.Errorf("%d rows read once the agents have made %d predictions, %d before", rows[1], published, rows[0])
			}
		})
	}
}

// fill publishes on a market until it has the given number of predictions.
func (w *world) fill(agent uuid.UUID, marketID string, size int) {
	w.t.Helper()
	var have int
	if err := w.db.QueryRowContext(w.t.Context(), "SELECT COUNT(*) FROM predictions WHERE market_id = ?", marketID).Scan(&have); err != nil {
		w.t.Fatal(err)
	}
	outcome := 0
	var list []prediction.Prediction
	for ; have < size; have++ {
		w.clock.move(time.Second)
		at := w.clock.now()
		list = append(list, prediction.Prediction{ID: database.NewID(at), AgentID: agent, Title: "t", Thesis: "t",
			Confidence: .5, HorizonAt: at, Category: "sport", Evidence: []prediction.Evidence{}, MarketID: marketID, Outcome: "Yes",
			OutcomeIndex: &outcome, EventKey: "m:" + marketID, BaselineState: prediction.Missed, Status: prediction.Open, CreatedAt: at})
	}
	w.inTx(func(ctx context.Context, tx bun.Tx) error {
		shared := []string{"id", "agent_id", "market_id", "horizon_at", "sample", "created_at"}
		for chunk := range slices.Chunk(list, 1000) {
			for _, row := range [][]string{
				{"predictions", "title", "thesis", "confidence", "category", "model", "evidence", "outcome", "outcome_index", "event_key", "hidden"},
				{"results", "baseline_state", "status"},
			} {
				columns := append(row[1:], shared...)
				if _, err := tx.NewInsert().Model(&chunk).ModelTableExpr(row[0]).Column(columns...).Exec(ctx); err != nil {
					return err
				}
			}
		}
		return prediction.CountOnMarkets(ctx, tx, map[string]int64{marketID: int64(len(list))})
	})
}

func TestConsensus(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		skilled, fresh, third, off := w.agent(agent{handle: "a", days: 14}), w.agent(agent{handle: "b", days: 1}), w.agent(agent{handle: "c", days: 1}), w.agent(agent{handle: "d", days: 1})
		w.days(skilled, "sport", "2026-11-01", 40, 3)
		w.counts(fresh, third, off)
		w.exec("UPDATE agents SET status = 'disabled' WHERE id = ?", off)
		w.market("yes", "", "sport", nil, 0.5, 0.5)
		w.market("team", "", "sport", []string{"Red", "Blue"}, 0.5, 0.5)
		w.market("three", "", "sport", []string{"X", "Y", "Z"}, 0.3, 0.3, 0.4)
		w.market("empty", "", "sport", nil, 0.5, 0.5)
		w.tick()
		w.record(
			forecast{agent: skilled, market: "yes", p: 0.1, q: 0.5, y: -1, hours: 9, day: "2026-12-01"}, // replaced
			forecast{agent: skilled, market: "yes", p: 0.8, q: 0.5, y: -1, hours: 8, day: "2026-12-01"},
			forecast{agent: fresh, market: "yes", p: 0.3, q: -1, y: -1, hours: 7, day: "2026-12-01"},
			forecast{agent: third, market: "yes", outcome: 1, p: 0.4, q: 0.5, y: -1, hours: 6, day: "2026-12-01"}, // Yes .6
			forecast{agent: off, market: "yes", p: 0.01, q: 0.5, y: -1, hours: 6, day: "2026-12-01"},
			forecast{agent: fresh, market: "team", p: 0.2, q: 0.5, y: -1, hours: 6, day: "2026-12-01"},
			forecast{agent: third, market: "team", p: 0.4, q: 0.5, y: -1, hours: 6, day: "2026-12-01"},
			forecast{agent: third, market: "three", outcome: 1, p: 0.4, q: 0.5, y: -1, hours: 6, day: "2026-12-01"},
			forecast{agent: skilled, market: "three", p: 0.4, q: 0.5, y: 1, hours: 6, day: "2026-11-02"},
		)
		w.count()
		got := w.consensus("yes", "team", "three", "empty", "unknown")
		if len(got) != 3 {
			t.Fatalf("%+v", got)
		}
		if c := got["yes"]; c.Predictions != 5 || c.Changed || c.Agents != 3 || c.Outcome != "Yes" || math.Abs(*c.Median-0.6) > 1e-12 || math.Abs(*c.Weighted-0.8) > 1e-9 {
			t.Errorf("yes: %+v, median %v, weighted %v", c, *c.Median, *c.Weighted)
		}
		if c := got["team"]; c.Agents != 2 || c.Outcome != "Red" || math.Abs(*c.Median-0.3) > 1e-12 {
			t.Errorf("team: %+v", c)
		}
		if c := got["three"]; c.Predictions != 2 || c.Agents != 0 || c.Median != nil || c.Weighted != nil || c.Outcome != "X" {
			t.Errorf("three: %+v", c)
		}
	})
}
