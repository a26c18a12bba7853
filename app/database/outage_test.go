package database_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// patience is a deadline that only a hang exceeds.
const patience = time.Minute

// within runs f and fails the test if f takes longer than patience.
func within(t *testing.T, what string, f func(ctx context.Context) error) error {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- f(context.Background()) }() // no deadline: the breaker must end it
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		t.Fatalf("%s: still waiting after %s", what, patience)
		return nil
	}
}

// untilBack waits until the breaker is closed.
func untilBack(t *testing.T, db *database.DB) {
	t.Helper()
	select {
	case <-db.Breaker.Back():
	case <-time.After(patience):
		t.Fatalf("the breaker stays open: %v", db.Breaker.Err())
	}
}

func ask(db *database.DB) func(context.Context) error {
	return func(ctx context.Context) error {
		var n int
		return db.QueryRowContext(ctx, "SELECT 1").Scan(&n)
	}
}

// TestBreaker checks each kind of Postgres outage: waiting queries end, later ones fail at once as
// unavailable, and afterwards everything works again.
func TestBreaker(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t)
	for _, outage := range []struct {
		name       string
		begin, end func()
	}{
		{"frozen", server.Freeze, server.Thaw},
		{"killed", func() { server.Stop(dbtest.Kill) }, server.Start},
		{"stopped", func() { server.Stop(dbtest.Fast) }, server.StartSlowly},
	} {
		t.Run(outage.name, func(t *testing.T) { // not parallel: they share the server
			db := dbtest.OpenAt(t, server.URL("postgres"))
			var log bytes.Buffer
			if err := db.Start(t.Context(), slog.New(slog.NewTextHandler(&log, nil))); err != nil {
				t.Fatal(err)
			}
			// Start more queries than there are connections, one of them in a transaction.
			var waiting sync.WaitGroup
			begun := make(chan struct{})
			failed := make(chan error, 30)
			waiting.Go(func() {
				failed <- db.InTx(context.Background(), func(ctx context.Context, tx bun.Tx) error {
					if _, err := tx.ExecContext(ctx, "SELECT 1"); err != nil {
						return err
					}
					close(begun)
					_, err := tx.ExecContext(ctx, "SELECT pg_sleep(60)")
					return err
				})
			})
			<-begun
			for range cap(failed) - 1 {
				waiting.Go(func() {
					_, err := db.ExecContext(context.Background(), "SELECT pg_sleep(60)")
					failed <- err
				})
			}
			outage.begin()
			for range cap(failed) {
				if err := within(t, "waiting", func(context.Context) error { return <-failed }); !database.Unavailable(err) {
					t.Errorf("a query that waited: got %v", err)
				}
			}
			waiting.Wait()
			for range 3 {
				if err := within(t, "open", ask(db)); !database.Unavailable(err) {
					t.Errorf("during the outage: got %v", err)
				}
			}
			if err := db.Check(t.Context()); !database.Unavailable(err) { // the breaker may not have opened yet
				t.Errorf("check: %v", err)
			}
			outage.end()
			untilBack(t, db)
			for range 30 { // checks every connection of the pool
				if err := within(t, "back", ask(db)); err != nil {
					t.Errorf("after the outage: %v", err)
				}
			}
			if err := db.Check(t.Context()); err != nil || db.Breaker.Opened() != 1 {
				t.Errorf("check: %v, opened %d times", err, db.Breaker.Opened())
			}
			db.Stop()
			if lines := strings.Count(log.String(), "\n"); lines != 2 {
				t.Errorf("an outage logged %d lines, want 2:\n%s", lines, log.String())
			}
			if db.Breaker.ClockOffset().Abs() > 5*time.Second {
				t.Errorf("the clock offset on one machine is %s", db.Breaker.ClockOffset())
			}
		})
	}
}

