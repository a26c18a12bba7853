package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// errPooledReplica is why a replica behind a pooler isn't used.
var errPooledReplica = errors.New("DATABASE_REPLICA_URL leads through a connection pooler: name the replica itself")

// errCockroach is why CockroachDB isn't used: nodes that start together take turns by session
// advisory locks, which it accepts and doesn't hold.
var errCockroach = errors.New("DATABASE_URL names a CockroachDB, which has no session advisory locks: name a Postgres")

// isPooled reports whether a pooler, such as PgBouncer, stands between the connection and
// Postgres. It gives its clients a process id that isn't the server's, because it may use another
// connection to the server for each transaction.
func isPooled(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var server uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()").Scan(&server); err != nil {
		return false, fmt.Errorf("look for a connection pooler: %w", err)
	}
	return server != conn.PgConn().PID(), nil
}

// avoidSessions makes the handle keep nothing on a connection if a pooler stands before Postgres.
func (db *DB) avoidSessions(ctx context.Context) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Raw(func(driver any) (err error) {
		server := driver.(*stdlib.Conn).Conn()
		if server.PgConn().ParameterStatus("crdb_version") != "" {
			return errCockroach
		}
		db.Pooled, err = isPooled(ctx, server)
		return err
	})
	if err = errors.Join(err, conn.Close()); err != nil || !db.Pooled {
		return err
	}
	// PgBouncer 1.18 ends with "bad client state" if a client that asked it to cancel a query
	// leaves before that is done, as pgx does. A connection whose query is given up is closed
	// instead. So is the one that was open before this was known.
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

// refusePooler is for a replica: if the primary isn't pooled, its statements are planned.
func refusePooler(ctx context.Context, conn *pgx.Conn) error {
	if pooled, err := isPooled(ctx, conn); err != nil || pooled {
		return errors.Join(err, errPooledReplica)
	}
	return nil
}
