package database_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestPrune checks that old rows are deleted in batches, oldest first, and that newer rows stay.
func TestPrune(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		type row struct {
			bun.BaseModel `bun:"table:agent_endpoints"`

			AgentID       string
			Hour          time.Time
			Method, Route string
			OK            int64 `bun:"ok"`
			Refused       int64
			Limited       int64
			Failed        int64
		}
		const market = "00000000-0000-7000-8000-000000000001" // a market that the schema creates
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		var rows []row
		for i := range 1500 {
			rows = append(rows, row{AgentID: market, Hour: now.Add(-time.Duration(i%3) * time.Hour), Method: "GET", Route: fmt.Sprint("/", i)})
		}
		if _, err := db.NewInsert().Model(&rows).Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		prune := func(before time.Time, wantMore bool, wantLeft int) {
			t.Helper()
			more, err := database.Prune(t.Context(), db, "agent_endpoints", "hour", before, "agent_id", "hour", "method", "route")
			if err != nil || more != wantMore {
				t.Fatalf("more %t, %v", more, err)
			}
			if left, err := db.NewSelect().Table("agent_endpoints").Count(t.Context()); err != nil || int(left) != wantLeft {
				t.Errorf("%d rows are left, %v; want %d", left, err, wantLeft)
			}
		}
		prune(now.Add(-2*time.Hour), false, 1500)
		prune(now, true, 500)
		prune(now.Add(time.Hour), false, 0)
	})
}

// TestPruneLeavesWhatIsChanged checks that Prune neither waits for nor deletes a row whose time
// another transaction renews.
func TestPruneLeavesWhatIsChanged(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres) // not SQLite, which has one writer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	const insert = `INSERT INTO idempotency_keys (agent_id, key, body_hash, response, created_at)
		VALUES ('00000000-0000-7000-8000-000000000001', 'k', '', '', ?) ON CONFLICT (agent_id, key) DO UPDATE SET created_at = EXCLUDED.created_at`
	if _, err := db.ExecContext(ctx, insert, now.Add(-48*time.Hour)); err != nil {
		t.Fatal(err)
	}
	err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, insert, now); err != nil {
			return err
		}
		_, err := database.Prune(ctx, db, "idempotency_keys", "created_at", now.Add(-24*time.Hour), "agent_id", "key")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := db.NewSelect().Table("idempotency_keys").Count(ctx); n != 1 || err != nil {
		t.Errorf("%d keys are left, %v", n, err)
	}
}
