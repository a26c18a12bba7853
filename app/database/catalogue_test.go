package database_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestKeysAreDistributable checks that every table has a class and that its keys follow the rule of
// that class, so that the large tables can be spread over a cluster without a rewrite.
func TestKeysAreDistributable(t *testing.T) {
	t.Parallel()
	catalogue, err := dbtest.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		tables, keys, references := schemaOf(t, db)
		for _, name := range tables {
			if _, ok := catalogue[name]; !ok {
				t.Errorf("table %s has no comment in a migration", name)
			}
		}
		for name, table := range catalogue {
			if !slices.Contains(tables, name) {
				t.Errorf("%s is in the migrations but not in the database", name)
			}
			for _, key := range keys[name] {
				switch {
				case table.Class == dbtest.ByAgent && !slices.Contains(key, "agent_id"):
					t.Errorf("%s is spread by agent, but its key (%s) lacks agent_id", name, strings.Join(key, ", "))
				case table.Class == dbtest.ByMarket && key[0] != "market_id":
					t.Errorf("%s is spread by market, but its key (%s) does not begin with market_id", name, strings.Join(key, ", "))
				}
			}
			for _, to := range references[name] {
				if class := catalogue[to].Class; class != dbtest.Reference && class != table.Class {
					t.Errorf("%s refers to %s: a foreign key must refer to a reference table or stay in its class", name, to)
				}
			}
		}
		// Guard against a schemaOf that returns too little.
		if !slices.ContainsFunc(keys["results"], func(key []string) bool { return slices.Equal(key, []string{"id", "agent_id"}) }) {
			t.Errorf("keys of results: %v", keys["results"])
		}
		if !slices.Contains(references["results"], "predictions") {
			t.Errorf("references of results: %v", references["results"])
		}
	})
}

// schemaOf lists the tables and views, the columns of each table's unique keys, and the tables that
// its foreign keys refer to.
func schemaOf(t *testing.T, db *database.DB) (tables []string, keys map[string][][]string, references map[string][]string) {
	t.Helper()
	var columns []struct{ Owner, Key, Name string }
	var foreign []struct{ Owner, Target string }
	listing := `SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'prediction_words_%'`
	unique := `SELECT m.name AS owner, i.name AS key, c.name FROM sqlite_master AS m, pragma_index_list(m.name) AS i, pragma_index_info(i.name) AS c
		WHERE m.type = 'table' AND i."unique" ORDER BY 1, 2, c.seqno`
	refer := `SELECT m.name AS owner, f."table" AS target FROM sqlite_master AS m, pragma_foreign_key_list(m.name) AS f WHERE m.type = 'table'`
	if db.Kind == database.Postgres {
		listing = "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v') AND NOT relispartition"
		unique = `SELECT x.indrelid::regclass::text AS owner, x.indexrelid::regclass::text AS key, a.attname::text AS name
			FROM pg_index AS x JOIN pg_class AS r ON r.oid = x.indrelid AND r.relnamespace = current_schema()::regnamespace
			CROSS JOIN unnest(x.indkey) WITH ORDINALITY AS k (number, place) JOIN pg_attribute AS a ON a.attrelid = r.oid AND a.attnum = k.number
			WHERE x.indisunique AND NOT r.relispartition ORDER BY 1, 2, k.place`
		refer = "SELECT conrelid::regclass::text AS owner, confrelid::regclass::text AS target FROM pg_constraint WHERE contype = 'f' AND conparentid = 0"
	}
	for query, into := range map[string]any{listing: &tables, unique: &columns, refer: &foreign} {
		if err := db.NewRaw(query).Scan(t.Context(), into); err != nil {
			t.Fatal(err)
		}
	}
	tables = slices.DeleteFunc(tables, func(name string) bool { return strings.HasPrefix(name, "bun_") })
	keys, references = map[string][][]string{}, map[string][]string{}
	for i, c := range columns {
		if i == 0 || columns[i-1].Key != c.Key {
			keys[c.Owner] = append(keys[c.Owner], nil)
		}
		last := len(keys[c.Owner]) - 1
		keys[c.Owner][last] = append(keys[c.Owner][last], c.Name)
	}
	for _, f := range foreign {
		references[f.Owner] = append(references[f.Owner], f.Target)
	}
	return tables, keys, references
}
