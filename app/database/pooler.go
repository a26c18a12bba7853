package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// errPooledReplica says that a replica behind a pooler can't be used.
var errPooledReplica = errors.New("DATABASE_REPLICA_URL leads through a connection pooler: name the replica itself")

// errCockroach says that CockroachDB can't be used. Nodes take turns by advisory locks, which
// CockroachDB accepts but doesn't hold.
var errCockroach = errors.New("DATABASE_URL names a CockroachDB, which has no advisory locks: name a Postgres")

// IsPooled reports whether a pooler, such as PgBouncer, stands between the connection and Postgres.
// A pooler may use another server connection for each transaction, so it reports a process id that
// isn't the server's.
func IsPooled(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var server uint32
	// A prepared statement may be unknown to the server connection that executes it.
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&server); err != nil {
		return false, fmt.Errorf("look for a connection pooler: %w", err)
	}
	return server != conn.PgConn().PID(), nil
}

// avoidSessions finds out whether a pooler stands before Postgres. If so, connections keep no state
// between transactions.
func (db *DB) avoidSessions(ctx context.Context) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	var pooled bool
	err = conn.Raw(func(driver any) (err error) {
		server := Pgx(driver)
		if server.PgConn().ParameterStatus("crdb_version") != "" {
			return errCockroach
		}
		pooled, err = IsPooled(ctx, server)
		return err
	})
	if err = errors.Join(err, conn.Close()); err != nil || !pooled {
		return err
	}
	// PgBouncer 1.18 fails with "bad client state" if a client asks it to cancel a query and leaves
	// before that is done, as pgx does. So a connection is closed instead when its query is given
	// up, and Postgres ends the query; see setLocal. The connection that was opened before the pooler
	// was found is closed here.
	db.Breaker.pooled.Store(true)
	db.DB.DB.SetMaxIdleConns(0)
	db.DB.DB.SetMaxIdleConns(maxConnections)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("DATABASE_URL leads through a connection pooler that allows no transactions; set pool_mode=transaction there: %w", err)
	}
	if err := tx.Rollback(); err != nil {
		return err
	}
	db.DB = bun.NewDB(db.DB.DB, unplanned{pgdialect.New()}, bun.WithConnResolver(byContext{}))
	db.Reader = db.DB
	return nil
}

// refusePooler refuses a replica behind a pooler. If the primary isn't pooled, connections to the
// replica keep prepared statements too, which a pooler doesn't allow.
func refusePooler(ctx context.Context, conn *pgx.Conn) error {
	if pooled, err := IsPooled(ctx, conn); err != nil || pooled {
		return cmp.Or(err, errPooledReplica)
	}
	return nil
}
