package agent_test

import (
	"context"
	"testing"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestListRows checks that the rows read for a page don't grow with the number of agents.
func TestListRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlainAt(t, manyAgents(t, kind))
			for name, f := range map[string]agent.Filter{
				"all": {}, "ordinary": {Kind: agent.Ordinary, Listed: true},
				"common": {Q: "agent"}, "unknown": {Q: "nowhere"}, "few": {Q: "agent 400"},
				"later": {Q: "agent", Cursor: cursor.Encode("parts", "agent 4000", "0198cccc-0000-7000-8000-000000000fa0", "15")},
			} {
				f.Limit = 24
				for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
					if _, _, err := store.List(t.Context(), db.Reader, f); err != nil {
						t.Fatal(err)
					}
				}) {
					n, most := max(e.Tables["agents"], e.Tables["agent_labels"]), int64(5_100)
					if f.Q != "" {
						n, most = max(n, e.Tables["agent_label_parts"]), 210
					}
					if n > most {
						t.Errorf("%s: %d rows of %d agents: %s", name, n, manyCount, e.Query)
					}
					if len(e.Whole) > 0 {
						t.Errorf("%s: %q in %s", name, e.Whole, e.Query)
					}
				}
			}
		})
	}
}

// manyCount is far above the number of agents that a page may look at, fewCount is above it.
const manyCount, fewCount = 20_000, 6_000

// manyAgents returns the address of a database with manyCount agents, fewAgents of one with fewCount.
var manyAgents = dbtest.Filled(func(ctx context.Context, db *database.DB) error { return addAgents(ctx, db, manyCount) })
var fewAgents = dbtest.Filled(func(ctx context.Context, db *database.DB) error { return addAgents(ctx, db, fewCount) })

// addAgents stores agents with the numbers from 1.
func addAgents(ctx context.Context, db *database.DB, count int) error {
	id, padded := "printf('0198cccc-0000-7000-8000-%012x', n)", "printf('%07d', n)"
	if db.Kind == database.Postgres {
		id, padded = "('0198cccc000070008000' || lpad(to_hex(n), 12, '0'))::uuid", "lpad(n::text, 7, '0')"
	}
	_, err := db.ExecContext(ctx, `INSERT INTO agents (id, handle, name, search_name, kind, status, sample, created_at)
		SELECT `+id+`, 'agent-' || `+padded+`, 'Agent ' || n, 'agent ' || n, 'agent', 'active', FALSE, ?2 FROM
		(WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers`, 1, count, at)
	if err == nil && db.Kind == database.Postgres {
		_, err = db.ExecContext(ctx, "VACUUM ANALYZE")
	}
	return err
}

// TestDirectoryRows checks that a search of the directory looks at a bounded number of agents in
// each order, and that it continues on the next page until all agents were looked at.
func TestDirectoryRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlainAt(t, manyAgents(t, kind))
			// Every second agent has counts.
			change(t, db,
				`INSERT INTO agent_activity (agent_id, requests, errors, limited, predictions_day, predictions_month)
					SELECT id, CAST(substr(handle, 7) AS BIGINT) % 5, 0, 0, 0, 0 FROM agents WHERE kind = 'agent' AND CAST(substr(handle, 7) AS BIGINT) % 2 = 0`,
				"UPDATE agents SET last_seen_at = created_at WHERE kind = 'agent' AND CAST(substr(handle, 7) AS BIGINT) % 2 = 0",
			)
			for _, o := range agent.Orders() {
				for _, f := range []agent.DirectoryFilter{{Q: "nowhere"}, {Q: "agent"}, {Q: "nowhere", Status: agent.Disabled}, {Status: agent.StatusClosed}} {
					f.Order, f.Limit = o, 24
					name := o.Sort + " " + f.Q + " " + string(f.Status)
					for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
						if _, _, err := agent.Directory(t.Context(), db.Reader, f); err != nil {
							t.Fatal(err)
						}
					}) {
						if n := max(e.Tables["agent_labels"], e.Tables["agent_activity"]); n > 5_100 {
							t.Errorf("%s: %d rows of %d agents: %s", name, n, manyCount, e.Query)
						}
						if len(e.Whole) > 0 {
							t.Errorf("%s: %q in %s", name, e.Whole, e.Query)
						}
					}
				}
			}
			for _, o := range agent.Orders() {
				f := agent.DirectoryFilter{Q: "AGENT 1999", Limit: 4, Order: o} // 1999 and 19990 to 19999
				found, pages := map[string]bool{}, 0
				for more := true; more && pages < 40; pages++ {
					ids, next, err := agent.Directory(t.Context(), db.Reader, f)
					if err != nil {
						t.Fatal(err)
					}
					for _, id := range ids {
						found[id.String()] = true
					}
					f.Cursor, more = next, next != ""
				}
				if len(found) != 11 || pages < 4 || pages > 20 {
					t.Errorf("by %s: %d agents on %d pages, want 11", o.Sort, len(found), pages)
				}
			}
		})
	}
}

