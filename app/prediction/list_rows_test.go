package prediction_test

import (
	"context"
	"testing"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

const fewPredictions, manyPredictions = 5_000, 20_000

// pastOf holds, by number, functions that return the address of a database with that many predictions of past.
var pastOf = map[int]func(testing.TB, database.Kind) string{fewPredictions: filledPast(fewPredictions), manyPredictions: filledPast(manyPredictions)}

func filledPast(size int) func(testing.TB, database.Kind) string {
	return dbtest.Filled(func(ctx context.Context, db *database.DB) error { return past.fill(ctx, db, 1, size) })
}

// TestListRows checks that the rows a page reads don't grow with the number of predictions.
func TestListRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			// A page looks at 300 predictions at most, in up to three tables. The last look of a search may find
			// 1,500 matches, and each is read from the index and from the table.
			const most, mostSearched = 2000, 5000
			// Begin the last page after the tenth-oldest prediction.
			cursors := map[string]string{
				"last": pastID(10), "far future": "ffffffff-ffff-7fff-bfff-ffffffffffff", "far past": "00000000-0000-7000-8000-000000000001",
			}
			rows := map[string]int64{} // rows read with fewPredictions; Postgres reads a small table whole
			for _, size := range dbtest.Sizes(kind, fewPredictions, manyPredictions) {
				db := dbtest.OpenPlainAt(t, pastOf[size](t, kind))
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
						if size == fewPredictions {
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
func pastID(n int) string { return past.id(n) }

// TestResolvedOnRows checks that the predictions of an agent on its events cost the same however
// many it has published on them.
func TestResolvedOnRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for _, size := range dbtest.Sizes(kind, fewPredictions, manyPredictions) {
				db := dbtest.OpenPlainAt(t, pastOf[size](t, kind))
				// Agent 1 publishes on the event of market 1 again and again.
				_, err := db.ExecContext(t.Context(), `UPDATE results SET weight_index = (SELECT COUNT(*) FROM predictions AS p
					WHERE p.agent_id = results.agent_id AND p.event_key = 'e:m1' AND p.id < results.id)
					WHERE agent_id = ? AND market_id = 'm1' AND id < ?`, historyAgent(1), pastID(2_000))
				if err != nil {
					t.Fatal(err)
				}
				if kind == database.Postgres {
					if _, err := db.ExecContext(t.Context(), "VACUUM ANALYZE"); err != nil {
						t.Fatal(err)
					}
				}
				var list []prediction.Prediction
				explained := dbtest.Explain(t, db, func(db *database.DB) {
					var err error
					if list, err = (prediction.Store{}).ResolvedOn(t.Context(), db.Reader, historyAgent(1), []string{"e:m1", "e:m2", "e:none"}, 20); err != nil {
						t.Fatal(err)
					}
				})
				// Postgres reads a small table completely.
				if n := dbtest.TouchedRows(explained); size == manyPredictions && n > 1000 {
					t.Errorf("%d rows of %d predictions, want at most 1000", n, size)
					for _, e := range explained {
						t.Logf("%d rows: %s", e.Rows, e.Query)
					}
				}
				for _, e := range explained {
					if len(e.Whole) > 0 {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
				if len(list) < 10 || len(list) > 21 || *list[0].WeightIndex > 1 || list[0].Thesis != "" {
					t.Fatalf("%d predictions", len(list))
				}
				for i := 1; i < len(list); i++ {
					if *list[i].WeightIndex <= *list[i-1].WeightIndex {
						t.Errorf("weight %d follows %d", *list[i].WeightIndex, *list[i-1].WeightIndex)
					}
				}
			}
		})
	}
}

// TestListPlans checks that Postgres doesn't plan the most frequent lists anew for each cursor or word.
func TestListPlans(t *testing.T) {
	t.Parallel()
	const pages, custom = 12, 5 // Postgres plans the first five runs of a statement for their values
	db := dbtest.OpenAt(t, pastOf[manyPredictions](t, database.Postgres))
	db.SetMaxOpenConns(1)
	for name, words := range map[string]string{"newest": "", "search": "common"} {
		for n := range pages {
			f := prediction.Filter{Words: words, Limit: 24, Cursor: cursor.Encode(string(prediction.ByCreatedAt), "", pastID(1000+n))}
			if list, _, err := (prediction.Store{}).List(t.Context(), db.Reader, f); err != nil || len(list) == 0 {
				t.Fatalf("%s: %d predictions, %v", name, len(list), err)
			}
		}
	}
	var plans []struct {
		Statement       string
		Generic, Custom int
	}
	err := db.NewRaw("SELECT statement, generic_plans AS generic, custom_plans AS custom FROM pg_prepared_statements WHERE generic_plans + custom_plans >= ?",
		pages).Scan(t.Context(), &plans)
	if err != nil || len(plans) != 3 { // the walk of the newest, and the spans and the walk of a search
		t.Fatalf("%d statements ran %d times, %v", len(plans), pages, err)
	}
	for _, p := range plans {
		if p.Custom > custom {
			t.Errorf("%d custom plans and %d generic ones: %s", p.Custom, p.Generic, p.Statement)
		}
	}
}
