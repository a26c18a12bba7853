package database

import (
	"context"
	"database/sql"
	"encoding/hex"
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
// typed by the fields' bun tags: uuid, text, bytea, bigint, double precision, boolean, jsonb,
// timestamptz or, on Postgres only, bigint[]. Nil pointers and zero values of fields tagged nullzero
// become NULL. rows must not be empty. Postgres gets one array per column in its binary format,
// because parsing tens of thousands of literals, or the same in JSON, takes longer than writing the
// rows. Postgres plans the statement for each call.
func ExecRows[T any](ctx context.Context, tx bun.Tx, statement string, rows []T) (sql.Result, error) {
	if !IsPostgres(tx) {
		return tx.NewRaw("WITH v ("+namesOf(fieldsOf[T](tx))+") AS (?) "+statement, tx.NewValues(&rows)).Exec(ctx)
	}
	q, err := withRows(tx, pgx.QueryExecModeDescribeExec, statement, rows)
	if err != nil {
		return nil, err
	}
	return q.Exec(ctx)
}

// ScanRows is ExecRows for a query whose rows it reads into dest. Each connection plans the query only once.
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
	if !IsPostgres(db) {
		return withJSON(db, statement, rows)
	}
	table, columns, err := tableOf(db, rows, 0)
	if err != nil {
		return nil, err
	}
	return db.NewRaw(table + statement).Conn(bound{driverOf(db), append([]any{mode}, columns...)}), nil
}

// withJSON passes rows to SQLite as one text, so that the statement is the same for any number of rows.
func withJSON[T any](db bun.IDB, statement string, rows []T) (*bun.RawQuery, error) {
	fields, list := fieldsOf[T](db), reflect.ValueOf(rows)
	values := make([][]any, len(rows))
	for i := range rows {
		var err error
		if values[i], err = valuesOf(list.Index(i), fields); err != nil {
			return nil, err
		}
		for j, v := range values[i] {
			if b, ok := v.([]byte); ok {
				values[i][j] = hex.EncodeToString(b)
			}
		}
	}
	content, err := json.Marshal(values)
	if err != nil {
		return nil, fmt.Errorf("encode rows: %w", err)
	}
	columns := make([]string, len(fields))
	for i, f := range fields {
		columns[i] = "value ->> " + strconv.Itoa(i)
		if f.UserSQLType == "bytea" {
			columns[i] = "unhex(" + columns[i] + ")"
		}
	}
	p := NewPlanned(db)
	q := db.NewRaw("WITH v ("+namesOf(fields)+") AS (SELECT "+strings.Join(columns, ", ")+" FROM json_each(?)) "+statement,
		p.Value(string(content)))
	if p.conn != nil {
		q.Conn(bound{p.conn, p.args})
	}
	return q, nil
}

// tableOf begins a statement on Postgres that reads rows as the table v. It also returns the columns of rows, to be
// passed as arguments after others other arguments.
func tableOf[T any](db bun.IDB, rows []T, others int) (table string, columns []any, err error) {
	fields := fieldsOf[T](db)
	list := reflect.ValueOf(rows)
	pass := func(sqlType string, column any) (place string) {
		columns = append(columns, column)
		return "(SELECT $" + strconv.Itoa(others+len(columns)) + "::" + sqlType + "[])"
	}
	var arrays, names, values []string // of the columns that are passed as one array each, and of v
	unnested := func(sqlType string, column any) (name string) {
		name = "c" + strconv.Itoa(len(names))
		arrays, names = append(arrays, pass(sqlType, column)), append(names, name)
		return name
	}
	for _, f := range fields {
		if f.UserSQLType == "bigint[]" { // Postgres has no arrays of arrays of different lengths
			all, first, last := joined(list, f)
			values = append(values, pass("bigint", all)+"["+unnested("bigint", first)+":"+unnested("bigint", last)+"]")
			continue
		}
		column, err := columnOf(list, f)
		if err != nil {
			return "", nil, err
		}
		values = append(values, unnested(f.UserSQLType, column))
	}
	return "WITH v (" + namesOf(fields) + ") AS (SELECT " + strings.Join(values, ", ") + " FROM unnest(" + strings.Join(arrays, ", ") +
		") AS u (" + strings.Join(names, ", ") + ")) ", columns, nil
}

