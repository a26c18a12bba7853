package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// recording holds the rows that one publish wrote on Postgres. They are read back from the
// database, so the recording stays right when the schema changes.
type recording struct{ rows []storedRow }

// storedRow is one row that a publish inserted or updated.
type storedRow struct {
	table    string
	columns  []string
	values   []*string // as text; nil for NULL
	key      []string  // names of the primary key's columns
	types    []string
	inserted bool // otherwise updated
}

func (r storedRow) value(column string) string {
	if i := slices.Index(r.columns, column); i >= 0 && r.values[i] != nil {
		return *r.values[i]
	}
	return ""
}

// main returns the row of the prediction.
func (r *recording) main() storedRow {
	return r.rows[slices.IndexFunc(r.rows, func(s storedRow) bool { return s.table == "predictions" })]
}

// without returns the recording without the rows of a table.
func (r *recording) without(table string) *recording {
	return &recording{slices.DeleteFunc(slices.Clone(r.rows), func(s storedRow) bool { return s.table == table })}
}

// keyTable is the table with the Idempotency-Keys and their answers.
const keyTable = "idempotency_keys"

// record publishes twice with a key as one agent on a market, and reads the rows that the second publish
// wrote. After the first publish the agent's counters exist, as they do for nearly every publish.
func (p *postgres) record(
	ctx context.Context, database string, publisher *publisher, market string,
) (r *recording, err error) {
	conn, err := pgx.Connect(ctx, p.url(database))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	if _, err := publisher.run(ctx, traffic{clients: 1, count: 1, keyed: true, market: market}); err != nil {
		return nil, err
	}
	// This transaction keeps seeing the rows as they were before the second publish.
	before, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return nil, err
	}
	defer before.Rollback(context.WithoutCancel(ctx))
	tables, err := listTables(ctx, before)
	if err != nil {
		return nil, err
	}
	if _, err := publisher.run(ctx, traffic{clients: 1, count: 1, keyed: true, market: market}); err != nil {
		return nil, err
	}
	now, err := pgx.Connect(ctx, p.url(database))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, now.Close(context.WithoutCancel(ctx))) }()
	var transaction string
	err = now.QueryRow(ctx, "SELECT xmin::text FROM predictions ORDER BY id DESC LIMIT 1").Scan(&transaction)
	if err != nil {
		return nil, err
	}
	r = &recording{}
	for _, table := range tables {
		rows, err := writtenBy(ctx, now, table, transaction)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if row.inserted, err = row.missing(ctx, before); err != nil {
				return nil, err
			}
			r.rows = append(r.rows, row)
		}
	}
	return r, r.check()
}

func (r *recording) check() error {
	inserted := 0
	for _, row := range r.rows {
		if row.inserted {
			inserted++
		}
	}
	isPrediction := func(s storedRow) bool { return s.table == "predictions" && s.inserted }
	if inserted < 4 || !slices.ContainsFunc(r.rows, isPrediction) {
		return fmt.Errorf("record: a publish inserted %d rows; is the prediction written in more than one transaction?", inserted)
	}
	if !slices.ContainsFunc(r.rows, func(s storedRow) bool { return s.table == keyTable && s.inserted }) {
		return errors.New("record: the publish stored no key")
	}
	return nil
}

