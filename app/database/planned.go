package database

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
)

// Planned makes a query that each connection to Postgres plans once. Bun writes values
// into the text of a query, so that Postgres meets every one for the first time, and to
// plan a few joins can take it longer than to run them. It is for the queries that are
// asked most. On SQLite the query is one like any other, and so it is behind a pooler and where
// DATABASE_URL says statement_cache_capacity=0.
type Planned struct {
	conn bun.IConn // nil where the query is one like any other
	args []any
}

// NewPlanned begins a query on db.
func NewPlanned(db bun.IDB) *Planned {
	conn := driverOf(db)
	if isUnplanned(db) || conn == nil || !IsPostgres(db) {
		return &Planned{}
	}
	return &Planned{conn: conn, args: []any{pgx.QueryExecModeCacheStatement}}
}

// Value is what Bun's builder gets in place of a value. Whatever else differs between two
// queries makes another plan, and a connection keeps 512.
func (p *Planned) Value(v any) any {
	if p.conn == nil {
		return v
	}
	p.args = append(p.args, v)
	return bun.Safe(fmt.Sprintf("$%d", len(p.args)-1))
}

// Scan runs q, made with the values of p, and reads its rows into dest.
func (p *Planned) Scan(ctx context.Context, q *bun.SelectQuery, dest any) error {
	if p.conn != nil {
		q = q.Conn(bound{p.conn, p.args})
	}
	return q.Scan(ctx, dest)
}

// unplanned is the dialect of a Postgres whose connections are to keep no statements.
type unplanned struct{ *pgdialect.Dialect }

func isUnplanned(db bun.IDB) bool {
	_, plain := db.Dialect().(unplanned)
	return plain
}

// bound gives the driver arguments that Bun does not know of.
type bound struct {
	bun.IConn
	args []any
}

func (b bound) QueryContext(ctx context.Context, query string, _ ...any) (*sql.Rows, error) {
	conn := b.IConn
	if _, pool := conn.(*sql.DB); pool {
		if replica := replicaIn(ctx); replica != nil {
			conn = replica
		}
	}
	return conn.QueryContext(ctx, query, b.args...)
}

func (b bound) ExecContext(ctx context.Context, query string, _ ...any) (sql.Result, error) {
	return b.IConn.ExecContext(ctx, query, b.args...)
}

// driverOf is what is under Bun, nil when that cannot be told.
func driverOf(db bun.IDB) bun.IConn {
	switch db := db.(type) {
	case *DB:
		return db.DB.DB
	case *bun.DB:
		return db.DB
	case bun.Tx:
		return db.Tx
	case bun.Conn:
		return db.Conn
	}
	return nil
}
