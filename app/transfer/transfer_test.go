package transfer_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/demo"
	"github.com/pulsecast/pulsecast/app/partition"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/transfer"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 123456000, time.UTC)

func clock() time.Time { return noon }

func open(t *testing.T, address string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func shut(t *testing.T, db *database.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func newFile(t *testing.T) string { return "sqlite://" + filepath.Join(t.TempDir(), "new.db") }

// grown returns the address of a SQLite file with rows in every table: the demo data, and rows with
// awkward values in tables without demo data.
func grown(t *testing.T) string {
	t.Helper()
	address := dbtest.URL(t, database.SQLite)
	db := open(t, address)
	defer shut(t, db)
	if err := demo.Seed(t.Context(), db, noon); err != nil {
		t.Fatal(err)
	}
	fill(t, db, typesOf(t))
	return address
}

// typesOf returns the type of each column, as Postgres names it, by "table.column".
func typesOf(t *testing.T) map[string]string {
	t.Helper()
	db := open(t, dbtest.URL(t, database.Postgres))
	defer shut(t, db)
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, table := range tables {
		for _, c := range table.Columns {
			types[table.Name+"."+c.Name] = c.Type
		}
	}
	return types
}

// fill adds rows to each empty table.
func fill(t *testing.T, db *database.DB, types map[string]string) {
	t.Helper()
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		n, err := database.CountRows(t.Context(), db, table.Name)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			continue
		}
		for i := range 3 {
			names, values := []string{}, []any{}
			for _, c := range table.Columns {
				if c.Name == "reader" { // the column of reports, which excludes reporter_id
					continue
				}
				names = append(names, `"`+c.Name+`"`)
				values = append(values, parentOf(t, db, table.Name, c.Name, i, awkward(types[table.Name+"."+c.Name], i)))
			}
			_, err := db.NewRaw(fmt.Sprintf("INSERT INTO %s (%s) VALUES (?)", table.Name, strings.Join(names, ", ")), bun.List(values)).Exec(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", table.Name, err)
			}
		}
	}
}

// parentOf returns an existing value for a column with a foreign key, or value for other columns.
func parentOf(t *testing.T, db *database.DB, table, column string, i int, value any) any {
	t.Helper()
	var keys []struct{ Parent, Name string }
	err := db.NewRaw(`SELECT "table" AS parent, "to" AS name FROM pragma_foreign_key_list(?) WHERE "from" = ?`, table, column).Scan(t.Context(), &keys)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) == 0 {
		return value
	}
	err = db.QueryRowContext(t.Context(), "SELECT ? FROM ? ORDER BY 1 LIMIT 1 OFFSET ?", bun.Ident(keys[0].Name), bun.Ident(keys[0].Parent), i).Scan(&value)
	if err != nil {
		t.Fatalf("%s.%s: %v", table, column, err)
	}
	return value
}

// awkward returns a value of a type that is easily changed by a copy.
func awkward(kind string, i int) any {
	switch kind {
	case "uuid":
		return database.NewID(noon.Add(time.Duration(i))).String()
	case "text":
		return []string{"", "tab\there, \\N and \\.", "ÄÖ 🜚 'quoted' \"twice\"\nline"}[i]
	case "timestamp with time zone":
		return []time.Time{noon, noon.Truncate(time.Second), noon.Add(-100 * time.Microsecond).Truncate(100 * time.Microsecond)}[i]
	case "jsonb":
		return []string{"null", `{"b": [1e-7, 0.10, 100000000000000000001, -0.5], "a": {"ä": "\u00e4\n"}}`, `[]`}[i]
	case "bytea":
		return [][]byte{{}, {0, 255, 10, '\\'}, {1}}[i]
	case "double precision":
		return []float64{0.1 + 0.2, math.SmallestNonzeroFloat64, -1e300}[i]
	case "bigint", "integer":
		return []int64{math.MaxInt32, 0, -7}[i]
	case "boolean":
		return i == 1
	}
	return nil
}

func run(t *testing.T, from, to string) *transfer.Result {
	t.Helper()
	r, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to, Now: clock})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestThereAndBack copies everything to a Postgres that is partitioned by month, with an
// interruption at every seventh batch. Then it copies to a Postgres that isn't partitioned, and
// back into a new file. All rows must arrive, and the scores must agree in every database.
func TestThereAndBack(t *testing.T) {
	t.Parallel()
	from, there, plain, back := grown(t), dbtest.Empty(t, database.Postgres), dbtest.Empty(t, database.Postgres), newFile(t)
	crash := errors.New("crash")
	var r *transfer.Result
	stops := 0
	for ; r == nil; stops++ {
		batches := 0
		var err error
		r, err = transfer.Run(t.Context(), transfer.Options{From: from, To: there, Partitions: partition.Monthly, Now: clock, AfterBatch: func() error {
			if batches++; batches == 7 {
				return crash
			}
			return nil
		}})
		if err == nil {
			break
		}
		if !errors.Is(err, crash) || stops > 100 {
			t.Fatal(err)
		}
		db := open(t, there)
		if _, err := db.Migrate(t.Context()); !errors.Is(err, database.ErrIncoming) {
			t.Fatalf("got error %v, want ErrIncoming: an incomplete copy could be served", err)
		}
		shut(t, db)
	}
	if stops < 5 || !r.Resumed {
		t.Errorf("interrupted %d times, want at least 5; resumed: %t", stops, r.Resumed)
	}
	checkAll(t, from, r)
	checkMonths(t, there)
	moved := run(t, there, plain)
	checkAll(t, plain, moved)
	again := run(t, plain, back)
	checkAll(t, back, again)
	if again.Resumed || !slices.Equal(byName(r), byName(again)) {
		t.Errorf("%v\n%v", r.Tables, again.Tables)
	}
	for _, address := range []string{from, there, plain, back} {
		db := open(t, address)
		if names, err := db.Migrate(t.Context()); err != nil || len(names) > 0 {
			t.Errorf("%s: migrations %q, error %v", address, names, err)
		}
		// A rebuild would count the made-up changes of events.
		if _, err := db.ExecContext(t.Context(), "DELETE FROM scored_event_changes"); err != nil {
			t.Error(err)
		}
		s := settlement.New(settlement.Options{DB: db, Interval: time.Minute, Now: func() time.Time { return noon }})
		report, err := s.Rebuild(t.Context(), false)
		if err != nil || len(report.Differences) > 0 {
			t.Errorf("%s: rebuild report %v, error %v", address, report, err)
		}
		shut(t, db)
	}
}

