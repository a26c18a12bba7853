package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// ExecRows runs a statement that reads rows as the table v. The table has one column per field,
// typed by the fields' bun tags: uuid, text, bytea, bigint, double precision, boolean, jsonb or
// timestamptz. Nil pointers and zero values of fields tagged nullzero become NULL. rows must not be
// empty. Postgres gets one array per column in its binary format, because parsing tens of thousands
// of literals, or the same in JSON, takes longer than writing the rows. Postgres plans the
// statement for each call.
func ExecRows[T any](ctx context.Context, tx bun.Tx, statement string, rows []T) (sql.Result, error) {
	q, err := withRows(tx, pgx.QueryExecModeDescribeExec, statement, rows)
	if err != nil {
		return nil, err
	}
	return q.Exec(ctx)
}

// ExecPlannedRows is ExecRows, but each connection to Postgres plans the statement only once. Use
// it for statements that run often.
func ExecPlannedRows[T any](ctx context.Context, db bun.IDB, statement string, rows []T) (res sql.Result, err error) {
	err = inOneSession(ctx, db, func(ctx context.Context, db bun.IDB) error {
		q, err := withRows(db, plannedMode(db), statement, rows)
		if err == nil {
			res, err = q.Exec(ctx)
		}
		return err
	})
	return res, err
}

// ScanRows is ExecPlannedRows for a query. It reads the query's rows into dest.
func ScanRows[T any](ctx context.Context, db bun.IDB, query string, rows []T, dest any) error {
	return inOneSession(ctx, db, func(ctx context.Context, db bun.IDB) error {
		q, err := withRows(db, plannedMode(db), query, rows)
		if err != nil {
			return err
		}
		return q.Scan(ctx, dest)
	})
}

// inOneSession runs f in a transaction if connections keep no statements. Otherwise a pooler might
// send the round trips of one statement to different server connections.
func inOneSession(ctx context.Context, db bun.IDB, f func(ctx context.Context, db bun.IDB) error) error {
	if _, within := db.(bun.Tx); within || !isUnplanned(db) {
		return f(ctx, db)
	}
	return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error { return f(ctx, tx) })
}

// plannedMode returns the mode that keeps a prepared statement, unless the connections keep none.
func plannedMode(db bun.IDB) pgx.QueryExecMode {
	if isUnplanned(db) {
		return pgx.QueryExecModeDescribeExec
	}
	return pgx.QueryExecModeCacheStatement
}

// withRows hides the number of rows from Postgres. If Postgres knew that there are 1,000, it would
// read tables of tens of thousands of rows from start to end, because it prices each index lookup
// as a read from a spinning disk (random_page_cost). For an array from a subquery it expects ten
// elements.
func withRows[T any](db bun.IDB, mode pgx.QueryExecMode, statement string, rows []T) (*bun.RawQuery, error) {
	table, columns, err := tableOf(db, rows, 0)
	if err != nil {
		return nil, err
	}
	if columns == nil {
		return db.NewRaw(table+"(?) "+statement, db.NewValues(&rows)), nil
	}
	return db.NewRaw(table + statement).Conn(bound{driverOf(db), append([]any{mode}, columns...)}), nil
}

// tableOf begins a statement that reads rows as the table v. On Postgres it also returns the
// columns of rows, to be passed as arguments after others other arguments.
func tableOf[T any](db bun.IDB, rows []T, others int) (table string, columns []any, err error) {
	fields := db.Dialect().Tables().Get(reflect.TypeFor[T]()).Fields
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	table = "WITH v (" + strings.Join(names, ", ") + ") AS "
	if !IsPostgres(db) {
		return table, nil, nil
	}
	arrays := make([]string, len(fields))
	columns = make([]any, len(fields))
	list := reflect.ValueOf(rows)
	for i, f := range fields {
		arrays[i] = "(SELECT $" + strconv.Itoa(others+i+1) + "::" + f.UserSQLType + "[])"
		if columns[i], err = columnOf(list, f); err != nil {
			return "", nil, err
		}
	}
	return table + "(SELECT * FROM unnest(" + strings.Join(arrays, ", ") + ")) ", columns, nil
}

