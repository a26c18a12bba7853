package leaderboard_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
)

// TestCompareRows checks that a comparison reads only the newest 5,000 events of each agent, and
// that the order of the agents doesn't matter.
func TestCompareRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			a, b := w.agent(agent{handle: "a"}), w.agent(agent{handle: "b"})
			last := 0
			for _, size := range dbtest.Sizes(kind, 8_000, 40_000) {
				settled(t, db, last+1, size, a, 1)
				settled(t, db, last+1, size, b, 2) // every second event of a
				last = size
				var c, swapped *leaderboard.Comparison
				explained := dbtest.Explain(t, db, func(db *database.DB) {
					var err error
					if c, err = w.store.Compare(t.Context(), db.Reader, a, b); err != nil {
						t.Fatal(err)
					}
					if swapped, err = w.store.Compare(t.Context(), db.Reader, b, a); err != nil {
						t.Fatal(err)
					}
				})
				for _, e := range explained {
					// Postgres reads the whole of a table that is small enough.
					if n := e.Tables["clusters"]; size > 8_000 && n > 2*leaderboard.MaxCompared+100 {
						t.Errorf("%d rows of %d events: %s", n, size, e.Query)
					}
					if len(e.Whole) > 0 {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
				// Of a's newest 5,000, b has every second one.
				if c.Shared != leaderboard.MaxCompared/2 || swapped.Shared != c.Shared || swapped.AWins != c.BWins || swapped.MeanA != c.MeanB {
					t.Errorf("got %d shared events, and %d with the agents swapped", c.Shared, swapped.Shared)
				}
			}
		})
	}
}

// TestEventRows checks that reading the events of an agent's page costs the same however many
// events the agent has.
func TestEventRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			w := newWorld(t, db)
			a := w.agent(agent{handle: "a"})
			last := 0
			for _, size := range dbtest.Sizes(kind, 8_000, 40_000) {
				settled(t, db, last+1, size, a, 1)
				last = size
				for most, read := range map[int64]func(db *database.DB) error{
					1_000: func(db *database.DB) error {
						_, next, err := w.store.EventsOf(t.Context(), db.Reader, a, 100, "")
						if err == nil {
							_, _, err = w.store.EventsOf(t.Context(), db.Reader, a, 100, next)
						}
						return err
					},
					leaderboard.MaxReviewed + 100: func(db *database.DB) error {
						_, _, err := w.store.BestAndWorst(t.Context(), db.Reader, a, 5)
						return err
					},
				} {
					explained := dbtest.Explain(t, db, func(db *database.DB) {
						if err := read(db); err != nil {
							t.Fatal(err)
						}
					})
					for _, e := range explained {
						// Postgres reads the whole of a table that is small enough.
						if n := e.Tables["clusters"]; size > 8_000 && n > most {
							t.Errorf("%d rows of %d events, want at most %d: %s", n, size, most, e.Query)
						}
						if len(e.Whole) > 0 {
							t.Errorf("%q in %s", e.Whole, e.Query)
						}
					}
				}
			}
		})
	}
}

// settled writes a cluster of the agent for each event from number from to number to whose number
// is divisible by every.
func settled(t *testing.T, db *database.DB, from, to int, agentID uuid.UUID, every int) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value)
		SELECT ?3, 'e:' || n, 'sport', '2026-0' || (1 + n / 5000) || '-01', 1, 1, 1, n * 7919 % 1000 - 500 FROM
		(WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers
		WHERE n % ?2 = 0`, from, to, every, agentID)
	if err != nil {
		t.Fatal(fmt.Errorf("write clusters: %w", err))
	}
	if db.Kind == database.Postgres {
		if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE clusters"); err != nil {
			t.Fatal(err)
		}
	}
}
