package prediction_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestListRows checks that the rows a page reads don't grow with the number of predictions.
func TestListRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			const small, large = 5_000, 40_000
			// A page looks at 300 predictions at most, in up to three tables. A search looks at the matches of
			// two spans of time, which may hold 16 times as many as it needs.
			const most, mostSearched = 2000, 6000
			// Begin the last page after the tenth-oldest prediction.
			cursors := map[string]string{
				"last": pastID(10), "far future": "ffffffff-ffff-7fff-bfff-ffffffffffff", "far past": "00000000-0000-7000-8000-000000000001",
			}
			rows := map[string]int64{} // rows read with small; Postgres reads a small table whole
			past.write(t, db, 1, small)
			for _, size := range []int{small, large} {
				if size == large {
					past.write(t, db, small+1, large)
				}
				for name, f := range listed() {
					f.Limit = 24
					for _, page := range []string{"first", "second", "last", "far future", "far past"} {
						if since := cursors[page]; since != "" {
							if f.Sort != "" && f.Sort != prediction.ByCreatedAt || f.Words != "" && kind == database.SQLite {
								continue // these lists have another kind of cursor
							}
							f.Cursor = cursor.Encode(string(prediction.ByCreatedAt), "", since)
						}
						explained := dbtest.Explain(t, db, func(db *database.DB) {
							_, next, err := prediction.Store{}.List(t.Context(), db.Reader, f)
							if err != nil {
								t.Errorf("%s: %v", name, err)
							}
							f.Cursor = next
						})
						n := dbtest.TouchedRows(explained)
						limit := int64(most)
						if f.Words != "" {
							limit = mostSearched
						}
						if size == small {
							rows[name+page] = n
						} else if n > max(limit, rows[name+page]) {
							t.Errorf("%s page of %s: read %d rows with %d predictions, want at most %d", page, name, n, size, limit)
							for _, e := range explained {
								t.Logf("%d rows: %s", e.Rows, e.Query)
							}
						}
						for _, e := range explained {
							if len(e.Unbounded) > 0 {
								t.Errorf("%s page of %s: unbounded %q in %s", page, name, e.Unbounded, e.Query)
							}
						}
						if page == "first" && f.Cursor == "" {
							break
						}
					}
				}
			}
		})
	}
}

// pastID returns the id of a prediction of past.
func pastID(n int) string {
	ms := past.start.Add(past.step * time.Duration(n)).UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012x", ms>>16, ms&0xffff, n)
}
