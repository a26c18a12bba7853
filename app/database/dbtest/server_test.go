package dbtest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestPrivatePostgres checks that commits survive each way to stop the server, and that a frozen
// server doesn't answer until it is thawed.
func TestPrivatePostgres(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	count := func(ctx context.Context) (n int, err error) {
		db, err := sql.Open("pgx", server.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err = db.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS starts (n int)"); err != nil {
			return 0, err
		}
		if _, err = db.ExecContext(ctx, "INSERT INTO starts VALUES (1)"); err != nil {
			return 0, err
		}
		return n, db.QueryRowContext(ctx, "SELECT count(*) FROM starts").Scan(&n)
	}
	for i, mode := range []dbtest.Mode{dbtest.Fast, dbtest.Crash, dbtest.Kill} {
		if n, err := count(t.Context()); err != nil || n != i+1 {
			t.Fatalf("start %d: %d rows, %v", i, n, err)
		}
		server.Stop(mode)
		if _, err := count(t.Context()); err == nil {
			t.Fatal("a stopped server answers")
		}
		server.Start()
	}
	server.Freeze()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := count(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("frozen: %v", err)
	}
	server.Thaw()
	if n, err := count(t.Context()); err != nil || n != 4 {
		t.Errorf("thawed: %d rows, %v", n, err)
	}
}
