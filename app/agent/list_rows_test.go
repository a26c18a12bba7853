package agent_test

import (
	"fmt"
	"testing"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestListRows checks that the rows read for a page don't grow with the number of agents, and that
// a search continues until all agents were examined.
func TestListRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			rows := map[string]int64{} // with few agents, where Postgres scans the table in full
			last := 0
			for _, size := range []int{8_000, 40_000} {
				many(t, db, last+1, size)
				for name, f := range map[string]agent.Filter{
					"all": {}, "ordinary": {Kind: agent.Ordinary, Listed: true}, "disabled": {Status: agent.Disabled},
					"common": {Q: "agent"}, "unknown": {Q: "nowhere"}, "later": {Q: "nowhere", After: "agent-0004000"},
				} {
					f.Limit = 24
					for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
						if _, _, err := store.List(t.Context(), db.Reader, f); err != nil {
							t.Fatal(err)
						}
					}) {
						n := max(e.Tables["agents"], e.Tables["agent_labels"])
						if last == 0 {
							rows[name] = max(rows[name], n)
						} else if n > max(5_100, rows[name]) {
							t.Errorf("%s: %d rows of %d agents: %s", name, n, size, e.Query)
						}
						if len(e.Whole) > 0 {
							t.Errorf("%s: %q in %s", name, e.Whole, e.Query)
						}
					}
				}
				last = size
			}
			f, found, pages := agent.Filter{Q: "AGENT 40000", Limit: 24}, 0, 0
			for more := true; more && pages < 20; pages++ {
				list, next, err := store.List(t.Context(), db.Reader, f)
				if err != nil {
					t.Fatal(err)
				}
				found += len(list)
				f.After, more = next, next != ""
			}
			if found != 1 || pages != 9 {
				t.Errorf("found %d agents on %d pages, want 1 on 9 pages", found, pages)
			}
		})
	}
}

// many stores the agents with the numbers from..to.
func many(t *testing.T, db *database.DB, from, to int) {
	t.Helper()
	id, padded := "printf('0198cccc-0000-7000-8000-%012x', n)", "printf('%07d', n)"
	if db.Kind == database.Postgres {
		id, padded = "('0198cccc000070008000' || lpad(to_hex(n), 12, '0'))::uuid", "lpad(n::text, 7, '0')"
	}
	_, err := db.ExecContext(t.Context(), `INSERT INTO agents (id, handle, name, kind, status, sample, created_at)
		SELECT `+id+`, 'agent-' || `+padded+`, 'Agent ' || n, 'agent', 'active', FALSE, ?2 FROM
		(WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers`, from, to, at)
	if err != nil {
		t.Fatal(fmt.Errorf("write agents: %w", err))
	}
	if db.Kind == database.Postgres {
		if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
			t.Fatal(err)
		}
	}
}