// TestUnavailable causes each kind of failure and checks whether Unavailable recognises it.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	server := dbtest.StartPostgres(t, "max_connections=8", "superuser_reserved_connections=0")
	exec := func(t *testing.T, db bun.IDB, statement string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	conn := func(t *testing.T, db *database.DB) *sql.Conn {
		t.Helper()
		c, err := db.DB.DB.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	do := func(c *sql.Conn, statement string) error {
		_, err := c.ExecContext(t.Context(), statement)
		return err
	}
	for _, c := range []struct {
		name string
		fail func(t *testing.T, db *database.DB) error
		want bool
	}{
		{"wrong statement", func(t *testing.T, db *database.DB) error { return do(conn(t, db), "SELECT nothing") }, false},
		{"broken constraint", func(t *testing.T, db *database.DB) error {
			exec(t, db, "CREATE TABLE once (n int PRIMARY KEY)")
			exec(t, db, "INSERT INTO once VALUES (1)")
			return do(conn(t, db), "INSERT INTO once VALUES (1)")
		}, false},
		{"read-only", func(t *testing.T, db *database.DB) error {
			c := conn(t, db)
			return errors.Join(do(c, "SET default_transaction_read_only = on"), do(c, "CREATE TABLE never (n int)"))
		}, true},
		{"serialisation failure", func(t *testing.T, db *database.DB) error {
			exec(t, db, "CREATE TABLE shared (n int)")
			exec(t, db, "INSERT INTO shared VALUES (0)")
			a, b := conn(t, db), conn(t, db)
			for _, c := range []*sql.Conn{a, b} {
				if err := errors.Join(do(c, "BEGIN ISOLATION LEVEL SERIALIZABLE"), do(c, "SELECT n FROM shared")); err != nil {
					t.Fatal(err)
				}
			}
			return errors.Join(do(a, "UPDATE shared SET n = 1"), do(a, "COMMIT"), do(b, "UPDATE shared SET n = 2"))
		}, true},
		{"cancelled by an operator", func(t *testing.T, db *database.DB) error {
			return do(conn(t, db), "SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(60)")
		}, true},
		{"ended by an operator", func(t *testing.T, db *database.DB) error {
			return do(conn(t, db), "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(60)")
		}, true},
		{"no connection left", func(t *testing.T, db *database.DB) error {
			for range 20 {
				if c, err := db.DB.DB.Conn(t.Context()); err != nil {
					return err
				} else {
					t.Cleanup(func() { c.Close() })
				}
			}
			return nil
		}, true},
		{"unknown database", func(t *testing.T, _ *database.DB) error {
			_, err := database.Open(t.Context(), server.URL("nothing"))
			return err
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) { // not parallel: they share the connections
			err := c.fail(t, dbtest.OpenAt(t, server.URL("postgres")))
			if err == nil || database.Unavailable(err) != c.want {
				t.Errorf("Unavailable(%v) = %t", err, !c.want)
			}
		})
	}
}

// TestLockedSQLite checks that writes fail while another process keeps the write lock, including
// those that wait for the connection. Reads still work, and writes work again once the lock is free.
func TestLockedSQLite(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	db, other := dbtest.OpenAt(t, address), dbtest.OpenAt(t, address)
	if err := db.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	write := func(db *database.DB) func(context.Context) error {
		return func(ctx context.Context) error {
			return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
				return database.SetSetting(ctx, tx, "name", "value")
			})
		}
	}
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	for range 20 {
		waiting.Go(func() {
			if err := write(db)(context.Background()); !database.Unavailable(err) {
				t.Errorf("locked: %v", err)
			}
		})
	}
	_ = within(t, "locked", func(context.Context) error { waiting.Wait(); return nil })
	if opened := db.Breaker.Opened(); opened != 1 {
		t.Errorf("opened %d times", opened)
	}
	if _, _, err := database.Setting(t.Context(), db.Reader, "name"); err != nil {
		t.Errorf("reading: %v", err)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
	untilBack(t, db)
	if err := within(t, "free", write(db)); err != nil {
		t.Errorf("free: %v", err)
	}
}

// TestInterruptedSQLite checks that the settings of the connection that writes outlive it. The pool discards
// a connection that was interrupted while it waited for another process.
func TestInterruptedSQLite(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.SQLite)
	db, other := dbtest.OpenAt(t, address), dbtest.OpenAt(t, address)
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Start(t.Context(), slog.New(slog.DiscardHandler)), db.Sync(t.Context(), false)); err != nil {
		t.Fatal(err)
	}
	pragma := func(name string) (value int) {
		if err := db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	patience, synchronous := pragma("busy_timeout"), pragma("synchronous")
	const mark = 1234 // pages, which only this connection has
	if _, err := db.ExecContext(t.Context(), "PRAGMA cache_size = 1234"); err != nil || pragma("cache_size") != mark {
		t.Fatal("the connection isn't marked:", err)
	}
	lock, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for wait := 10 * time.Millisecond; pragma("cache_size") == mark; wait *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		if err := database.SetSetting(ctx, db, "name", "value"); err == nil || wait > time.Minute {
			t.Fatalf("a write with %s on a locked file: %v", wait, err)
		}
		cancel()
	}
	if got := pragma("busy_timeout"); got != patience {
		t.Errorf("the next write waits %d ms for a lock, want %d", got, patience)
	}
	if got := pragma("synchronous"); got != synchronous {
		t.Errorf("synchronous is %d, want %d", got, synchronous)
	}
	if err := lock.Rollback(); err != nil {
		t.Fatal(err)
	}
}

// TestReadOnlySQLite checks a file system that no longer accepts writes, and a file that can't be
// opened.
func TestReadOnlySQLite(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	if _, err := db.ExecContext(t.Context(), "PRAGMA query_only = 1"); err != nil {
		t.Fatal(err)
	}
	if err := database.SetSetting(t.Context(), db, "name", "value"); !database.Unavailable(err) {
		t.Errorf("read-only: %v", err)
	}
	folder := t.TempDir() + "/test.db"
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := database.Open(t.Context(), "sqlite://"+folder); !database.Unavailable(err) {
		t.Errorf("not a file: %v", err)
	}
}
