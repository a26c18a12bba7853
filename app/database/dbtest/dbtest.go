// Package dbtest gives each test a separate migrated database, on both engines.
package dbtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/migrations"
)

// Kinds are the engines that tests run on.
var Kinds = []database.Kind{database.SQLite, database.Postgres}

// Each runs test once per engine, in parallel, on fresh migrated databases.
func Each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	for _, kind := range Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, Open(t, kind))
		})
	}
}

// Open returns a fresh migrated database of one engine. It is removed when the test ends.
func Open(t testing.TB, kind database.Kind) *database.DB {
	t.Helper()
	return OpenAt(t, URL(t, kind))
}

// OpenAt opens the database at an address until the test ends.
func OpenAt(t testing.TB, address string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// OnCommit is a hook for database.DB.Watch that is called after each commit.
type OnCommit func()

func (f OnCommit) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (f OnCommit) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	if e.Query == "COMMIT" {
		f()
	}
}

// OnQuery is a hook for database.DB.Watch that is called after each query, with its text.
type OnQuery func(query string)

func (f OnQuery) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (f OnQuery) AfterQuery(_ context.Context, e *bun.QueryEvent) { f(e.Query) }

// URL returns the address of a fresh migrated database of one engine. Postgres needs
// TEST_POSTGRES_URL, which "make test" sets.
func URL(t testing.TB, kind database.Kind) string {
	t.Helper()
	if kind == database.SQLite {
		return sqliteURL(t)
	}
	return postgresURL(t, server(t), postgresTemplate)
}

// serverSetting is the environment variable with the address of the Postgres server for tests.
const serverSetting = "TEST_POSTGRES_URL"

// administrator is the pool that creates and drops databases. All tests of a process share it, because each new
// connection costs Postgres a process.
var administrator = sync.OnceValues(func() (*database.DB, error) {
	return database.Open(context.Background(), os.Getenv(serverSetting))
})

// server returns the address of the Postgres server, or skips the test.
func server(t testing.TB) string {
	t.Helper()
	address := os.Getenv(serverSetting)
	if address == "" {
		t.Skip(serverSetting + " is not set: run \"make test\", which starts a private Postgres")
	}
	return address
}

// Empty returns the address of a database of one engine without tables.
func Empty(t testing.TB, kind database.Kind) string {
	t.Helper()
	if kind == database.SQLite {
		return "sqlite://" + filepath.Join(t.TempDir(), "new", "pulsecast.db")
	}
	address := URL(t, kind)
	Destroy(t, address)
	return address
}

// Destroy deletes the file of a SQLite database, or everything in a Postgres database.
func Destroy(t testing.TB, address string) {
	t.Helper()
	if path, ok := database.SQLitePath(address); ok {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			os.Remove(path + suffix)
		}
		return
	}
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, statement := range []string{"DROP SCHEMA public CASCADE", "CREATE SCHEMA public"} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// Filled returns a function that gives each test a copy of a database of one engine. The first test that asks for an
// engine migrates the original and fills it.
func Filled(fill func(context.Context, *database.DB) error) func(testing.TB, database.Kind) (address string) {
	sqlite := filledSQLite(fill)
	template := sync.OnceValues(func() (string, error) { return filledTemplate(os.Getenv(serverSetting), fill) })
	return func(t testing.TB, kind database.Kind) string {
		t.Helper()
		if kind == database.SQLite {
			return sqlite(t)
		}
		return postgresURL(t, server(t), template)
	}
}

var sqliteURL = filledSQLite(unfilled)

// unfilled leaves a migrated database as it is.
func unfilled(context.Context, *database.DB) error { return nil }

func filledSQLite(fill func(context.Context, *database.DB) error) func(testing.TB) (address string) {
	original := sync.OnceValues(func() ([]byte, error) {
		dir, err := os.MkdirTemp("", "pulsecast-template")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "template.db")
		if err := migrate("sqlite://"+path, fill); err != nil {
			return nil, err
		}
		return os.ReadFile(path)
	})
	return func(t testing.TB) string {
		t.Helper()
		content, err := original()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "test.db")
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return "sqlite://" + path
	}
}

// migrate migrates a database and fills it.
func migrate(address string, fill func(context.Context, *database.DB) error) error {
	ctx := context.Background()
	db, err := database.Open(ctx, address)
	if err != nil {
		return err
	}
	if _, err = db.Migrate(ctx); err == nil {
		err = fill(ctx, db)
	}
	return errors.Join(err, db.Close())
}

// filledTemplate copies the migrated template, fills the copy and returns its name. The copy is this process's own, and
// stays until the server is deleted.
func filledTemplate(server string, fill func(context.Context, *database.DB) error) (name string, err error) {
	template, err := postgresTemplate()
	if err != nil {
		return "", err
	}
	admin, err := administrator()
	if err != nil {
		return "", err
	}
	ctx := context.Background()
	name = "filled_" + hex.EncodeToString(uuidBytes())
	if _, err := admin.ExecContext(ctx, copyStatement(name, template)); err != nil {
		return "", err
	}
	return name, migrate(withDatabase(server, name), fill)
}

var postgresTemplate = sync.OnceValues(func() (string, error) {
	server := os.Getenv(serverSetting)
	sum := sha256.New()
	err := fs.WalkDir(migrations.Files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := migrations.Files.ReadFile(path)
		sum.Write(content)
		return err
	})
	if err != nil {
		return "", err
	}
	name := "template_" + hex.EncodeToString(sum.Sum(nil)[:8])
	if Partitioned() {
		name += "_partitioned"
	}
	admin, err := administrator()
	if err != nil {
		return "", err
	}
	return name, makeTemplate(admin, server, name)
})

// makeTemplate migrates the template only once, although every package's test binary asks for it.
// It takes a lock, and builds the template under another name until it is complete.
func makeTemplate(admin *database.DB, server, name string) error {
	ctx := context.Background()
	conn, err := admin.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(20260921)"); err != nil {
		return err
	}
	defer conn.ExecContext(ctx, "SELECT pg_advisory_unlock(20260921)")
	var exists bool
	if err := conn.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = ?)", name).Scan(&exists); err != nil {
		return err
	}
	if exists {
		return nil
	}
	building := name + "_building"
	for _, sql := range []string{"DROP DATABASE IF EXISTS " + building, "CREATE DATABASE " + building} {
		if _, err := conn.ExecContext(ctx, sql); err != nil {
			return err
		}
	}
	if err := migrate(withDatabase(server, building), unfilled); err != nil {
		return err
	}
	if Partitioned() {
		if err := spread(withDatabase(server, building)); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("ALTER DATABASE %s RENAME TO %s", building, name))
	return err
}

// postgresURL returns the address of a copy of a template. The copy is dropped when the test ends.
func postgresURL(t testing.TB, server string, template func() (string, error)) string {
	t.Helper()
	from, err := template()
	if err != nil {
		t.Fatal(err)
	}
	name := "test_" + hex.EncodeToString(uuidBytes())
	admin, err := administrator()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.ExecContext(t.Context(), copyStatement(name, from)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := admin.ExecContext(context.Background(), fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name)); err != nil {
			t.Error(err)
		}
	})
	return withDatabase(server, name)
}

// copyStatement creates a database as a copy of a template. Copying files costs less than logging each of their pages.
func copyStatement(name, template string) string {
	return fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, template)
}

func withDatabase(server, name string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(serverSetting + ": " + err.Error())
	}
	u.Path = "/" + name
	return u.String()
}

func uuidBytes() []byte {
	id := uuid.New()
	return id[:]
}
