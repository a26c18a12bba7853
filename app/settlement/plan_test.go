package settlement

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// queries records the queries sent to the database.
type queries struct{ asked []string }

func (q *queries) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	q.asked = append(q.asked, e.Query)
	return ctx
}

func (q *queries) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestPendingIsReadOnce checks that a run looks only once for the predictions that wait for a baseline, however many chunks
// it takes, that the chunks find their predictions by key, and that nothing touches predictions too young to be decided.
// It runs at each reading of the markets.
func TestPendingIsReadOnce(t *testing.T) {
	t.Parallel()
	var seen queries
	db := dbtest.OpenPlain(t, database.SQLite)
	db.Watch(&seen)
	w := newWorld(t, db)
	m, ruled := w.market("1", "e1", "politics", start), w.market("2", "e2", "politics", start)
	old, young := make([]uuid.UUID, 5), make([]uuid.UUID, 4)
	for i := range old {
		old[i] = w.publish(w.agent(i), m, 0, .5)
	}
	w.clock = w.clock.Add(time.Hour)
	for i := range young {
		young[i] = w.publish(w.agent(10+i), m, 0, .5)
	}
	closed := w.publish(w.agent(20), ruled, 0, .5)
	closeWith(ruled, w.clock, 1, 0)
	w.observe(ruled)
	seen.asked = nil
	s := w.service(2)
	s.listed = len(old) + 2
	w.must(s.FixBaselines(t.Context(), m.ID))
	w.must(s.FixBaselines(t.Context()))
	looked := 0
	for _, query := range seen.asked {
		for _, id := range young {
			if strings.Contains(query, id.String()) {
				t.Errorf("touches a young prediction: %s", query)
			}
		}
		if verb, _, _ := strings.Cut(query, " "); verb != "SELECT" && verb != "WITH" && verb != "UPDATE" {
			continue
		}
		var steps []struct {
			ID, Parent, Notused int64
			Detail              string
		}
		w.must(db.Reader.NewRaw("EXPLAIN QUERY PLAN ?", bun.Safe(query)).Scan(t.Context(), &steps))
		plan := fmt.Sprint(steps)
		if strings.Contains(plan, "INDEX results_pending") {
			looked++
			if !strings.Contains(plan, "results_pending (market_id=? AND created_at<?)") || strings.Contains(plan, "predictions_by_event") {
				t.Errorf("%s\nreads more than the predictions to decide: %s", query, plan)
			}
		}
		for _, s := range steps {
			if s.Detail == "SCAN s" || s.Detail == "SCAN p" || strings.HasPrefix(s.Detail, "SCAN s USING") {
				t.Errorf("%s\nreads a whole table or index: %s", query, plan)
			}
		}
	}
	if looked != 2 {
		t.Errorf("looked %d times for pending predictions, want once in each of the two runs", looked)
	}
	for _, id := range append(old, closed) {
		if p := w.prediction(id); p.BaselineState != prediction.Missed {
			t.Errorf("the baseline of prediction %s is %s, want missed", id, p.BaselineState)
		}
	}
}

// TestPreviewOnlyReads checks that a preview of a ruling neither takes the only writer of SQLite nor locks rows.
func TestPreviewOnlyReads(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		m := w.market("1", "", "x", start)
		linked := w.trade(w.service(0), m, w.agent(1), .6, .7)
		unlinked := w.publish(w.agent(2), nil, 0, .7)
		w.clock = w.clock.Add(72 * time.Hour)
		var written, read queries
		watched := *db
		watched.DB, watched.Reader = db.DB.WithQueryHook(&written), db.Reader.WithQueryHook(&read)
		s := New(Options{DB: &watched, Now: func() time.Time { return w.clock }})
		for _, c := range []struct{ kind, target, outcome string }{
			{KindMarketCorrected, m.ID, "Yes"}, {KindMarketVoided, m.ID, ""},
			{KindPredictionVoided, linked.String(), ""}, {KindPredictionSettled, unlinked.String(), "Yes"},
		} {
			read.asked = nil
			if change, err := s.Preview(t.Context(), c.kind, c.target, Ruling{Outcome: c.outcome}); err != nil || change.Open != 1 {
				t.Errorf("%s: %+v, %v; want a change of one open prediction", c.kind, change, err)
			}
			if len(written.asked) > 0 {
				t.Fatalf("%s: queries of the writer: %q", c.kind, written.asked)
			}
			if len(read.asked) == 0 {
				t.Errorf("%s: no query", c.kind)
			}
			for _, query := range read.asked {
				if strings.Contains(query, "UPDATE") || strings.Contains(query, "lock") {
					t.Errorf("%s locks: %s", c.kind, query)
				}
			}
		}
	})
}

