package database_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

func TestMigrateUpAndDown(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		if names, err := db.Migrate(ctx); err != nil || len(names) != 0 {
			t.Fatalf("migrating a migrated database: %v, %v", names, err)
		}
		down, err := db.Rollback(ctx)
		if err != nil || len(down) == 0 {
			t.Fatalf("rollback: %v, %v", down, err)
		}
		if _, err := db.ExecContext(ctx, "SELECT count(*) FROM agents"); err == nil {
			t.Fatal("table agents is still there after the rollback")
		}
		up, err := db.Migrate(ctx)
		slices.Sort(down)
		slices.Sort(up)
		if err != nil || !slices.Equal(up, down) {
			t.Fatalf("migrated %v after rolling back %v: %v", up, down, err)
		}
		status, err := db.Migrations(ctx)
		if err != nil || len(status) < len(up) || !status[0].Applied {
			t.Fatalf("status %v: %v", status, err)
		}
	})
}

// TestStatusCreatesNothing checks that listing the migrations leaves an empty database empty.
func TestStatusCreatesNothing(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenAt(t, dbtest.Empty(t, kind))
			status, err := db.Migrations(t.Context())
			if err != nil || len(status) == 0 || status[0].Applied {
				t.Errorf("status %v: %v", status, err)
			}
			count := "SELECT count(*) FROM sqlite_master"
			if kind == database.Postgres {
				count = "SELECT count(*) FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
			}
			var n int
			if err := db.QueryRowContext(t.Context(), count).Scan(&n); err != nil || n > 0 {
				t.Errorf("%d tables and indexes were created, %v", n, err)
			}
		})
	}
}

// cut is a query hook that cancels a context at a change of the table of migrations.
type cut struct {
	change int // 1 is the first
	cancel func()
}

func (c *cut) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	if strings.Contains(e.Query, "bun_migrations") && (e.Operation() == "INSERT" || e.Operation() == "DELETE") {
		if c.change--; c.change == 0 {
			c.cancel()
		}
	}
	return ctx
}

func (*cut) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestInterruptedMigration checks that a process may end at each change of the table of migrations,
// and the next start has the whole schema. A migration is marked in its transaction, and again after it.
func TestInterruptedMigration(t *testing.T) {
	t.Parallel()
	for change := 1; change <= 2; change++ {
		for _, down := range []bool{false, true} {
			t.Run(fmt.Sprintf("change %d, down %t", change, down), func(t *testing.T) {
				t.Parallel()
				dbtest.Each(t, func(t *testing.T, db *database.DB) {
					run := db.Rollback
					if !down {
						if _, err := db.Rollback(t.Context()); err != nil {
							t.Fatal(err)
						}
						run = db.Migrate
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					db.Watch(&cut{change, cancel})
					if _, err := run(ctx); !errors.Is(err, context.Canceled) {
						t.Fatalf("the interrupted run: %v", err)
					}
					if _, err := db.Migrate(t.Context()); err != nil {
						t.Fatal(err)
					}
					if _, err := db.ExecContext(t.Context(), "SELECT count(*) FROM agents"); err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// TestSQLitePathIsTakenAsItIs checks that everything after sqlite:// is the path, including
// characters with a meaning in an address.
// TestSQLiteIsPrivate checks that other accounts of the machine can't read a new file, nor its log.
func TestSQLiteIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "pulse.db")
	db, err := database.Open(t.Context(), "sqlite://"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		file, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if file.Mode().Perm() != 0o600 {
			t.Errorf("%s has the permissions %o, want 600", name, file.Mode().Perm())
		}
	}
}

func TestSQLitePathIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a#b?c=1&d %20 %zz", "ä;'.db")
	db, err := database.Open(t.Context(), "sqlite://"+path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Error(err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		t.Errorf("no database at %q: %v", path, err)
	}
}

func TestMigrateFromManyNodesAtOnce(t *testing.T) {
	t.Parallel()
	url := dbtest.URL(t, database.Postgres)
	errs := make(chan error, 4)
	db, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range cap(errs) {
		go func() {
			node, err := database.Open(context.Background(), url)
			if err == nil {
				_, err = node.Migrate(context.Background())
				err = errors.Join(err, node.Close())
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	url := "sqlite://" + filepath.Join(t.TempDir(), "sub", "a.db")
	first, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := database.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	release, err := first.Claim()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Claim(); !errors.Is(err, database.ErrInUse) {
		t.Fatalf("second claim: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	if release, err = second.Claim(); err != nil {
		t.Fatalf("after release: %v", err)
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
}

func TestInTxRollsBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		failure := errors.New("stop")
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			if _, err := tx.ExecContext(ctx, "INSERT INTO settings (name, value) VALUES ('a', 'b')"); err != nil {
				return err
			}
			return failure
		})
		if !errors.Is(err, failure) {
			t.Fatal(err)
		}
		var n int
		if err := db.Reader.QueryRowContext(t.Context(), "SELECT count(*) FROM settings").Scan(&n); err != nil || n != 0 {
			t.Fatalf("%d rows, %v", n, err)
		}
	})
}

func TestNewIDSortsByMoment(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 8, 0, 0, 999_999_000, time.UTC)
	last := uuid.Nil
	for range 1000 {
		id := database.NewID(at)
		if id.Version() != 7 || id.Variant() != uuid.RFC4122 {
			t.Fatalf("%s is version %d", id, id.Version())
		}
		if sec, ns := id.Time().UnixTime(); sec != at.Unix() || ns/1e6 != int64(at.Nanosecond())/1e6 {
			t.Fatalf("%s says %d.%09d, made at %s", id, sec, ns, at)
		}
		if id.String() <= last.String() {
			t.Fatalf("%s after %s", id, last)
		}
		last, at = id, at.Add(time.Microsecond)
	}
}