// checkMonths checks that the tables are partitioned, starting with the month of their first row.
func checkMonths(t *testing.T, address string) {
	t.Helper()
	db := open(t, address)
	defer shut(t, db)
	if divided, err := partition.Divided(t.Context(), db); err != nil || !divided {
		t.Fatal(divided, err)
	}
	for _, table := range []string{"market_prices_rest", "score_entries_rest"} {
		if n, err := database.CountRows(t.Context(), db, table); err != nil || n > 0 {
			t.Errorf("%s has %d rows (error %v), want 0", table, n, err)
		}
	}
}

func byName(r *transfer.Result) []transfer.Sum {
	list := slices.Clone(r.Tables)
	slices.SortFunc(list, func(a, b transfer.Sum) int { return strings.Compare(a.Table, b.Table) })
	return list
}

// checkAll checks that every table of the schema was copied with at least one row.
func checkAll(t *testing.T, address string, r *transfer.Result) {
	t.Helper()
	catalogue, err := dbtest.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, address)
	defer shut(t, db)
	for name := range catalogue {
		if name == "prediction_records" { // a view
			continue
		}
		want, err := database.CountRows(t.Context(), db, name)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(r.Tables, func(s transfer.Sum) bool { return s.Table == name })
		if i < 0 || r.Tables[i].Rows != want || want == 0 {
			t.Errorf("%s has %d rows, and the copy reports %+v", name, want, r.Tables)
		}
	}
}

// TestDifferencesAreFound checks that a copy fails if a row in the target changes after it was
// copied.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	from, to := dbtest.URL(t, database.SQLite), dbtest.Empty(t, database.Postgres)
	db := open(t, to)
	defer shut(t, db)
	tamper := func() error {
		_, err := db.ExecContext(context.Background(), "UPDATE agents SET model = 'x' WHERE handle = 'fifty'")
		return err
	}
	_, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to, Now: clock, AfterBatch: tamper})
	if err == nil || !strings.Contains(err.Error(), "compare agents: the two sides differ") {
		t.Error(err)
	}
	if _, err := db.Migrate(t.Context()); !errors.Is(err, database.ErrIncoming) {
		t.Errorf("got error %v, want ErrIncoming: the database could be served", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	from, to := dbtest.URL(t, database.SQLite), dbtest.Empty(t, database.Postgres)
	refused := func(from, to, says string) {
		t.Helper()
		if _, err := transfer.Run(t.Context(), transfer.Options{From: from, To: to, Now: clock}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got error %v, want one with %q", err, says)
		}
	}
	path, _ := database.SQLitePath(from)
	release, err := database.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	refused(from, to, "a server or worker uses it")
	if err := release(); err != nil {
		t.Fatal(err)
	}
	refused(from, newFile(t), "a SQLite file, as is the source")
	refused(from, from, "also the target")
	refused(from, dbtest.URL(t, database.Postgres), "it has tables already")
	refused("data/pulsecast.db", to, "the source: it must be sqlite://PATH or postgres://…")
	refused(from, "localhost/pulsecast", "the target: it must be sqlite://PATH or postgres://…")
	missing := newFile(t)
	refused(missing, to, "no such file")
	if name, _ := database.SQLitePath(missing); fileExists(name) {
		t.Error("the copy created the source")
	}

	served := dbtest.URL(t, database.Postgres)
	server := open(t, served)
	refused(served, newFile(t), "1 other connections are open")
	shut(t, server)

	pooled := dbtest.StartPooler(t, to, "transaction")
	refused(pooled, newFile(t), "the source: it leads through a connection pooler: name Postgres itself")
	refused(from, pooled, "the target: it leads through a connection pooler")

	db := open(t, from)
	if _, err := db.ExecContext(t.Context(), "INSERT INTO bun_migrations (name, group_id) VALUES ('20991231000001', 9)"); err != nil {
		t.Fatal(err)
	}
	shut(t, db)
	refused(from, to, "newer than this program")

	// The target holds an interrupted copy from another source.
	a, b := dbtest.URL(t, database.SQLite), dbtest.URL(t, database.SQLite)
	stop := errors.New("stop")
	if _, err := transfer.Run(t.Context(), transfer.Options{From: a, To: to, Now: clock, AfterBatch: func() error { return stop }}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	refused(b, to, "from another source")
	run(t, a, to)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
