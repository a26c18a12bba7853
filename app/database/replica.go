package database

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"

	"github.com/uptrace/bun"
)

// A Replica is a streaming replica of the primary. It serves the queries whose context comes from
// OnReplica. Package generation decides which queries may use it.
type Replica struct {
	// DB reads from the replica.
	*bun.DB
	// Breaker is open while the replica can't be used.
	Breaker *Breaker
}

// AddReplica sets the replica of a Postgres. It doesn't connect, so that the service can start
// while the replica is gone.
func (db *DB) AddReplica(address string) error {
	pool, breaker, err := poolOf("DATABASE_REPLICA_URL", address, refusePooler)
	if err != nil {
		return err
	}
	breaker.subject = "the replica"
	db.Replica = &Replica{pool, breaker}
	return nil
}

type replicaKey struct{}

// replicaUse is the replica of a context.
type replicaUse struct {
	*Replica
	used atomic.Bool // a query has gone to it
}

// OnReplica returns a context whose queries on db.Reader go to the replica, if they are made by
// Bun's builders or by Planned. Transactions stay on the primary. A query that writes fails. used reports whether a query
// has gone to the replica.
func OnReplica(ctx context.Context, r *Replica) (_ context.Context, used func() bool) {
	u := &replicaUse{Replica: r}
	return context.WithValue(ctx, replicaKey{}, u), u.used.Load
}

// ReadsReplica reports whether the queries of a context go to the replica.
func ReadsReplica(ctx context.Context) bool { return ctx.Value(replicaKey{}) != nil }

// replicaIn returns the pool for a query of a context. It is nil for the primary's pool.
func replicaIn(ctx context.Context) *sql.DB {
	if u, ok := ctx.Value(replicaKey{}).(*replicaUse); ok {
		u.used.Store(true)
		return u.DB.DB
	}
	return nil
}

// byContext chooses the connection of each query that isn't in a transaction.
type byContext struct{}

// ResolveConn implements bun.ConnResolver. nil means the pool that the query was built on.
func (byContext) ResolveConn(ctx context.Context, _ bun.Query) bun.IConn {
	if pool := replicaIn(ctx); pool != nil {
		return pool
	}
	return nil
}

// Close implements bun.ConnResolver.
func (byContext) Close() error { return nil }

// A Position is a position in the log of changes that the primary writes and its replicas replay.
// Positions only grow.
type Position int64

// Server is what a Postgres server reports about itself.
type Server struct {
	// Identity is the same for a primary and its replicas.
	Identity int64
	// Replaying is true for a replica that hasn't been promoted.
	Replaying bool
	// Position is how far the log is written or, on a replica, replayed. A later query sees all
	// transactions that were committed before it.
	Position Position
}

// ServerColumns selects the fields of Server in a query on Postgres. The position is read after the
// query's snapshot was taken, so it covers everything that the query sees.
const ServerColumns = `(SELECT system_identifier FROM pg_control_system()) AS identity, pg_is_in_recovery() AS replaying,
(CASE WHEN pg_is_in_recovery() THEN coalesce(pg_last_wal_replay_lsn(), '0/0') ELSE pg_current_wal_insert_lsn() END - '0/0')::bigint AS position`

// Check returns why the server can't serve as a replica of primary, or nil if it can.
func (s *Server) Check(primary *Server) error {
	switch {
	case s.Identity != primary.Identity:
		return errors.New("DATABASE_REPLICA_URL is not a copy of the server at DATABASE_URL")
	case !s.Replaying:
		return errors.New("DATABASE_REPLICA_URL is not a replica: it was promoted, or never was one")
	}
	return nil
}
