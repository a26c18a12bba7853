package prediction_test

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/queue"
)

// TestDueQueue checks that the queue of due predictions, which only admins shorten, is measured along its index up to
// a bound, and that samples aren't read.
func TestDueQueue(t *testing.T) {
	t.Parallel()
	const samples, due = 3_000, queue.Most + 5
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			h := history{agents: 1, markets: 1, start: past.start, step: past.step}
			h.write(t, db, 1, samples+due)
			for _, query := range []string{
				"UPDATE results SET status = 'open', market_id = NULL, horizon_at = created_at",
				"UPDATE results SET sample = TRUE WHERE id <= '" + pastID(samples) + "'",
			} {
				if _, err := db.ExecContext(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			if kind == database.Postgres {
				if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE results"); err != nil {
					t.Fatal(err)
				}
			}
			at := func(n int) time.Time { return h.start.Add(time.Duration(n) * h.step) }
			for _, c := range []struct {
				until int
				want  queue.Depth
			}{
				{samples, queue.Depth{}},
				{samples + 7, queue.Depth{Count: 7, Oldest: at(samples + 1)}},
				{samples + queue.Most, queue.Depth{Count: queue.Most, Oldest: at(samples + 1)}},
				{samples + due, queue.Depth{Count: queue.Most, More: true, Oldest: at(samples + 1)}},
			} {
				explained := dbtest.Explain(t, db, func(db *database.DB) {
					got, err := prediction.Store{}.DueQueue(t.Context(), db.Reader, at(c.until))
					if err != nil || got != c.want {
						t.Errorf("got %+v, %v; want %+v", got, err, c.want)
					}
				})
				if n := dbtest.TouchedRows(explained); n > c.want.Count+1 {
					t.Errorf("read %d rows to count %d: %s", n, c.want.Count, explained[0].Query)
				}
				for _, e := range explained {
					if len(e.Whole) > 0 {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
			}
		})
	}
}
