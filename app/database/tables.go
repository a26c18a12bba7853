package database

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/uptrace/bun"
)

// Table is a table of the open database.
type Table struct {
	Name    string
	Columns []Column
	// Key names the columns of the primary key, in key order. A search index of SQLite has none.
	Key []string
	// Parents names the tables that foreign keys refer to.
	Parents []string
}

// Column is a column of a table. Type is the engine's name for it, such as "uuid" or "TEXT".
type Column struct{ Name, Type string }

// columnRow is a column as the engine's catalogue lists it.
type columnRow struct {
	Owner, Name, Type string
	Place             int64 // position in the primary key, from 1; 0 if not part of it
}

type parentRow struct{ Owner, Parent string }

const (
	sqliteColumns = `SELECT t.name AS owner, c.name, c.type, c.pk AS place FROM pragma_table_list AS t, pragma_table_info(t.name) AS c
		WHERE t.schema = 'main' AND t.type IN ('table', 'virtual') AND t.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY t.name, c.cid`
	sqliteParents = `SELECT t.name AS owner, f."table" AS parent FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS f
		WHERE t.schema = 'main' AND t.type = 'table'`
	postgresColumns = `SELECT r.relname AS owner, a.attname AS name, format_type(a.atttypid, NULL) AS type,
			COALESCE(array_position(x.indkey::int2[], a.attnum) + 1, 0) AS place
		FROM pg_class AS r JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum > 0 AND NOT a.attisdropped
		LEFT JOIN pg_index AS x ON x.indrelid = r.oid AND x.indisprimary
		WHERE r.relnamespace = current_schema()::regnamespace AND r.relkind IN ('r', 'p') AND NOT r.relispartition
		ORDER BY r.relname, a.attnum`
	postgresParents = `SELECT r.relname AS owner, p.relname AS parent FROM pg_constraint AS c
		JOIN pg_class AS r ON r.oid = c.conrelid AND r.relnamespace = current_schema()::regnamespace AND NOT r.relispartition
		JOIN pg_class AS p ON p.oid = c.confrelid WHERE c.contype = 'f' AND c.conparentid = 0`
)

// Tables lists the tables of the schema, without views. Each table comes after the tables that its
// foreign keys refer to. It leaves out Bun's tables and the table of Incoming.
func (db *DB) Tables(ctx context.Context) ([]Table, error) {
	forColumns, forParents := sqliteColumns, sqliteParents
	if db.Kind == Postgres {
		forColumns, forParents = postgresColumns, postgresParents
	}
	var columns []columnRow
	if err := db.NewRaw(forColumns).Scan(ctx, &columns); err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	var parents []parentRow
	if err := db.NewRaw(forParents).Scan(ctx, &parents); err != nil {
		return nil, fmt.Errorf("list foreign keys: %w", err)
	}
	return inOrder(tablesOf(columns, parents)), nil
}

func tablesOf(columns []columnRow, parents []parentRow) []Table {
	var list []Table
	for _, c := range columns {
		if strings.HasPrefix(c.Owner, "bun_") || c.Owner == incomingTable {
			continue
		}
		if len(list) == 0 || list[len(list)-1].Name != c.Owner {
			list = append(list, Table{Name: c.Owner})
		}
		t := &list[len(list)-1]
		t.Columns = append(t.Columns, Column{c.Name, c.Type})
		if c.Place > 0 {
			t.Key = append(t.Key, make([]string, max(0, int(c.Place)-len(t.Key)))...)
			t.Key[c.Place-1] = c.Name
		}
	}
	for _, p := range parents {
		i := slices.IndexFunc(list, func(t Table) bool { return t.Name == p.Owner })
		if i >= 0 && p.Parent != p.Owner && !slices.Contains(list[i].Parents, p.Parent) {
			list[i].Parents = append(list[i].Parents, p.Parent)
		}
	}
	return list
}

// inOrder puts each table after its parents. Tables whose foreign keys form a cycle come last; the
// schema has none.
func inOrder(list []Table) []Table {
	ordered := make([]Table, 0, len(list))
	placed := map[string]bool{}
	for len(list) > 0 {
		rest := list[:0:0]
		for _, t := range list {
			if slices.ContainsFunc(t.Parents, func(p string) bool { return !placed[p] }) {
				rest = append(rest, t)
				continue
			}
			ordered, placed[t.Name] = append(ordered, t), true
		}
		if len(rest) == len(list) {
			return append(ordered, rest...)
		}
		list = rest
	}
	return ordered
}

// CountRows returns the number of rows of a table.
func CountRows(ctx context.Context, db bun.IDB, table string) (n int64, err error) {
	if err := db.NewRaw("SELECT COUNT(*) FROM ?", bun.Ident(table)).Scan(ctx, &n); err != nil {
		return 0, fmt.Errorf("count the rows of %s: %w", table, err)
	}
	return n, nil
}
