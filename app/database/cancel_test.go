package database_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestCancel checks that a query which is given up ends on Postgres, and that a pooler isn't asked to cancel it:
// PgBouncer 1.18 can end then.
func TestCancel(t *testing.T) {
	t.Parallel()
	direct := dbtest.URL(t, database.Postgres)
	observer := dbtest.OpenAt(t, direct)
	for name, c := range map[string]struct {
		address string
		query   string
		cancels bool
	}{
		"Postgres": {direct, "SELECT pg_sleep(60)", true},
		"a pooler": {dbtest.StartPooler(t, direct, "transaction"), "SELECT pg_sleep(61)", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := dbtest.WatchConnections(t, c.address)
			db, err := database.Open(t.Context(), w.Address)
			if err != nil {
				t.Fatal(err)
			}
			if err := db.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			ctx, giveUp := context.WithTimeout(t.Context(), 10*time.Second)
			defer giveUp()
			ended := make(chan error, 1)
			go func() {
				_, err := db.ExecContext(ctx, c.query)
				ended <- err
			}()
			untilRunning(t, observer, c.query, true)
			giveUp()
			if err := <-ended; err == nil {
				t.Error("the query has ended although it was given up")
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
			// A connection is closed after the request to cancel its query.
			if cancels := w.UntilClosed(t); (cancels > 0) != c.cancels {
				t.Errorf("%d requests to cancel a query", cancels)
			}
			untilRunning(t, observer, c.query, false)
		})
	}
}

// untilRunning waits until a query runs on Postgres, or until it doesn't.
func untilRunning(t *testing.T, observer *database.DB, query string, want bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(time.Millisecond) {
		var running bool
		err := observer.NewRaw("SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE ? AND pid <> pg_backend_pid())",
			"%"+query).Scan(t.Context(), &running)
		switch {
		case err != nil:
			t.Fatal(err)
		case running == want:
			return
		case time.Now().After(deadline):
			t.Fatalf("%s runs: %v", query, running)
		}
	}
}
