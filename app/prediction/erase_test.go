package prediction_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestEraseReadsOnlyItsWords checks that erasing makes an agent's predictions unsearchable, and no other agent's. No
// statement may read the whole search index, except for predictions that were stored without their ids as words.
func TestEraseReadsOnlyItsWords(t *testing.T) {
	t.Parallel()
	for name, old := range map[string]bool{"with ids": false, "stored without ids": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				d := open(t, db)
				bob := d.newAgent(t, "Bob")
				const each = 60 // more than one transaction erases
				var list []prediction.Submission
				for i := range 2 * each {
					list = append(list, d.submission(func(s *prediction.Submission) {
						s.Draft.Title = fmt.Sprint("Will it rain in town ", i)
						if i%2 == 1 {
							s.Agent = bob
						}
					}))
				}
				for _, o := range d.PublishBatch(t.Context(), list) {
					if o.Err != nil {
						t.Fatal(o.Err)
					}
				}
				for word, want := range map[string]int{"rain": 1, strings.ReplaceAll(newestOf(t, db), "-", ""): 0} {
					found, _, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{Words: word, Limit: 1})
					if err != nil || len(found) != want {
						t.Errorf("a search for %s found %d predictions, %v; want %d", word, len(found), err, want)
					}
				}
				if old && db.Kind == database.SQLite {
					if _, err := db.ExecContext(t.Context(), "UPDATE prediction_words SET words = 'will it rain in town'"); err != nil {
						t.Fatal(err)
					}
				}
				moves := func() (n int) {
					t.Helper()
					if err := db.NewRaw("SELECT COALESCE(SUM(value), 0) FROM generations WHERE topic = 'texts'").Scan(t.Context(), &n); err != nil {
						t.Fatal(err)
					}
					return n
				}
				before := moves()
				seen := &statements{}
				hooked := *db
				hooked.Watch(seen)
				if n, complete, err := prediction.Erase(t.Context(), &hooked, d.agent.ID, 1000, d.now()); n != each || !complete || err != nil {
					t.Fatalf("erased %d, complete %t, %v", n, complete, err)
				}
				for agent, want := range map[string]int{d.agent.ID.String(): 0, bob.ID.String(): each} {
					var n int
					if err := db.NewRaw("SELECT COUNT(*) FROM prediction_words WHERE agent_id = ?", agent).Scan(t.Context(), &n); err != nil || n != want {
						t.Errorf("%d predictions of %s are searchable, %v; want %d", n, agent, err, want)
					}
				}
				if got := moves() - before; got != 1 {
					t.Errorf("the generation of texts moved %d times, want 1", got)
				}
				if db.Kind == database.SQLite {
					if whole := wholeReads(t, db, seen.list); whole > 0 != old {
						t.Errorf("%d statements read the whole search index", whole)
					}
				}
			})
		})
	}
}

// newestOf returns the id of the newest prediction.
func newestOf(t *testing.T, db *database.DB) (id string) {
	t.Helper()
	if err := db.NewRaw("SELECT id FROM predictions ORDER BY id DESC LIMIT 1").Scan(t.Context(), &id); err != nil {
		t.Fatal(err)
	}
	return id
}

// wholeReads counts the deletions that read all rows of the search index on SQLite. The plan of a virtual table ends
// with its constraints.
func wholeReads(t *testing.T, db *database.DB, queries []string) (n int) {
	t.Helper()
	deletions := 0
	for _, query := range queries {
		if !strings.HasPrefix(query, `DELETE FROM "prediction_words"`) {
			continue
		}
		deletions++
		var plan []struct {
			ID, Parent, Notused int
			Detail              string
		}
		if err := db.NewRaw("EXPLAIN QUERY PLAN "+query).Scan(t.Context(), &plan); err != nil {
			t.Fatal(err)
		}
		for _, step := range plan {
			if strings.HasSuffix(step.Detail, "VIRTUAL TABLE INDEX 0:") {
				n++
			}
		}
	}
	if deletions == 0 {
		t.Fatalf("no words were deleted: %q", queries)
	}
	return n
}