// joined returns the numbers of a bigint[] field of all rows as one array, and where those of each row begin and end in
// it, from 1.
func joined(rows reflect.Value, f *schema.Field) (all, first, last column[pgtype.Int8]) {
	all = column[pgtype.Int8]{} // nil would be NULL
	number := func(n int) pgtype.Int8 { return pgtype.Int8{Int64: int64(n), Valid: true} }
	for i := range rows.Len() {
		first = append(first, number(len(all)+1))
		for _, n := range f.Value(rows.Index(i)).Interface().([]int64) {
			all = append(all, pgtype.Int8{Int64: n, Valid: true})
		}
		last = append(last, number(len(all)))
	}
	return all, first, last
}

func fieldsOf[T any](db bun.IDB) []*schema.Field {
	return db.Dialect().Tables().Get(reflect.TypeFor[T]()).Fields
}

// namesOf lists the columns of fields.
func namesOf(fields []*schema.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return strings.Join(names, ", ")
}

// Write is a statement that inserts, updates or deletes, with the rows it reads.
type Write struct {
	// onPostgres returns the statement, and columns to pass as arguments after others other arguments.
	onPostgres func(db bun.IDB, others int) (statement string, columns []any, err error)
	// onSQLite runs the statement.
	onSQLite func(ctx context.Context, tx bun.Tx) error
}

// NewWrite makes a Write of a statement that reads rows as ExecRows does. There must be rows.
func NewWrite[T any](statement string, rows []T) Write {
	return Write{
		onPostgres: func(db bun.IDB, others int) (string, []any, error) {
			table, columns, err := tableOf(db, rows, others)
			return table + statement, columns, err
		},
		onSQLite: func(ctx context.Context, tx bun.Tx) error {
			_, err := ExecRows(ctx, tx, statement, rows)
			return err
		},
	}
}

// NewInsert makes a Write that inserts rows into a table. The columns are the fields of T, typed as for
// ExecRows. onConflict is an ON CONFLICT clause, or empty. The table may have an alias for it. There must be rows.
// SQLite prepares the statement once and runs it for each row, because parsing the rows as literals takes a
// third of the time.
func NewInsert[T any](table string, rows []T, onConflict string) Write {
	w := Write{onPostgres: func(db bun.IDB, others int) (string, []any, error) {
		v, columns, err := tableOf(db, rows, others)
		return v + "INSERT INTO " + table + " (" + namesOf(fieldsOf[T](db)) + ") SELECT * FROM v " + onConflict, columns, err
	}}
	w.onSQLite = func(ctx context.Context, tx bun.Tx) error {
		fields := fieldsOf[T](tx)
		places := make([]string, len(fields))
		for i := range places {
			places[i] = "$" + strconv.Itoa(i+1)
		}
		statement := "INSERT INTO " + table + " (" + namesOf(fields) + ") VALUES (" + strings.Join(places, ", ") + ") " + onConflict
		return execEach(ctx, tx, statement, rows)
	}
	return w
}

// NewEach makes a Write for SQLite that runs a statement once for each row, as NewInsert does. The statement names the
// fields of the row $1, $2 and so on, in this order.
func NewEach[T any](statement string, rows []T) Write {
	return Write{onSQLite: func(ctx context.Context, tx bun.Tx) error { return execEach(ctx, tx, statement, rows) }}
}

