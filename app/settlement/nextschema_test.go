package settlement

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestSchemaOfTheNextVersion checks that settling, a rebuild and the export work on tables with more columns.
func TestSchemaOfTheNextVersion(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		dbtest.Widen(t, db)
		m := w.closing("1", "e1", 1, 3)
		w.tick(w.service(0), m)
		w.rebuilt()
		rows, err := ReferencesIn(t.Context(), db, Span{From: start, To: w.clock.Add(time.Hour)}, uuid.Nil, "", 10)
		w.must(err)
		if w.settled() != 3 || len(rows) == 0 {
			t.Errorf("%d predictions are settled and %d reference rows exported, want 3 and some", w.settled(), len(rows))
		}
	})
}
