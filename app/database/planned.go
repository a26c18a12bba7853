package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/schema"
)

// Planned makes a query that each connection plans only once. Bun writes values into the text of a
// query, so the database sees each query as new. Planning a few joins can take longer than running
// them. Use Planned for the most frequent queries. It makes an ordinary query behind a pooler, and if
// DATABASE_URL sets statement_cache_capacity=0.
type Planned struct {
	conn   bun.IConn // nil for an ordinary query
	sqlite bool
	first  int // number of the args before the first value
	args   []any
}

// NewPlanned begins a query on db.
func NewPlanned(db bun.IDB) *Planned {
	conn := driverOf(db)
	switch {
	case conn == nil || isUnplanned(db):
		return &Planned{}
	case IsPostgres(db):
		return &Planned{conn: conn, first: 1, args: []any{pgx.QueryExecModeCacheStatement}}
	}
	return &Planned{conn: conn, sqlite: true}
}

// Value returns what to pass to Bun's builder in place of v. Two queries share a plan only if they
// differ in nothing but such values. A connection keeps 512 plans on Postgres, and keptStatements on
// SQLite.
func (p *Planned) Value(v any) any {
	if p.conn == nil {
		return v
	}
	if p.sqlite {
		value, ok := boundValue(v)
		if !ok {
			return v
		}
		v = value
	} else {
		v = postgresValue(v)
	}
	p.args = append(p.args, v)
	return bun.Safe(fmt.Sprintf("$%d", len(p.args)-p.first))
}

// postgresValue returns v in a type that the driver encodes by itself. It would turn each UUID into a text and
// back.
func postgresValue(v any) any {
	switch v := v.(type) {
	case *pgdialect.ArrayValue: // Bun's own type
		return postgresValue(v.Value())
	case uuid.UUID:
		return [16]byte(v)
	case []uuid.UUID:
		ids := make(pgtype.FlatArray[pgtype.UUID], len(v))
		for i := range v {
			ids[i] = pgtype.UUID{Bytes: v[i], Valid: true}
		}
		return ids
	}
	return v
}

// In limits q to rows in which column is one of values, a slice of texts or of UUIDs. Lists of any length share
// one plan.
//
// On Postgres the list is a subquery, so that Postgres doesn't plan the query anew for it. It would expect a
// plan for a short list to be better than one for any list, and planning takes longer than the query.
func (p *Planned) In(q *bun.SelectQuery, column string, values any) *bun.SelectQuery {
	ids, isIDs := values.([]uuid.UUID)
	switch {
	case p.conn == nil && isIDs:
		return WhereIDs(q, column, ids)
	case p.conn == nil:
		return q.Where("? IN (?)", bun.Ident(column), bun.List(values))
	case p.sqlite:
		list, _ := json.Marshal(values) // texts and UUIDs always marshal
		return q.Where("? IN (SELECT value FROM json_each(?))", bun.Ident(column), p.Value(string(list)))
	}
	list := "text[]"
	if isIDs {
		list = "uuid[]"
	}
	return q.Where("? = ANY((SELECT ?::?)::?)", bun.Ident(column), p.Value(values), bun.Safe(list), bun.Safe(list))
}

// Prefixed adds columns of the table alias to what q selects. Their names begin with prefix, as in a struct that embeds
// the table's model by Bun's tag "embed:prefix".
func Prefixed(q *bun.SelectQuery, alias, prefix string, columns ...string) *bun.SelectQuery {
	for _, c := range columns {
		q = q.ColumnExpr("?.? AS ?", bun.Ident(alias), bun.Ident(c), bun.Ident(prefix+c))
	}
	return q
}

// Scan runs q, which was built with values of p, and reads its rows into dest.
func (p *Planned) Scan(ctx context.Context, q *bun.SelectQuery, dest ...any) error {
	if p.conn != nil {
		q = q.Conn(bound{p.conn, p.args})
	}
	return q.Scan(ctx, dest...)
}

// unplanned is the dialect of a pool whose connections must not keep prepared statements.
type unplanned struct{ schema.Dialect }

// WithoutPlans returns a handle on the same pool whose queries hold their values in the text, including those of
// Planned.
func WithoutPlans(db *bun.DB) *bun.DB { return bun.NewDB(db.DB, unplanned{db.Dialect()}) }

func isUnplanned(db bun.IDB) bool {
	_, plain := db.Dialect().(unplanned)
	return plain
}

// bound passes arguments to the driver that Bun doesn't know of.
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

// driverOf returns the connection below Bun, or nil if the type of db is unknown.
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
