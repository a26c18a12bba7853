// Package database opens the database: embedded SQLite, or Postgres. Most differences between the
// two are in the small functions of dialect.go.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	_ "modernc.org/sqlite" // registers the driver "sqlite"
)

// maxConnections is the size of the pool of a Postgres.
const maxConnections = 24

// connectTimeout is how long connecting to one address of Postgres may take, unless DATABASE_URL
// sets connect_timeout.
const connectTimeout = 5 * time.Second

// Kind names the engine.
type Kind string

// The two engines.
const (
	SQLite   Kind = "sqlite"
	Postgres Kind = "postgres"
)

// DB is the open database. The embedded bun.DB writes, and reads what it wrote. Reader serves
// queries that only read. On Postgres both are one pool. SQLite allows one writer, so there Reader
// is a second pool that never waits for it.
type DB struct {
	*bun.DB
	Reader *bun.DB
	Kind   Kind
	// Breaker makes queries fail at once while the database can't be used. On Postgres it probes
	// from Start on; for SQLite, see the type.
	Breaker *Breaker
	// Replica is nil if there is none.
	Replica *Replica
	path    string // of the SQLite file
	writer  *writerSettings

	lostWAL time.Time // see LostWAL
}

// Open connects to a sqlite://PATH or postgres:// address and pings it. It makes the folder of a
// SQLite file if it is missing.
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
	if db.Kind == Postgres {
		if err := db.avoidSessions(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("open database: %w", err), db.Close())
		}
	}
	return db, nil
}

// Start begins to watch whether the database can be used. Call it in a process that serves requests
// or runs jobs. Stop or Close ends it.
func (db *DB) Start(ctx context.Context, log *slog.Logger) error {
	db.Breaker.start(log)
	if db.Replica != nil {
		db.Replica.Breaker.start(log)
	}
	if db.Kind != SQLite {
		return nil
	}
	db.writer.patience.Store(servicePatience.Milliseconds())
	return db.writer.apply(ctx, db.DB)
}

// Stop ends the watching that Start began.
func (db *DB) Stop() {
	db.Breaker.halt()
	if db.Replica != nil {
		db.Replica.Breaker.halt()
	}
}

// Check returns why the database can't be used; nil if it can.
func (db *DB) Check(ctx context.Context) error {
	if err := db.Breaker.Err(); err != nil {
		return err
	}
	return db.Reader.PingContext(ctx)
}

// Pooled reports whether a connection pooler stands before Postgres. Connections then keep no
// prepared statements.
func (db *DB) Pooled() bool { return db.Breaker.pooled.Load() }

// Close closes all pools.
func (db *DB) Close() error {
	db.Stop()
	var replica error
	if db.Replica != nil {
		replica = db.Replica.DB.Close()
	}
	if db.Reader == db.DB {
		return errors.Join(replica, db.DB.Close())
	}
	db.forgetMark()
	return errors.Join(db.Reader.Close(), db.DB.Close())
}

// Watch passes every query from now on to a hook. Call it at the start, before other code copies
// the pools.
func (db *DB) Watch(hook bun.QueryHook) {
	one := db.Reader == db.DB
	db.DB = db.DB.WithQueryHook(hook)
	if one {
		db.Reader = db.DB
	} else {
		db.Reader = db.Reader.WithQueryHook(hook)
	}
}

// InTx runs fn in a transaction. It commits if fn returns nil, and otherwise rolls back.
func (db *DB) InTx(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	if db.Kind == SQLite {
		return db.inWriteTx(ctx, fn)
	}
	return db.RunInTx(ctx, nil, fn)
}

func openSQLite(path string) (*DB, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	// SQLite would let every account of the machine read a new file, and gives its log the same permissions. It reports
	// itself why a file can't be made.
	if file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600); err == nil {
		_ = file.Close()
	}
	// A checkpoint after every 32 MB of the write-ahead log, not after 4 MB, makes publishing about 14 % faster,
	// because a page that changed several times is copied once. A backup makes the log grow; the limit shrinks it
	// again.
	const pragmas = "?_pragma=journal_mode(WAL)&_pragma=foreign_keys(1)" +
		"&_pragma=wal_autocheckpoint(8000)&_pragma=journal_size_limit(67108864)"
	name := "file:" + (&url.URL{Path: path}).EscapedPath()
	settings := &writerSettings{}
	settings.patience.Store(commandPatience.Milliseconds())
	writer := openPreparing(name+pragmas+"&_txlock=immediate", settings)
	writer.SetMaxOpenConns(1)
	reader := openPreparing(fmt.Sprintf("%s%s&_pragma=busy_timeout(%d)&_pragma=query_only(1)", name, pragmas, commandPatience.Milliseconds()), nil)
	reader.SetMaxOpenConns(8)
	reader.SetMaxIdleConns(8)
	return &DB{
		DB:      bun.NewDB(writer, sqlitedialect.New()),
		Reader:  bun.NewDB(reader, sqlitedialect.New()),
		Kind:    SQLite,
		Breaker: newBreaker(&sqliteProbe{name + "?_pragma=busy_timeout(0)&_txlock=immediate"}),
		path:    path,
		writer:  settings,
	}, nil
}

func openPostgres(address string) (*DB, error) {
	db, breaker, err := poolOf("DATABASE_URL", address, nil)
	if err != nil {
		return nil, err
	}
	return &DB{DB: db, Reader: db, Kind: Postgres, Breaker: breaker}, nil
}

// poolOf returns a pool of connections to the Postgres at the address in a setting. If connected is
// not nil, it can refuse a connection by returning an error.
func poolOf(setting, address string, connected func(context.Context, *pgx.Conn) error) (*bun.DB, *Breaker, error) {
	cfg, err := pgx.ParseConfig(address)
	if err != nil {
		// The error of pgx quotes the address with the password masked. It is dropped all the same,
		// to keep the message short.
		return nil, nil, fmt.Errorf("%s: not a valid postgres:// address", setting)
	}
	// Bun writes arguments into the SQL, so statements must not be prepared, except where the caller asks for
	// it, as Planned and ScanRows do.
	cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	cfg.RuntimeParams["timezone"] = "UTC"
	var breaker *Breaker
	cfg.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
		if breaker.pooled.Load() {
			return &pgconn.DeadlineContextWatcherHandler{Conn: conn.Conn()}
		}
		return &pgconn.CancelRequestContextWatcherHandler{
			Conn: conn, CancelRequestDelay: 0, DeadlineDelay: 2 * time.Second,
		}
	}
	if cfg.ConnectTimeout == 0 {
		cfg.ConnectTimeout = connectTimeout
	}
	var connector *guarded
	connector, breaker = guard(cfg, connected)
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(maxConnections)
	pool.SetMaxIdleConns(maxConnections)
	pool.SetConnMaxIdleTime(5 * time.Minute)
	var dialect schema.Dialect = pgdialect.New()
	if cfg.StatementCacheCapacity == 0 {
		dialect = unplanned{pgdialect.New()}
	}
	return bun.NewDB(pool, dialect, bun.WithConnResolver(byContext{})), breaker, nil
}

// SQLitePath returns the path in a sqlite:// address. ok is false for a Postgres address.
func SQLitePath(address string) (path string, ok bool) {
	return strings.CutPrefix(address, "sqlite://")
}

// IsPostgresAddress reports whether an address names a Postgres.
func IsPostgresAddress(address string) bool {
	return strings.HasPrefix(address, "postgres://") || strings.HasPrefix(address, "postgresql://")
}
