// Package database opens the store of record: SQLite embedded, or Postgres. What
// differs between the two sits in the small named helpers of dialect.go.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	_ "modernc.org/sqlite" // the driver "sqlite"
)

// Kind names the engine.
type Kind string

// The two engines.
const (
	SQLite   Kind = "sqlite"
	Postgres Kind = "postgres"
)

// DB is the open store. The embedded bun.DB writes (and reads what it wrote);
// Reader serves queries that only read. On Postgres the two are one pool; SQLite
// allows one writer, so there Reader is a pool of its own that never waits for it.
type DB struct {
	*bun.DB
	Reader *bun.DB
	Kind   Kind
	path   string // of the SQLite file

	lostWAL time.Time // see LostWAL
}

// Open connects to a sqlite://PATH or postgres:// address and pings it. The
// folder of a SQLite file is made when it is missing.
func Open(ctx context.Context, address string) (*DB, error) {
	var db *DB
	var err error
	hadWAL := false
	if path, ok := strings.CutPrefix(address, "sqlite://"); ok {
		hadWAL = hasWAL(path)
		db, err = openSQLite(path)
	} else {
		db, err = openPostgres(address)
	}
	if err != nil {
		return nil, err
	}
	err = db.PingContext(ctx)
	if err == nil && db.Kind == SQLite {
		err = db.checkWAL(ctx, hadWAL)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.Close())
	}
	return db, nil
}

// Close closes both pools.
func (db *DB) Close() error {
	if db.Reader == db.DB {
		return db.DB.Close()
	}
	db.forgetMark()
	return errors.Join(db.Reader.Close(), db.DB.Close())
}

// Watch tells a hook of every query from now on. It is for the start, before anybody has
// a copy of the pools.
func (db *DB) Watch(hook bun.QueryHook) {
	one := db.Reader == db.DB
	db.DB = db.DB.WithQueryHook(hook)
	if one {
		db.Reader = db.DB
	} else {
		db.Reader = db.Reader.WithQueryHook(hook)
	}
}

// InTx runs fn in a transaction: committed when fn returns nil, else rolled back.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return db.RunInTx(ctx, nil, fn)
}

func openSQLite(path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	const pragmas = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)&_pragma=synchronous(FULL)" +
		"&_pragma=journal_size_limit(67108864)" // a backup makes the log grow; it shrinks again
	name := "file:" + (&url.URL{Path: path}).EscapedPath()
	writer, err := sql.Open("sqlite", name+pragmas+"&_txlock=immediate")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	writer.SetMaxOpenConns(1)
	reader, err := sql.Open("sqlite", name+pragmas+"&_pragma=query_only(1)")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), writer.Close())
	}
	reader.SetMaxOpenConns(8)
	reader.SetMaxIdleConns(8)
	return &DB{
		DB:     bun.NewDB(writer, sqlitedialect.New()),
		Reader: bun.NewDB(reader, sqlitedialect.New()),
		Kind:   SQLite,
		path:   path,
	}, nil
}

func openPostgres(address string) (*DB, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		// pgx quotes the address with the password masked; still, keep it short.
		return nil, errors.New("DATABASE_URL: not a valid postgres:// address")
	}
	// Bun writes arguments into the SQL, so statements must not be prepared, but for those
	// of Planned.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.RuntimeParams["timezone"] = "UTC"
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{
			Conn: conn, CancelRequestDelay: 0, DeadlineDelay: 2 * time.Second,
		}
	}
	pool := stdlib.OpenDB(*cfg)
	pool.SetMaxOpenConns(24)
	pool.SetMaxIdleConns(24)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	var dialect schema.Dialect = pgdialect.New()
	if cfg.StatementCacheCapacity == 0 {
		dialect = unplanned{pgdialect.New()}
	}
	db := bun.NewDB(pool, dialect)
	return &DB{DB: db, Reader: db, Kind: Postgres}, nil
}

// SQLitePath returns the path of an address; false for one of Postgres.
func SQLitePath(address string) (path string, ok bool) {
	return strings.CutPrefix(address, "sqlite://")
}
