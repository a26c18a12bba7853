package transfer

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pulsecast/pulsecast/app/database"
)

// kind is the type of a column, as Postgres names it.
type kind string

// The kinds.
const (
	kindUUID  kind = "uuid"
	kindText  kind = "text"
	kindTime  kind = "timestamp with time zone"
	kindJSON  kind = "jsonb"
	kindBytes kind = "bytea"
	kindFloat kind = "double precision"
	kindInt   kind = "bigint"
	kindBool  kind = "boolean"
)

// kindsByType maps the types of columns to kinds. Some types are read as another kind.
var kindsByType = map[string]kind{
	"uuid": kindUUID, "text": kindText, "timestamp with time zone": kindTime, "jsonb": kindJSON, "bytea": kindBytes,
	"double precision": kindFloat, "bigint": kindInt, "integer": kindInt, "boolean": kindBool,
}

// table is a table that both sides have. Its columns are in the same order on both.
type table struct {
	name    string
	columns []string
	kinds   []kind
	key     []int // indexes of the primary key's columns
}

// tablesOf lists the tables of both sides, each after those it refers to. It uses the types of
// Postgres, which has a type for each kind. It fails if the tables of the two sides differ.
func tablesOf(ctx context.Context, from, to *database.DB) ([]table, error) {
	theirs, err := from.Tables(ctx)
	if err != nil {
		return nil, err
	}
	ours, err := to.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if a, b := shapeOf(theirs), shapeOf(ours); a != b {
		return nil, fmt.Errorf("the databases have different tables: the source %s; the target %s", a, b)
	}
	typed := ours
	if from.Kind == database.Postgres {
		typed = theirs
	}
	list := make([]table, 0, len(typed))
	for i := range ours { // in the order that the target needs
		j := slices.IndexFunc(typed, func(t database.Table) bool { return t.Name == ours[i].Name })
		t, err := tableOf(&typed[j])
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return list, nil
}

func tableOf(d *database.Table) (t table, err error) {
	t.name = d.Name
	for _, c := range d.Columns {
		k, ok := kindsByType[c.Type]
		if !ok && derived[d.Name] == "" {
			return t, fmt.Errorf("column %s of %s has the type %s, which a copy doesn't support", c.Name, d.Name, c.Type)
		}
		t.columns, t.kinds = append(t.columns, c.Name), append(t.kinds, k)
	}
	for _, name := range d.Key {
		t.key = append(t.key, slices.Index(t.columns, name))
	}
	if len(t.key) == 0 {
		return t, fmt.Errorf("%s has no primary key", d.Name)
	}
	return t, nil
}

// shapeOf returns the sorted names of tables and columns, to compare two databases.
func shapeOf(tables []database.Table) string {
	var lines []string
	for _, t := range tables {
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.Name
		}
		slices.Sort(names)
		lines = append(lines, t.Name+"("+strings.Join(names, ",")+")")
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// list returns the columns for a statement.
func (t *table) list() string {
	quoted := make([]string, len(t.columns))
	for i, name := range t.columns {
		quoted[i] = `"` + name + `"`
	}
	return strings.Join(quoted, ", ")
}

const (
	// batchRows and batchBytes are the maximum size of a batch in memory.
	batchRows  = 5000
	batchBytes = 8 << 20
)

// batch collects rows up to the maximum size.
type batch struct {
	rows  [][]any
	bytes int
}

// add adds a row. It reports whether there is room for more.
func (b *batch) add(row []any) bool {
	b.rows = append(b.rows, row)
	for _, v := range row {
		switch v := v.(type) {
		case string:
			b.bytes += len(v)
		case []byte:
			b.bytes += len(v)
		default:
			b.bytes += 16
		}
	}
	return len(b.rows) < batchRows && b.bytes < batchBytes
}
