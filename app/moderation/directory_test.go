package moderation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// populate adds seven agents, a0 to a6. The odd ones have non-zero numbers of every kind, which
// grow with the agent's number. The even ones have none.
func populate(t *testing.T, db *database.DB) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
		for i := range 7 {
			at := start.Add(time.Duration(i) * time.Minute)
			a, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: fmt.Sprintf("Agent %d", i)}, Handle: fmt.Sprintf("agent-%d", i), At: at})
			if err != nil {
				return err
			}
			ids = append(ids, a.ID)
			if i%2 == 0 {
				continue
			}
			for _, insert := range []struct {
				query string
				args  []any
			}{
				{"UPDATE agents SET last_seen_at = ? WHERE id = ?", []any{at, a.ID}},
				{"INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days) VALUES (?, ?, 1, ?, 0, 1)", []any{a.ID, 10 * i, i}},
				{`INSERT INTO board_rows (span, category, agent_id, position, model, reference, provisional, skill, skill_low, skill_high, events, cluster_sum, cluster_squares, disagreements, resolved, brier, calibration_error)
					VALUES ('all', '', ?0, ?1, '', FALSE, FALSE, ?2, -1, 5, 3, 0, 0, 0, 0, ?2, ?2)`, []any{a.ID, a.ID[:], float64(i) / 10}},
				{"INSERT INTO agent_usage (agent_id, hour, requests, errors, limited) VALUES (?, ?, ?, ?, 1)", []any{a.ID, start.Add(-2 * time.Hour), 100 * i, i}},
				{"INSERT INTO agent_usage (agent_id, hour, requests, errors, limited) VALUES (?, ?, 5000, 5000, 5000)", []any{a.ID, start.Add(-26 * time.Hour)}},
			} {
				if _, err := tx.ExecContext(ctx, insert.query, insert.args...); err != nil {
					return err
				}
			}
		}
		_, err := agent.Store{}.SetStatus(ctx, tx, ids[3], agent.Disabled, start)
		return err
	})
	if err := prediction.CountActivity(t.Context(), db, start, true); err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestAgentsTable(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ids := populate(t, db)
		walk := func(f moderation.AgentFilter) string {
			var got []string
			f.Limit = 2
			for range 10 {
				rows, next, err := service(db).Agents(t.Context(), f)
				if err != nil {
					t.Fatalf("%s: %v", f.Sort, err)
				}
				for _, r := range rows {
					got = append(got, strings.TrimPrefix(r.Handle, "agent-"))
				}
				if next == "" {
					break
				}
				f.Cursor = next
			}
			return strings.Join(got, "")
		}
		falling, rising := "5316420", "1356420"
		want := map[string]string{"created": "6543210", "handle": "0123456", "brier": rising, "calibration": rising, "limited": falling, "day": falling, "month": falling}
		for _, sort := range moderation.Sorts() {
			expected, ok := want[sort]
			if !ok {
				expected = falling
			}
			if got := walk(moderation.AgentFilter{Sort: sort}); got != expected {
				t.Errorf("by %s: %s, want %s", sort, got, expected)
			}
		}
		if got := walk(moderation.AgentFilter{Sort: "skill", Status: agent.Active}); got != "516420" {
			t.Errorf("active by skill: %s", got)
		}
		if got := walk(moderation.AgentFilter{Status: agent.Disabled}); got != "3" {
			t.Errorf("disabled: %s", got)
		}
		if got := walk(moderation.AgentFilter{Sort: "total", Q: "GENT 5"}); got != "5" {
			t.Errorf("named: %s", got)
		}
		rows, _, err := service(db).Agents(t.Context(), moderation.AgentFilter{Sort: "requests", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		if r := rows[0]; r.Requests != 500 || r.Errors != 5 || r.Limited != 1 || r.Tally.Total != 50 || r.Tally.Resolved != 5 || r.Board.Skill != 0.5 || *r.Board.Brier != 0.5 || !r.LastSeenAt.Equal(start.Add(5*time.Minute)) || r.ErrorRate() != 6.0/500 {
			t.Errorf("%+v", r)
		}
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error { // one that is active, and one that is disabled
			_, _, err := agent.Store{}.Close(ctx, tx, ids[1], start)
			_, _, err2 := agent.Store{}.Close(ctx, tx, ids[3], start)
			return errors.Join(err, err2)
		})
		for _, sort := range moderation.Sorts() {
			active, disabled := walk(moderation.AgentFilter{Sort: sort, Status: agent.Active}), walk(moderation.AgentFilter{Sort: sort, Status: agent.Disabled})
			closed := walk(moderation.AgentFilter{Sort: sort, Status: agent.StatusClosed})
			if len(active) != 5 || disabled != "" || strings.Count(closed, "closed-") != 2 || len(closed) != 2*len("closed-12345678") {
				t.Errorf("by %s: %q are active, %q disabled and %q closed", sort, active, disabled, closed)
			}
		}
		if got := walk(moderation.AgentFilter{Q: "closed", Status: agent.StatusClosed}); strings.Count(got, "closed-") != 2 {
			t.Errorf("closed and named: %s", got)
		}
		if f, err := service(db).Figures(t.Context()); err != nil || f.Agents != 7 || f.Disabled != 0 {
			t.Errorf("%+v, %v", f, err)
		}
		for _, f := range []moderation.AgentFilter{{Sort: "nonsense"}, {Sort: "skill", Cursor: "x"}, {Sort: "skill", Cursor: "BXRvdGFs"}} {
			if _, _, err := service(db).Agents(t.Context(), f); code(err) != "invalid_parameter" {
				t.Errorf("%+v: %v", f, err)
			}
		}
	})
}

// TestActivityIsCountedWithoutTheWriter checks that counting the activity takes no connection that writes, because it
// can take seconds. On SQLite there is only one.
func TestActivityIsCountedWithoutTheWriter(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	populate(t, db)
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := prediction.CountActivity(ctx, db, start, true); err != nil {
		t.Errorf("while another transaction writes: %v", err)
	}
}

func TestActivityForgets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		populate(t, db)
		if err := prediction.CountActivity(t.Context(), db, start.Add(48*time.Hour), true); err != nil {
			t.Fatal(err)
		}
		rows, _, err := service(db).Agents(t.Context(), moderation.AgentFilter{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) != 7 || slices.ContainsFunc(rows, func(r moderation.AgentRow) bool { return r.Requests != 0 }) {
			t.Errorf("two days later: %+v", rows)
		}
	})
}
