package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// Copy copies a Postgres database into an empty, migrated SQLite database, so that both can be
// measured with the same content. It doesn't copy the search index over texts, because its tables
// differ between the two databases. IndexWords makes that index.
func Copy(ctx context.Context, from, to *database.DB) (err error) {
	if from.Kind != database.Postgres || to.Kind != database.SQLite {
		return errors.New("load: can only copy from Postgres to SQLite")
	}
	conn, err := to.DB.DB.Conn(ctx)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	c := copier{from: from, to: conn}
	if err := c.run(ctx); err != nil {
		return fmt.Errorf("load: copy: %w", err)
	}
	return nil
}

type copier struct {
	from *database.DB
	to   *sql.Conn
}

func (c *copier) run(ctx context.Context) error {
	tables, err := c.strings(ctx, `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'bun_%'
		AND name NOT LIKE 'prediction\_words%' ESCAPE '\'`)
	if err != nil {
		return err
	}
	if err := c.exec(ctx, "PRAGMA foreign_keys = 0", "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, table := range tables {
		if err := c.table(ctx, table); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", table, err), c.exec(context.WithoutCancel(ctx), "ROLLBACK"))
		}
	}
	return c.exec(ctx, "COMMIT", "PRAGMA foreign_keys = 1")
}

// table drops the indexes of a table, copies its rows in the order of its key, and creates the
// indexes again.
func (c *copier) table(ctx context.Context, table string) (err error) {
	rows, err := c.from.DB.DB.QueryContext(ctx, fmt.Sprintf(`SELECT * FROM %q ORDER BY 1, 2`, table))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var names, definitions []string
	for _, column := range []struct {
		to   *[]string
		name string
	}{{&names, "name"}, {&definitions, "sql"}} {
		*column.to, err = c.strings(ctx, "SELECT "+column.name+" FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = ? ORDER BY name", table)
		if err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := c.exec(ctx, fmt.Sprintf("DROP INDEX %q", name)); err != nil {
			return err
		}
	}
	if err := c.rows(ctx, table, rows); err != nil {
		return err
	}
	return c.exec(ctx, definitions...)
}

// rowsAtOnce is the number of rows in one INSERT. The driver's time grows with the square of the
// number of parameters, so more rows would be slower.
const rowsAtOnce = 5

func (c *copier) rows(ctx context.Context, table string, rows *sql.Rows) error {
	types, err := rows.ColumnTypes()
	if err != nil {
		return err
	}
	columns := make([]string, len(types))
	for i, t := range types {
		columns[i] = fmt.Sprintf("%q", t.Name())
	}
	// Replace rows that the migrations and triggers have already made.
	insert := "INSERT OR REPLACE INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES "
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(types)), ", ") + ")"
	many, err := c.to.PrepareContext(ctx, insert+strings.TrimSuffix(strings.Repeat(one+", ", rowsAtOnce), ", "))
	if err != nil {
		return err
	}
	defer many.Close()
	values, targets := make([]any, len(types)), make([]any, len(types))
	for i := range values {
		targets[i] = &values[i]
	}
	var waiting []any
	for rows.Next() {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		for i, v := range values {
			waiting = append(waiting, stored(v, types[i].DatabaseTypeName()))
		}
		if len(waiting) == rowsAtOnce*len(types) {
			if _, err := many.ExecContext(ctx, waiting...); err != nil {
				return err
			}
			waiting = waiting[:0]
		}
	}
	for row := range slices.Chunk(waiting, len(types)) {
		if _, err := c.to.ExecContext(ctx, insert+one, row...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// stored returns a value as our models write it on SQLite. Times are text in UTC.
func stored(v any, kind string) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.999999-07:00")
	case []byte:
		if kind != "BYTEA" {
			return string(v)
		}
	}
	return v
}

func (c *copier) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := c.to.ExecContext(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

func (c *copier) strings(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := c.to.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, rows.Err()
}
