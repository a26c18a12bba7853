package settlement

import (
	"context"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// queries keeps what is asked of the database.
type queries struct{ asked []string }

func (q *queries) BeforeQuery(ctx context.Context, e *bun.QueryEvent) context.Context {
	q.asked = append(q.asked, e.Query)
	return ctx
}

func (q *queries) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestPendingIsFoundByItsIndex: each reading of the markets looks for pending
// predictions, and must not walk through all there ever were.
func TestPendingIsFoundByItsIndex(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	var seen queries
	w := newWorld(t, &database.DB{DB: db.WithQueryHook(&seen), Reader: db.Reader, Kind: db.Kind})
	m := w.market("1", "e1", "politics", start)
	w.publish(w.agent(1), m, 0, .5)
	s := w.service(0)
	w.must(s.FixBaselines(t.Context()))
	w.must(s.FixBaselines(t.Context(), m.ID))
	looked := 0
	for _, query := range seen.asked {
		if !strings.Contains(query, "AS previous") {
			continue
		}
		looked++
		var steps []struct {
			ID, Parent, Notused int64
			Detail              string
		}
		w.must(db.NewRaw("EXPLAIN QUERY PLAN "+query).Scan(t.Context(), &steps))
		if len(steps) == 0 || !strings.HasPrefix(steps[0].Detail, "SCAN s USING INDEX results_pending") {
			t.Errorf("%s\nbegins elsewhere: %+v", query, steps)
		}
	}
	if looked != 2 {
		t.Errorf("looked %d times for pending predictions, want 2", looked)
	}
}