// TestYoungPredictionsAreNotRead checks that the rows read to find the predictions to decide don't depend on the number
// of those too young for it.
func TestYoungPredictionsAreNotRead(t *testing.T) {
	t.Parallel()
	if dbtest.Partitioned() {
		t.Skip("the bounds are those of undivided tables: see docs/scaling.md")
	}
	const decided, young, old = 4_000, 1_000, 30
	for name, analysed := range map[string]bool{"never analysed": false, "analysed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, database.Postgres)
			w := newWorld(t, db)
			w.crowd(decided + young + old)
			w.exec("UPDATE markets SET closed = FALSE")
			w.exec(fmt.Sprintf(`UPDATE results AS r SET baseline_state = 'pending', created_at = CASE WHEN s.n <= %d THEN r.created_at ELSE r.created_at + interval '1 hour' END
				FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM results) AS s WHERE r.id = s.id AND s.n <= %d`, old, old+young))
			if analysed {
				w.exec("VACUUM ANALYZE")
			}
			var keys []prediction.Awaiting
			explained := dbtest.Explain(t, db, func(db *database.DB) {
				var err error
				keys, err = prediction.Store{}.Pending(t.Context(), db.Reader, prediction.PendingFilter{Until: start.Add(30 * time.Minute), Limit: 1000})
				w.must(err)
			})
			if len(keys) != old {
				t.Errorf("found %d predictions, want %d", len(keys), old)
			}
			if n := dbtest.TouchedRows(explained); n > 10*old {
				t.Errorf("read %d rows to find %d predictions: %s", n, old, explained[0].Query)
			}
		})
	}
}

// lookups are the queries over markets that each tick or scrape makes.
func (w *world) lookups(t *testing.T, want int64) map[string]func(*database.DB) {
	return map[string]func(*database.DB){
		"unsettled markets": func(db *database.DB) {
			found, err := New(Options{DB: db, Now: func() time.Time { return w.clock }}).Unsettled(t.Context(), 100)
			if err != nil || int64(len(found)) != want {
				t.Errorf("%d unsettled markets, %v; want %d", len(found), err, want)
			}
		},
		"ruled markets": func(db *database.DB) {
			if found, err := New(Options{DB: db}).ruledOpen(t.Context()); err != nil || len(found) > 0 {
				t.Errorf("ruled markets %v, %v; want none", found, err)
			}
		},
		"waiting markets": func(db *database.DB) {
			found, err := MarketQueue(t.Context(), db.Reader, w.clock)
			if err != nil || found.Count != want {
				t.Errorf("%d waiting markets, %v; want %d", found.Count, err, want)
			}
		},
		"live markets": func(db *database.DB) {
			found, err := prediction.Store{}.LiveMarkets(t.Context(), db.Reader)
			if err != nil || int64(len(found)) != want {
				t.Errorf("%d live markets, %v; want %d", len(found), err, want)
			}
		},
	}
}

// TestTicksDoNotReadThePast checks that the rows which a tick reads to find markets depend on the number of markets with
// open predictions, but not on the number of those predictions or of markets settled long ago.
func TestTicksDoNotReadThePast(t *testing.T) {
	t.Parallel()
	if dbtest.Partitioned() {
		t.Skip("the bounds are those of undivided tables: see docs/scaling.md")
	}
	db := dbtest.OpenPlain(t, database.Postgres)
	w := newWorld(t, db)
	w.crowd(3_000)
	for _, sql := range []string{
		`INSERT INTO markets (id, source, question, title, outcomes, active, closed, scalar, match_key, search_text, first_seen_at, observed_at, sample, description)
			SELECT 'past' || i, 'test', 'q', 'q', '["Yes","No"]', FALSE, TRUE, FALSE, '', '', '2026-01-01', '2026-01-01', FALSE, repeat('How it settles. ', 100) FROM generate_series(1, 3000) AS i`,
		`INSERT INTO market_outcomes (market_id, revision, state, outcomes, outcome_values, source, decided_at, applied)
			SELECT 'past' || i, 1, 'settled', '[]', '[]', 'market', '2026-01-01', TRUE FROM generate_series(1, 3000) AS i`,
		`INSERT INTO reference_predictions (agent_id, market_id, outcome, confidence, baseline, observed_at, event_key, weight_index, status, created_at)
			SELECT '` + FiftyAgent.String() + `', 'past' || i, 'Yes', .5, .5, '2026-01-01', 'past' || i, 0, 'resolved', '2026-01-01' FROM generate_series(1, 3000) AS i`,
		`INSERT INTO reference_predictions (agent_id, market_id, outcome, confidence, baseline, observed_at, event_key, weight_index, status, created_at)
			VALUES ('` + FiftyAgent.String() + `', '1', 'Yes', .5, .5, '2026-01-01', 'e1', 0, 'open', '2026-01-01')`,
		"VACUUM ANALYZE",
	} {
		w.exec(sql)
	}
	for name, look := range w.lookups(t, 1) {
		for _, e := range dbtest.Explain(t, db, look) {
			for table, n := range e.Tables {
				if n > 50 {
					t.Errorf("%s: read %d rows of %s: %s", name, n, table, e.Query)
				}
			}
		}
	}
}

