package settlement

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// queries records the queries sent to the database.
type queries struct{ asked []string }

func (q *queries) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	q.asked = append(q.asked, e.Query)
	return ctx
}

func (q *queries) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestPendingIsFoundByItsIndex checks that the query for pending predictions uses its index. It
// runs at each reading of the markets and must not scan all predictions.
func TestPendingIsFoundByItsIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	var seen queries
	w := newWorld(t, &database.DB{DB: db.WithQueryHook(&seen), Reader: db.Reader, Kind: db.Kind, Breaker: db.Breaker})
	m := w.market("1", "e1", "politics", start)
	w.publish(w.agent(1), m, 0, .5)
	s := w.service(0)
	w.must(s.FixBaselines(t.Context()))
	w.must(s.FixBaselines(t.Context(), m.ID))
	looked := 0
	for _, query := range seen.asked {
		if !strings.Contains(query, "AS said") {
			continue
		}
		looked++
		var steps []struct {
			ID, Parent, Notused int64
			Detail              string
		}
		w.must(db.NewRaw("EXPLAIN QUERY PLAN "+query).Scan(t.Context(), &steps))
		if len(steps) == 0 || !strings.HasPrefix(steps[0].Detail, "SCAN s USING INDEX results_pending") {
			t.Errorf("%s\ndoesn't start with index results_pending: %+v", query, steps)
		}
	}
	if looked != 2 {
		t.Errorf("got %d queries for pending predictions, want 2", looked)
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