// Write is a statement that inserts, updates or deletes, with the rows it reads.
type Write struct {
	statement string
	table     func(db bun.IDB, others int) (string, []any, error)
	exec      func(ctx context.Context, tx bun.Tx) error
}

// NewWrite makes a Write of a statement that reads rows as ExecRows does. There must be rows.
func NewWrite[T any](statement string, rows []T) Write {
	return Write{
		statement: statement,
		table:     func(db bun.IDB, others int) (string, []any, error) { return tableOf(db, rows, others) },
		exec: func(ctx context.Context, tx bun.Tx) error {
			_, err := ExecPlannedRows(ctx, tx, statement, rows)
			return err
		},
	}
}

// ExecWrites runs several writes to different tables. Postgres gets them as one statement, which
// each connection plans once. There, no write sees what another wrote. Postgres runs the last part of
// such a statement first, so the parts are in reverse order. It documents no order, so nothing but speed
// may depend on it: put a write last if other transactions wait for its rows. SQLite, where a statement
// costs no round trip, runs them one after the other.
func ExecWrites(ctx context.Context, tx bun.Tx, writes ...Write) error {
	if !IsPostgres(tx) {
		for _, w := range writes {
			if err := w.exec(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	}
	var text strings.Builder
	args := []any{plannedMode(tx)}
	for i, w := range slices.Backward(writes) {
		table, columns, err := w.table(tx, len(args)-1)
		if err != nil {
			return err
		}
		args = append(args, columns...)
		text.WriteString(map[bool]string{true: "WITH ", false: ", "}[i == len(writes)-1])
		fmt.Fprintf(&text, "w%d AS (%s%s)", i, table, w.statement)
	}
	text.WriteString(" SELECT 1")
	_, err := tx.NewRaw(text.String()).Conn(bound{tx.Tx, args}).Exec(ctx)
	return err
}

// columnOf is one field of all rows, as an array that pgx writes without reflection.
func columnOf(rows reflect.Value, f *schema.Field) (any, error) {
	switch f.UserSQLType {
	case "uuid":
		return array(rows, f, func(v reflect.Value) pgtype.UUID {
			return pgtype.UUID{Bytes: v.Interface().(uuid.UUID), Valid: true}
		}), nil
	case "text":
		return array(
			rows, f, func(v reflect.Value) pgtype.Text { return pgtype.Text{String: v.String(), Valid: true} },
		), nil
	case "bytea":
		return array(rows, f, reflect.Value.Bytes), nil
	case "bigint":
		return array(rows, f, func(v reflect.Value) pgtype.Int8 { return pgtype.Int8{Int64: v.Int(), Valid: true} }), nil
	case "double precision":
		return array(
			rows, f, func(v reflect.Value) pgtype.Float8 { return pgtype.Float8{Float64: v.Float(), Valid: true} },
		), nil
	case "jsonb":
		texts := make(column[[]byte], rows.Len())
		for i := range texts {
			var err error
			if texts[i], err = json.Marshal(f.Value(rows.Index(i)).Interface()); err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name, err)
			}
		}
		return texts, nil
	case "boolean":
		return array(rows, f, func(v reflect.Value) pgtype.Bool { return pgtype.Bool{Bool: v.Bool(), Valid: true} }), nil
	case "timestamptz":
		return array(rows, f, func(v reflect.Value) pgtype.Timestamptz {
			return pgtype.Timestamptz{Time: v.Interface().(time.Time), Valid: true}
		}), nil
	}
	return nil, fmt.Errorf("column %s: rows of type %q are not supported", f.Name, f.UserSQLType)
}

// column is pgtype.FlatArray, but hands out pointers: to put each value into an interface
// would allocate it.
type column[V any] []V

func (c column[V]) Dimensions() []pgtype.ArrayDimension {
	return []pgtype.ArrayDimension{{Length: int32(len(c)), LowerBound: 1}}
}

func (c column[V]) Index(i int) any { return &c[i] }

func (column[V]) IndexType() any { return new(V) }

func array[V any](rows reflect.Value, f *schema.Field, read func(reflect.Value) V) column[V] {
	column := make(column[V], rows.Len())
	for i := range column {
		v := f.Value(rows.Index(i))
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				continue
			}
			v = v.Elem()
		} else if f.NullZero && v.IsZero() {
			continue
		}
		column[i] = read(v)
	}
	return column
}