// TestTicksLookMarketsUp checks the plans of the same queries on SQLite. Without statistics, SQLite prefers an index that
// begins with a column of the condition, such as results_status.
func TestTicksLookMarketsUp(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPlain(t, database.SQLite)
	for name, look := range newWorld(t, db).lookups(t, 0) {
		for _, e := range dbtest.Explain(t, db, look) {
			var steps []struct {
				ID, Parent, Notused int64
				Detail              string
			}
			if err := db.Reader.NewRaw("EXPLAIN QUERY PLAN ?", bun.Safe(e.Query)).Scan(t.Context(), &steps); err != nil {
				t.Fatal(err)
			}
			for _, step := range steps {
				what := strings.Fields(step.Detail)
				if strings.Contains(step.Detail, "results_status") || (what[0] == "SCAN" && slices.Contains([]string{"m", "o"}, what[1])) {
					t.Errorf("%s: %s in %s", name, step.Detail, e.Query)
				}
			}
		}
	}
}

// TestChunksReadByKey checks that the rows a chunk reads depend on its predictions and not on the
// tables' sizes. This must hold whatever statistics the planner has: they are missing after a bulk
// load, and outdated on a database that has grown. Tables of a few pages may be scanned.
func TestChunksReadByKey(t *testing.T) {
	t.Parallel()
	if dbtest.Partitioned() {
		t.Skip("the bounds are those of undivided tables: see docs/scaling.md")
	}
	for name, analyse := range map[string]struct{ before, after bool }{
		"never analysed": {}, "analysed while empty": {before: true}, "analysed": {after: true},
	} {
		for _, size := range []int{3_000, 12_000} {
			t.Run(fmt.Sprint(name, " ", size), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, dbtest.Open(t, database.Postgres))
				if analyse.before {
					w.exec("ANALYZE")
				}
				m := &w.crowd(size)[0]
				if analyse.after {
					w.exec("ANALYZE")
				}
				s := w.service(500)
				if changed, err := s.decide(t.Context(), m, m.Verdict(), nil); err != nil || !changed {
					t.Fatal("not decided:", err)
				}
				run := applyRun{service: s, market: m.ID}
				for range 4 {
					w.must(s.inLedger(t.Context(), func(ctx context.Context, tx bun.Tx) error {
						before, err := readRows(ctx, tx)
						if err != nil {
							return err
						}
						if err := run.step(ctx, tx); err != nil {
							return err
						}
						after, err := readRows(ctx, tx)
						for table, n := range after {
							scanned, byIndex := n.scanned-before[table].scanned, n.byIndex-before[table].byIndex
							if scanned > 2_000 || byIndex > 8*500 {
								t.Errorf("%s: %d rows scanned, %d read by index", table, scanned, byIndex)
							}
						}
						return err
					}))
				}
				if run.last == uuid.Nil || run.stage != movePredictions {
					t.Errorf("at stage %d after prediction %s, want the stage that moves predictions", run.stage, run.last)
				}
			})
		}
	}
}

// reads counts the rows read from a table.
type reads struct{ scanned, byIndex int64 }

// readRows counts the rows that this transaction has read, by table.
func readRows(ctx context.Context, tx bun.Tx) (map[string]reads, error) {
	var rows []struct {
		Relname          string
		Scanned, ByIndex int64
	}
	err := tx.NewRaw(`SELECT relname, seq_tup_read AS scanned, COALESCE(idx_tup_fetch, 0) AS by_index
		FROM pg_stat_xact_user_tables`).Scan(ctx, &rows)
	found := make(map[string]reads, len(rows))
	for _, r := range rows {
		found[r.Relname] = reads{r.Scanned, r.ByIndex}
	}
	return found, err
}

// TestSettledReferencesAreFoundByTheirIndex checks that the queries for the reference rows settled since a moment don't
// read all of them. The boards ask every second.
func TestSettledReferencesAreFoundByTheirIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	var seen queries
	hooked := db.WithQueryHook(&seen)
	_, _, err := CountReferences(t.Context(), hooked, start)
	if err == nil {
		_, err = ScoredSince(t.Context(), hooked, start)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, query := range seen.asked {
		var steps []struct {
			ID, Parent, Notused int64
			Detail              string
		}
		if err := db.NewRaw("EXPLAIN QUERY PLAN "+query).Scan(t.Context(), &steps); err != nil {
			t.Fatal(err)
		}
		if plan := fmt.Sprint(steps); !strings.Contains(plan, "INDEX reference_predictions_settled (settled_at>?)") || strings.Contains(plan, "SCAN r") {
			t.Errorf("%s\ndoesn't search index reference_predictions_settled: %s", query, plan)
		}
	}
	if len(seen.asked) != 2 {
		t.Errorf("got %d queries, want 2", len(seen.asked))
	}
}