func listTables(ctx context.Context, tx pgx.Tx) ([]string, error) {
	rows, err := tx.Query(ctx, `SELECT relname::text FROM pg_class
		WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// missing reports whether tx sees no row with the key of r.
func (r storedRow) missing(ctx context.Context, tx pgx.Tx) (missing bool, err error) {
	var where []string
	for _, name := range r.key {
		where = append(where, pgx.Identifier{name}.Sanitize()+" = "+literal(r.value(name)))
	}
	err = tx.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM "+pgx.Identifier{r.table}.Sanitize()+
		" WHERE "+strings.Join(where, " AND ")+")").Scan(&missing)
	return missing, err
}

// writtenBy returns the rows of a table that a transaction wrote.
func writtenBy(ctx context.Context, conn *pgx.Conn, table, transaction string) ([]storedRow, error) {
	var names, types, key []string
	err := conn.QueryRow(ctx, `SELECT array_agg(attname::text ORDER BY attnum),
			array_agg(format_type(atttypid, atttypmod) ORDER BY attnum),
			(SELECT array_agg(k.attname::text) FROM pg_index AS i
				JOIN pg_attribute AS k ON k.attrelid = i.indrelid AND k.attnum = ANY (i.indkey)
				WHERE i.indrelid = $1::regclass AND i.indisprimary)
		FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''`,
		pgx.Identifier{table}.Sanitize()).Scan(&names, &types, &key)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = pgx.Identifier{name}.Sanitize() + "::text"
	}
	found, err := conn.Query(ctx, "SELECT ARRAY["+strings.Join(texts, ", ")+"] FROM "+pgx.Identifier{table}.Sanitize()+
		" WHERE xmin::text = $1", transaction)
	if err != nil {
		return nil, err
	}
	values, err := pgx.CollectRows(found, pgx.RowTo[[]*string])
	if err != nil {
		return nil, err
	}
	out := make([]storedRow, len(values))
	for i := range values {
		out[i] = storedRow{table: table, columns: names, types: types, values: values[i], key: key}
	}
	return out, nil
}

// These are pgbench's expressions for the values that differ between publishes: the id, which rises
// with time as ours does, the Idempotency-Key, the agent and the time.
const (
	variables = "\\set n :n + 1\n\\set number :base + :n * 1024 + :client_id\n\\set agent random(1, :agents)\n"
	newID     = `CAST('0198aaaa00007000' || lpad(to_hex(CAST(:number AS bigint)), 16, '0') AS uuid)`
	newKey    = `'key-' || (:number)`
	someAgent = `CAST('0198bbbb00007000' || lpad(to_hex(CAST(:agent AS bigint)), 16, '0') AS uuid)`
)

// script returns a pgbench transaction that writes what the publish wrote. It leaves out rows that
// all publishes update, such as the counters of a market. Otherwise transactions would wait for
// each other there, and the reference would be slower.
func (r *recording) script() string {
	var out strings.Builder
	out.WriteString(variables + "BEGIN;\n")
	for _, table := range writeOrder(r.rows) {
		for _, row := range r.rows {
			switch {
			case row.table != table:
			case row.inserted:
				out.WriteString(r.insert(row, row.table) + ";\n")
			case row.value("agent_id") == r.main().value("agent_id"):
				out.WriteString(r.update(row) + ";\n")
			}
		}
	}
	return out.String() + "COMMIT;\n"
}

// perTransaction is how many publishes the script of a group commit writes at once.
const perTransaction = 64

// groupScript returns a pgbench transaction that writes what perTransaction publishes wrote, by
// different agents. It has one statement for each row that a publish wrote.
func (r *recording) groupScript() string {
	series := fmt.Sprintf("generate_series(1, %d) AS k", perTransaction)
	var out strings.Builder
	for _, table := range writeOrder(r.rows) {
		for _, row := range r.rows {
			switch {
			case row.table != table:
			case row.inserted:
				insert := strings.Replace(r.insert(row, row.table), ") VALUES (", ") SELECT ", 1)
				out.WriteString(strings.TrimSuffix(insert, ")") + " FROM " + series + ";\n")
			case row.value("agent_id") == r.main().value("agent_id"):
				out.WriteString(strings.Replace(r.update(row), " WHERE ", " FROM "+series+" WHERE ", 1) + ";\n")
			}
		}
	}
	// Each row of the series gets a different number and a different agent.
	each := strings.NewReplacer(":number", ":number + k", ":agent", "(:agent + k) % :agents + 1").Replace(out.String())
	return variables + "BEGIN;\n" + each + "COMMIT;\n"
}

// writeOrder lists the tables with predictions first, because other tables refer to it.
func writeOrder(rows []storedRow) []string {
	tables := []string{"predictions"}
	for _, row := range rows {
		if !slices.Contains(tables, row.table) {
			tables = append(tables, row.table)
		}
	}
	return tables
}

// insert returns the statement that inserts a row into a table with the same columns.
func (r *recording) insert(row storedRow, into string) string {
	names, values := make([]string, len(row.columns)), make([]string, len(row.columns))
	for i, name := range row.columns {
		names[i], values[i] = pgx.Identifier{name}.Sanitize(), r.expression(row, i)
	}
	return fmt.Sprintf("INSERT INTO %s (%s) VALUES (%s)",
		pgx.Identifier{into}.Sanitize(), strings.Join(names, ", "), strings.Join(values, ", "))
}

func (r *recording) update(row storedRow) string {
	var sets, where []string
	for i, name := range row.columns {
		assignment := pgx.Identifier{name}.Sanitize() + " = " + r.expression(row, i)
		if slices.Contains(row.key, name) {
			where = append(where, assignment)
		} else {
			sets = append(sets, assignment)
		}
	}
	return fmt.Sprintf("UPDATE %s SET %s WHERE %s",
		pgx.Identifier{row.table}.Sanitize(), strings.Join(sets, ", "), strings.Join(where, " AND "))
}

// expression returns the SQL value of a column for another prediction, by another agent, made now.
func (r *recording) expression(row storedRow, column int) string {
	value, main := row.values[column], r.main()
	switch {
	case value == nil:
		return "NULL"
	case *value == main.value("id"), row.inserted && slices.Equal(row.key, row.columns[column:column+1]) && row.types[column] == "uuid":
		return newID
	case *value == main.value("agent_id"):
		return someAgent
	case *value == main.value("created_at") && strings.HasPrefix(row.types[column], "timestamp"):
		return "now()"
	case row.table == keyTable && row.columns[column] == "key":
		return newKey
	}
	return literal(*value)
}

// literal quotes a value. It escapes colons, which begin a variable in pgbench.
func literal(value string) string {
	return "E'" + strings.NewReplacer(`\`, `\\`, "'", "''", ":", `\x3A`, "\n", `\n`).Replace(value) + "'"
}

// addScriptAgents copies the recorded agent, and those of its rows that the script updates, so that
// every agent that someAgent chooses exists.
func (r *recording) addScriptAgents(ctx context.Context, p *postgres, database string) error {
	const copies = `INSERT INTO %[1]s SELECT (jsonb_populate_record(t, jsonb_build_object(%[2]s))).*
		FROM %[1]s AS t, generate_series(1, %[3]d) AS n WHERE %[4]s`
	id := strings.ReplaceAll(someAgent, ":agent", "n")
	statements := []string{fmt.Sprintf(copies, "agents", "'id', "+id+", 'handle', 'script-' || n", agents,
		"t.id = "+literal(r.main().value("agent_id")))}
	for _, row := range r.rows {
		if row.inserted || row.value("agent_id") != r.main().value("agent_id") {
			continue
		}
		var where []string
		for _, name := range row.key {
			where = append(where, "t."+pgx.Identifier{name}.Sanitize()+" = "+literal(row.value(name)))
		}
		table := pgx.Identifier{row.table}.Sanitize()
		statements = append(statements, fmt.Sprintf(copies, table, "'agent_id', "+id, agents, strings.Join(where, " AND ")))
	}
	return p.exec(ctx, database, append(statements, "ANALYZE")...)
}
