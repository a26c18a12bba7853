package database_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
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

// TestSQLitePathIsTakenAsItIs checks that everything after sqlite:// is the path, including
// characters with a meaning in an address.
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
