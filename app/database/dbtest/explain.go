package dbtest

import (
	"context"
	"encoding/json"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// OpenPlain is Open, but all queries hold their values in the text, including those of Planned, so
// that Explain can run them again.
func OpenPlain(t testing.TB, kind database.Kind) *database.DB {
	t.Helper()
	return OpenPlainAt(t, URL(t, kind))
}

// OpenPlainAt is OpenPlain for the database at an address.
func OpenPlainAt(t testing.TB, address string) *database.DB {
	t.Helper()
	_, embedded := database.SQLitePath(address)
	if !embedded {
		parsed, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		options := parsed.Query()
		options.Set("statement_cache_capacity", "0")
		parsed.RawQuery = options.Encode()
		address = parsed.String()
	}
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if embedded {
		db.DB, db.Reader = database.WithoutPlans(db.DB), database.WithoutPlans(db.Reader)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// Explained is a query and how the database ran it.
type Explained struct {
	Query string
	// Rows, on Postgres, is the number of rows read from tables and indexes, including rows that a
	// condition then dropped. Reference tables don't count, because they don't grow with
	// predictions.
	Rows int64
	// Tables, on Postgres, is the number of rows read by table, including reference tables.
	Tables map[string]int64
	// Unbounded holds, on SQLite, the steps of the plan that read a whole table or index, or that
	// sort.
	Unbounded []string
	// Whole holds, on SQLite, the steps of Unbounded that read a whole table, either directly or
	// along an index whose order isn't that of its query.
	Whole []string
}

// Sizes returns the sizes of a table at which a test of one engine explains its queries. On Postgres these are both. On
// SQLite it is only the first, because the plans don't depend on the size of a table that was never analysed.
func Sizes(kind database.Kind, small, large int) []int {
	if kind == database.SQLite {
		return []int{small}
	}
	return []int{small, large}
}

// asked is a hook that records queries.
type asked struct {
	mu      sync.Mutex
	queries []string
}

func (a *asked) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (a *asked) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.queries = append(a.queries, e.Query)
}

// Explain calls read and explains each query that read makes on the handle it gets. db must come
// from OpenPlain.
func Explain(t testing.TB, db *database.DB, read func(db *database.DB)) []Explained {
	t.Helper()
	var heard asked
	hooked := *db
	hooked.Watch(&heard)
	read(&hooked)
	if len(heard.queries) == 0 {
		t.Fatal("read made no query")
	}
	list := make([]Explained, len(heard.queries))
	for i, query := range heard.queries {
		list[i].Query = query
		if db.Kind == database.Postgres {
			list[i].Rows, list[i].Tables = rowsOf(t, db, query)
		} else {
			list[i].Unbounded, list[i].Whole = unbounded(t, db, query)
		}
	}
	return list
}

// TouchedRows returns the sum of Rows.
func TouchedRows(list []Explained) (n int64) {
	for _, e := range list {
		n += e.Rows
	}
	return n
}

// node is a step of a Postgres plan. Its row counts are per loop.
type node struct {
	Type     string  `json:"Node Type"`
	Relation string  `json:"Relation Name"`
	Rows     float64 `json:"Actual Rows"`
	Loops    float64 `json:"Actual Loops"`
	Filtered float64 `json:"Rows Removed by Filter"`
	Checked  float64 `json:"Rows Removed by Index Recheck"`
	Plans    []node  `json:"Plans"`
}

func rowsOf(t testing.TB, db *database.DB, query string) (rows int64, byTable map[string]int64) {
	t.Helper()
	var text string
	if err := db.Reader.QueryRowContext(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+query).Scan(&text); err != nil {
		t.Fatalf("explain %s: %v", query, err)
	}
	var plans []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		t.Fatal(err)
	}
	tables, err := Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	byTable = map[string]int64{}
	return plans[0].Plan.rows(tables, byTable), byTable
}

// rows returns the number of rows that a step and its children read, and adds them to byTable.
func (n *node) rows(tables map[string]Table, byTable map[string]int64) (rows int64) {
	if strings.Contains(n.Type, "Scan") && n.Type != "Subquery Scan" && n.Type != "CTE Scan" {
		touched := int64((n.Rows + n.Filtered + n.Checked) * n.Loops)
		if n.Relation != "" {
			byTable[n.Relation] += touched
		}
		if tables[n.Relation].Class != Reference {
			rows = touched
		}
	}
	for i := range n.Plans {
		rows += n.Plans[i].rows(tables, byTable)
	}
	return rows
}

func unbounded(t testing.TB, db *database.DB, query string) (steps, whole []string) {
	t.Helper()
	var plan []struct {
		ID, Parent, Notused int64
		Detail              string
	}
	if err := db.Reader.NewRaw("EXPLAIN QUERY PLAN ?", bun.Safe(query)).Scan(t.Context(), &plan); err != nil {
		t.Fatalf("explain %s: %v", query, err)
	}
	made := map[string]bool{}  // rows of subqueries, which are checked for their own limit
	walked := map[int64]bool{} // the subqueries that walk along an index
	for _, step := range plan {
		for _, how := range []string{"CO-ROUTINE ", "MATERIALIZE "} {
			if name, ok := strings.CutPrefix(step.Detail, how); ok {
				made["SCAN "+name] = true
			}
		}
		if made[step.Detail] || strings.Contains(step.Detail, "VIRTUAL TABLE INDEX") {
			continue // a virtual table is always "scanned"; its index says how
		}
		if strings.Contains(strings.Replace(step.Detail, "COVERING ", "", 1), "USING INDEX") && strings.Contains(query, " LIMIT ") {
			walked[step.Parent] = true
			continue // reads in the order of the index, up to the limit
		}
		if strings.HasPrefix(step.Detail, "SCAN ") || (walked[step.Parent] && strings.Contains(step.Detail, "TEMP B-TREE")) {
			whole = append(whole, step.Detail)
		}
		if strings.HasPrefix(step.Detail, "SCAN ") || strings.Contains(step.Detail, "TEMP B-TREE") {
			steps = append(steps, step.Detail)
		}
	}
	return steps, whole
}