// change runs statements. It then gathers statistics, because Postgres plans by them.
func change(t *testing.T, db *database.DB, statements ...string) {
	t.Helper()
	if db.Kind == database.Postgres {
		statements = append(statements, "VACUUM ANALYZE")
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDirectoryEnd checks that a page looks at a bounded number of agents where few match: at the end of an
// order, where the agents without a value follow, and where most agents are disabled or closed. The next pages
// find the others.
func TestDirectoryEnd(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			agents := manyAgents
			if kind == database.SQLite { // whose plans don't depend on the size of a table
				agents = fewAgents
			}
			db := dbtest.OpenPlainAt(t, agents(t, kind))
			change(t, db, // The oldest agent has no value, and is the only active one.
				`INSERT INTO agent_activity (agent_id, requests, errors, limited, predictions_day, predictions_month)
					SELECT id, 1, 0, 0, 0, 0 FROM agents WHERE kind = 'agent' AND handle <> 'agent-0000001'`,
				"UPDATE agents SET last_seen_at = created_at, status = 'disabled' WHERE kind = 'agent' AND handle <> 'agent-0000001'",
				"UPDATE agents SET closed_at = created_at WHERE kind = 'agent' AND CAST(substr(handle, 7) AS BIGINT) > 2500",
			)
			for _, o := range agent.Orders() {
				for _, f := range []agent.DirectoryFilter{{}, {Status: agent.Active}, {Status: agent.Disabled}, {Status: agent.StatusClosed}} {
					name := o.Sort + " " + string(f.Status)
					f.Order, f.Limit = o, 24
					if o.Value != "" && o.Sort != "handle" && f.Status == "" { // at the start of the agents without a value
						f.Cursor = cursor.Encode(o.Sort, "true", "", "0198cccc-0000-7000-8000-fffffffffffe")
					}
					found, pages := 0, 0
					for more := true; more && pages < 10; pages++ {
						var next string
						for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
							ids, n, err := agent.Directory(t.Context(), db.Reader, f)
							if err != nil {
								t.Fatal(err)
							}
							found, next = found+len(ids), n
						}) {
							// An agent is read from the index that is followed, and looked up for up to two conditions.
							if n := max(e.Tables["agents"], e.Tables["agent_activity"]); n > 3*5_100 {
								t.Errorf("%s: page %d reads %d rows of %d agents: %s", name, pages, n, manyCount, e.Query)
							}
							if len(e.Whole) > 0 {
								t.Errorf("%s: %q in %s", name, e.Whole, e.Query)
							}
						}
						f.Cursor, more = next, next != ""
						if f.Status != agent.Active && f.Cursor != "" && found >= 24 {
							break
						}
					}
					if f.Status == agent.Active && found != 1 || f.Status != "" && f.Status != agent.Active && found != 24 {
						t.Errorf("%s: %d agents on %d pages", name, found, pages)
					}
				}
			}
		})
	}
}