func execEach[T any](ctx context.Context, tx bun.Tx, statement string, rows []T) error {
	fields := fieldsOf[T](tx)
	bound := boundRows{tx.Tx, make([][]any, len(rows))}
	for i, list := 0, reflect.ValueOf(rows); i < len(rows); i++ {
		values, err := valuesOf(list.Index(i), fields)
		if err != nil {
			return err
		}
		bound.rows[i] = values
	}
	_, err := tx.NewRaw(statement).Conn(bound).Exec(ctx)
	return err
}

// boundRows runs a statement once for each row of arguments, which Bun doesn't know of.
type boundRows struct {
	bun.IConn
	rows [][]any
}

func (b boundRows) ExecContext(ctx context.Context, statement string, _ ...any) (res sql.Result, err error) {
	for _, args := range b.rows {
		if res, err = b.IConn.ExecContext(ctx, statement, args...); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// valuesOf returns the fields of a row as SQLite stores them.
func valuesOf(row reflect.Value, fields []*schema.Field) ([]any, error) {
	values := make([]any, len(fields))
	for i, f := range fields {
		v, ok := valueOf(row, f)
		if !ok {
			continue
		}
		value := v.Interface()
		if f.UserSQLType == "jsonb" {
			text, err := json.Marshal(value)
			if err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name, err)
			}
			value = string(text)
		}
		if values[i], ok = boundValue(value); !ok {
			return nil, fmt.Errorf("column %s: rows of type %T are not supported", f.Name, value)
		}
	}
	return values, nil
}

// valueOf returns a field of a row. ok is false if it is NULL.
func valueOf(row reflect.Value, f *schema.Field) (v reflect.Value, ok bool) {
	v = f.Value(row)
	switch {
	case v.Kind() == reflect.Pointer && f.UserSQLType != "jsonb":
		return v.Elem(), !v.IsNil()
	case f.NullZero && v.IsZero(), v.Kind() == reflect.Slice && v.IsNil() && f.UserSQLType == "bytea":
		return v, false
	}
	return v, true
}

// ExecWrites runs several writes to different tables. Postgres gets them as one statement, which
// each connection plans once. There, no write sees what another wrote. Postgres runs the last part of
// such a statement first, so the parts are in reverse order. It documents no order, so nothing but speed
// may depend on it: put a write last if other transactions wait for its rows. SQLite, where a statement
// costs no round trip, runs them one after the other. Outside a transaction, they get one.
func ExecWrites(ctx context.Context, db bun.IDB, writes ...Write) error {
	tx, ok := db.(bun.Tx)
	if !ok {
		return db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error { return ExecWrites(ctx, tx, writes...) })
	}
	return execWrites(ctx, tx, plannedMode(tx), writes)
}

// ExecLast is ExecWrites for the last statement of a transaction of InBriefTx. The statement runs with COMMIT, so InBriefTx
// returns its error. In other transactions, ExecLast is ExecWrites.
func ExecLast(ctx context.Context, tx bun.Tx, writes ...Write) error {
	if isUnplanned(tx) {
		return ExecWrites(ctx, tx, writes...)
	}
	return execWrites(ctx, tx, postponed{}, writes)
}

// execWrites runs writes in the given mode of the driver.
func execWrites(ctx context.Context, tx bun.Tx, mode any, writes []Write) error {
	if !IsPostgres(tx) {
		for _, w := range writes {
			if err := w.onSQLite(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	}
	var parts []string
	args := []any{mode}
	for i, w := range slices.Backward(writes) {
		statement, columns, err := w.onPostgres(tx, len(args)-1)
		if err != nil {
			return err
		}
		args = append(args, columns...)
		parts = append(parts, fmt.Sprintf("w%d AS (%s)", i, statement))
	}
	_, err := tx.NewRaw("WITH " + strings.Join(parts, ", ") + " SELECT 1").Conn(bound{tx.Tx, args}).Exec(ctx)
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
		if v, ok := valueOf(rows.Index(i), f); ok {
			column[i] = read(v)
		}
	}
	return column
}
