package prediction_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// wholeTable finds a step of a plan on Postgres that reads a whole table.
var wholeTable = regexp.MustCompile(`Seq Scan on (\w+)`)

// TestPublishReadsNoTable checks that publishing, and the count of the consensus after it, look up rows of the
// growing tables by an index, although Postgres takes the list of agents for a long one.
func TestPublishReadsNoTable(t *testing.T) {
	t.Parallel()
	db := dbtest.OpenPlainAt(t, pastOf[manyPredictions](t, database.Postgres))
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	exec(`INSERT INTO agents (id, handle, name, kind, status, sample, created_at)
		SELECT gen_random_uuid(), 'more-' || n, 'Past', 'agent', 'active', FALSE, ? FROM generate_series(1, 2000) AS n`, past.start)
	exec(`INSERT INTO markets (id, source, question, title, category, outcomes, active, closed, scalar, match_key, search_text, first_seen_at, observed_at, sample)
		SELECT 'more-' || n, 'past', 'more-' || n, '', 'c0', '["Yes","No"]', TRUE, FALSE, FALSE, 'more-' || n, '', ?0, ?0, FALSE FROM generate_series(1, 10000) AS n`, past.start)
	exec(`INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days) SELECT id, 1, 1, 0, 0, 1 FROM agents`)
	exec(`INSERT INTO idempotency_keys (agent_id, key, body_hash, response, created_at)
		SELECT id, 'past-' || n, '', '', ? FROM agents CROSS JOIN generate_series(1, 10) AS n`, past.start)
	exec("VACUUM ANALYZE")
	seen := &statements{}
	db.Watch(seen)
	now := past.start.Add(past.step * (manyPredictions + 1))
	p := prediction.NewPublisher(db, func() time.Time { return now }, time.Hour, "https://pulse.example")
	var list []prediction.Submission
	for n := range 30 {
		d := draft(func(d *prediction.Draft) { d.MarketID, d.HorizonAt = fmt.Sprint("m", n+1), new(now.Add(time.Hour)) })
		list = append(list, prediction.Submission{
			Agent: agent.Agent{ID: historyAgent(n + 1)}, Draft: d, IdempotencyKey: "key",
			Render: func(prediction.Receipt) ([]byte, error) { return []byte("{}"), nil },
		})
	}
	for i, o := range p.PublishBatch(t.Context(), list) {
		if o.Err != nil {
			t.Fatalf("submission %d: %v", i, o.Err)
		}
	}
	if _, err := prediction.Opinions(t.Context(), db, []string{"m1", "m2", "m3"}); err != nil {
		t.Fatal(err)
	}
	explained := 0
	for _, query := range slices.Clone(seen.list) {
		if !strings.HasPrefix(query, "SELECT") && !strings.HasPrefix(query, "WITH") && !strings.HasPrefix(query, "INSERT") {
			continue
		}
		explained++
		for _, step := range explain(t, db, query) {
			found := wholeTable.FindStringSubmatch(step)
			if found != nil && slices.Contains([]string{"predictions", "results", "agent_tallies", "agents", "markets", "news_items", "idempotency_keys", "agent_days"}, found[1]) {
				t.Errorf("%s in %.300s", step, query)
			}
		}
	}
	if explained < 7 {
		t.Errorf("%d statements were explained: %q", explained, seen.list)
	}
}

// parameter finds a parameter of a statement.
var parameter = regexp.MustCompile(`\$\d+`)

// explain returns the steps of the plan that Postgres makes without knowing the statement's parameters.
func explain(t *testing.T, db *database.DB, query string) (steps []string) {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	distinct := map[string]bool{}
	for _, name := range parameter.FindAllString(query, -1) {
		distinct[name] = true
	}
	values := ""
	if len(distinct) > 0 {
		values = "(NULL" + strings.Repeat(", NULL", len(distinct)-1) + ")"
	}
	for _, statement := range []string{"SET plan_cache_mode = force_generic_plan", "DEALLOCATE ALL", "PREPARE explained AS " + query} {
		if _, err := conn.Conn.ExecContext(t.Context(), statement, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	rows, err := conn.Conn.QueryContext(t.Context(), "EXPLAIN EXECUTE explained"+values, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var step string
		if err := rows.Scan(&step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return steps
}

// TestPublishTrips counts the round trips of a publish: the lock with the lookups, the earlier predictions, and the inserts
// with COMMIT. News that is cited for the first time costs two more, because its statement is planned for each call.
func TestPublishTrips(t *testing.T) {
	t.Parallel()
	w := dbtest.WatchConnections(t, dbtest.URL(t, database.Postgres))
	db := dbtest.OpenAt(t, w.Address)
	db.DB.DB.SetMaxOpenConns(1)
	d := open(t, db)
	cites := func(url string) func(*prediction.Draft) {
		return func(d *prediction.Draft) {
			d.MarketID, d.Evidence = "1", []prediction.Evidence{{Title: "A study", URL: url}}
		}
	}
	for i, c := range []struct {
		name   string
		change func(*prediction.Draft)
		trips  int // 0: statements are prepared
	}{
		{"first", cites("https://example.org/other"), 0},
		{"linked", cites("https://example.org/other"), 3},
		{"first cited", cites("https://example.org/study"), 5},
		{"cited again", cites("https://example.org/study"), 3},
	} {
		d.wait(time.Minute)
		before := w.Trips()
		_, _, err := d.publish(t, draft(c.change), func(s *prediction.Submission) { s.IdempotencyKey = fmt.Sprint("key-", i) })
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if trips := w.Trips() - before; c.trips > 0 && trips != c.trips {
			t.Errorf("%s: %d round trips, want %d", c.name, trips, c.trips)
		}
	}
}

// TestMergedWords checks that MergeWords leaves no row for a search to read outside the index.
func TestMergedWords(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	d := open(t, db)
	unmerged := func() (pages int64) {
		t.Helper()
		err := db.NewRaw(`SELECT COALESCE(SUM(gin_clean_pending_list(i.indexrelid)), 0)::bigint FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid
			WHERE c.relkind = 'i' AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'gin') AND i.indrelid::regclass::text LIKE 'prediction_words%'`).Scan(t.Context(), &pages)
		if err != nil {
			t.Fatal(err)
		}
		return pages
	}
	for _, merged := range []bool{false, true} {
		if _, _, err := d.publish(t, draft(nil)); err != nil {
			t.Fatal(err)
		}
		if merged {
			if err := prediction.MergeWords(t.Context(), db); err != nil {
				t.Fatal(err)
			}
		}
		if n := unmerged(); (n == 0) != merged {
			t.Errorf("merged %v: %d pages are outside the index", merged, n)
		}
	}
}
