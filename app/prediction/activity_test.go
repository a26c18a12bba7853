package prediction_test

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

// TestActivity checks the counts of the last day and of the last 30 days, also of those runs that don't count the latter
// again.
func TestActivity(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		busy, quiet := activityAgent(t, db, 1), activityAgent(t, db, 2)
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		publish := func(agentID uuid.UUID, ages ...time.Duration) {
			t.Helper()
			for _, age := range ages {
				at := now.Add(-age)
				p := prediction.Prediction{
					ID: database.NewID(at), AgentID: agentID, Title: "t", Thesis: "t", Confidence: .5, HorizonAt: now.Add(time.Hour), Category: "general",
					Evidence: []prediction.Evidence{}, BaselineState: prediction.Unlinked, Status: prediction.Open, CreatedAt: at,
				}
				err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return prediction.Store{}.Insert(ctx, tx, &p) })
				if err != nil {
					t.Fatal(err)
				}
			}
		}
		const day = 24 * time.Hour
		count := func(month bool, want ...string) {
			t.Helper()
			if err := prediction.CountActivity(t.Context(), db, now, month); err != nil {
				t.Fatal(err)
			}
			var got []string
			var rows []struct {
				PredictionsDay, PredictionsMonth, Predictions int64
			}
			err := db.NewRaw("SELECT predictions_day, predictions_month, predictions FROM agent_activity ORDER BY agent_id").Scan(t.Context(), &rows)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				got = append(got, fmt.Sprintf("%d in a day, %d in a month of %d", r.PredictionsDay, r.PredictionsMonth, r.Predictions))
			}
			if !slices.Equal(got, want) {
				t.Errorf("month %v: got %q, want %q", month, got, want)
			}
		}
		publish(busy, 40*day, 30*day+time.Minute, 30*day, 10*day, 25*time.Hour, 24*time.Hour, time.Minute)
		publish(quiet, 50*day, 31*day)
		count(true, "2 in a day, 5 in a month of 7", "0 in a day, 0 in a month of 2")
		count(false, "2 in a day, 5 in a month of 7", "0 in a day, 0 in a month of 2")
		now = now.Add(time.Minute)
		publish(busy, 0)
		publish(quiet, 0, time.Second)
		publish(activityAgent(t, db, 3), 0)
		count(false, "2 in a day, 6 in a month of 8", "2 in a day, 2 in a month of 4", "1 in a day, 1 in a month of 1")
		count(true, "2 in a day, 5 in a month of 8", "2 in a day, 2 in a month of 4", "1 in a day, 1 in a month of 1")
		now = now.Add(60 * day)
		count(false, "0 in a day, 5 in a month of 8", "0 in a day, 2 in a month of 4", "0 in a day, 1 in a month of 1")
		count(true, "0 in a day, 0 in a month of 8", "0 in a day, 0 in a month of 4", "0 in a day, 0 in a month of 1")
	})
}

func activityAgent(t *testing.T, db *database.DB, n byte) uuid.UUID {
	t.Helper()
	id := uuid.UUID{0: 1, 6: 0x70, 8: 0x80, 15: n}
	_, err := db.ExecContext(t.Context(), "INSERT INTO agents (id, handle, name, kind, status, sample, created_at) VALUES (?, ?, 'A', 'agent', 'active', FALSE, ?)",
		id, fmt.Sprint("agent-", n), time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestActivityRows checks that counting reads, of the predictions, only those of the last day, and those of the last 30
// days only if they are counted again.
func TestActivityRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for _, size := range dbtest.Sizes(kind, fewPredictions, manyPredictions) {
				db := dbtest.OpenPlainAt(t, pastOf[size](t, kind))
				if _, err := db.ExecContext(t.Context(), `INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days, last_published_at)
					SELECT agent_id, COUNT(*), 0, 0, 0, 0, MAX(created_at) FROM predictions GROUP BY agent_id`); err != nil {
					t.Fatal(err)
				}
				end := past.start.Add(time.Duration(size) * past.step)
				for _, c := range []struct {
					now   time.Time
					month bool
					want  int64 // about so many are read
				}{
					{end, false, int64(24 * time.Hour / past.step)},
					{end.AddDate(0, 0, 29), true, int64(24 * time.Hour / past.step)},
					{end.AddDate(0, 0, 29), false, 0},
					{end.AddDate(0, 0, 31), true, 0},
				} {
					for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
						if err := prediction.CountActivity(t.Context(), db, c.now, c.month); err != nil {
							t.Fatal(err)
						}
					}) {
						n, counts := e.Tables["predictions"], strings.HasPrefix(e.Query, "WITH counted")
						if kind == database.Postgres && counts && (n < c.want-10 || n > c.want+10) {
							t.Errorf("month %v: read %d of %d predictions, want %d", c.month, n, size, c.want)
						}
						if slices.ContainsFunc(e.Unbounded, func(step string) bool { return step == "SCAN p" || step == "SCAN predictions" }) {
							t.Errorf("month %v: %q in %s", c.month, e.Unbounded, e.Query)
						}
					}
				}
			}
		})
	}
}
