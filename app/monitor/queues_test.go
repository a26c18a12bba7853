package monitor_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/monitor"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// queries records the queries of the database.
type queries struct{ asked []string }

func (q *queries) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	q.asked = append(q.asked, e.Query)
	return ctx
}

func (q *queries) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestQueuesDoNotReadTheLedger checks that a scrape finds the end of the ledger by an index. The
// queues are read every few seconds, and the ledger only grows.
func TestQueuesDoNotReadTheLedger(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		_, err := db.ExecContext(t.Context(), "INSERT INTO boards (span, category, as_of, kappa, sigma2, ranked) VALUES ('all', '', ?, 1, 1, 0)", noon.Add(-time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		var seen queries
		if _, err := monitor.ReadQueues(t.Context(), db.Reader.WithQueryHook(&seen), noon); err != nil {
			t.Fatal(err)
		}
		looked := false
		for _, query := range seen.asked {
			if strings.Contains(query, "score_entries") {
				looked = true
				if plan := explain(t, db, query); strings.Contains(plan, "SCAN score_entries") || strings.Contains(plan, "Seq Scan on score_entries") {
					t.Errorf("%s\nreads the whole ledger:\n%s", query, plan)
				}
			}
		}
		if !looked {
			t.Errorf("no query of the ledger: %q", seen.asked)
		}
	})
}

// TestEarlySettlementsDoNotWaitForABoard checks that predictions settled before their scheduled day
// don't count as late. They are on no board until that day.
func TestEarlySettlementsDoNotWaitForABoard(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec("INSERT INTO boards (span, category, as_of, kappa, sigma2, ranked) VALUES ('all', '', ?, 1, 1, 0)", noon.Add(-time.Minute))
		for i, c := range []struct {
			day  string
			want int64
		}{{"2026-11-22", 0}, {"2026-11-21", 1}, {"2026-11-01", 2}} {
			exec(`INSERT INTO score_entries (agent_id, id, prediction_id, seq, kind, value, source, brier, day, rules_version, created_at)
				VALUES (?, ?, ?, 0, 'score', 1, 'market', 0, ?, '1', ?)`, uuid.New(), database.NewID(noon), uuid.New(), c.day, noon)
			queues, err := monitor.ReadQueues(t.Context(), db.Reader, noon)
			if err != nil || queues.Boards.Count != c.want {
				t.Errorf("%d: %d entries wait, want %d, %v", i, queues.Boards.Count, c.want, err)
			}
		}
	})
}

// explain returns the plan of a query. Sequential scans are off on Postgres, so that it uses an
// index even on a small table.
func explain(t *testing.T, db *database.DB, query string) string {
	t.Helper()
	var plan strings.Builder
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		if !database.IsPostgres(tx) {
			var steps []struct {
				ID, Parent, Notused int64
				Detail              string
			}
			err := tx.NewRaw("EXPLAIN QUERY PLAN "+query).Scan(ctx, &steps)
			for _, s := range steps {
				plan.WriteString(s.Detail + "\n")
			}
			return err
		}
		if _, err := tx.ExecContext(ctx, "SET LOCAL enable_seqscan = off"); err != nil {
			return err
		}
		var lines []string
		err := tx.NewRaw("EXPLAIN "+query).Scan(ctx, &lines)
		plan.WriteString(strings.Join(lines, "\n"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan.String()
}
