package prediction_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestHiddenTextsLeaveNoTrace checks that lists don't tell whether hidden texts contain a word: a word of public and
// hidden texts gives the same pages, with the same cursors, as one of the public texts alone.
func TestHiddenTextsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	const size = 1000
	written := dbtest.Filled(func(ctx context.Context, db *database.DB) error { return past.fill(ctx, db, 1, size) })
	for _, kind := range dbtest.Kinds {
		for _, c := range []struct {
			name   string
			hidden int    // one in this many predictions
			hide   string // the statement that hides predictions
		}{
			{"one", 501, "UPDATE predictions SET hidden = TRUE WHERE id IN (?)"},
			{"some", 97, "UPDATE predictions SET hidden = TRUE WHERE id IN (?)"},
			{"many", 3, "UPDATE predictions SET hidden = TRUE WHERE id IN (?)"},
			{"all of an agent", 501, "UPDATE agents SET visibility = 'texts_hidden' WHERE id IN (SELECT agent_id FROM predictions WHERE id IN (?))"},
		} {
			t.Run(fmt.Sprint(kind, " ", c.name), func(t *testing.T) {
				t.Parallel()
				db := dbtest.OpenAt(t, written(t, kind))
				exec := func(query string, args ...any) {
					t.Helper()
					if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
						t.Fatal(err)
					}
				}
				addWords := func(words string, to []string) {
					t.Helper()
					if kind == database.Postgres {
						exec("UPDATE prediction_words SET words = words || ?::bigint[] WHERE id IN (?)", prediction.WordKeys(words), bun.List(to))
						return
					}
					exec("UPDATE prediction_words SET words = words || ' ' || ? WHERE id IN (?)", words, bun.List(to))
				}
				var hidden, public []string
				for n := range size {
					switch id := pastID(n + 1); {
					case (n+1)%c.hidden == 0:
						hidden = append(hidden, id)
					case n%2 == 0:
						public = append(public, id)
					}
				}
				addWords("beta", hidden)
				exec(c.hide, bun.List(hidden))
				addWords("alpha beta", public)
				if c.name == "all of an agent" { // hide no match of both words
					exec("DELETE FROM prediction_words WHERE id IN (SELECT p.id FROM predictions AS p JOIN agents AS g ON g.id = p.agent_id WHERE g.visibility = 'texts_hidden' AND p.id <> ?)", pastID(501))
				}
				for name, f := range map[string]prediction.Filter{
					"search":                  {Limit: 24},
					"small pages":             {Limit: 3},
					"nothing fits":            {Limit: 1, EventID: "nosuch"},
					"of a category":           {Limit: 24, Category: "c1"},
					"of an agent":             {Limit: 24, AgentID: historyAgent(1)},
					"of a market":             {Limit: 24, MarketID: "m1"},
					"void":                    {Limit: 24, Status: prediction.Void},
					"by edge":                 {Limit: 100, Sort: prediction.ByEdge},
					"by edge, of an agent":    {Limit: 24, Sort: prediction.ByEdge, AgentID: historyAgent(1)},
					"by resolution, resolved": {Limit: 24, Sort: prediction.ByResolvedAt, Status: prediction.Resolved},
				} {
					f.Words = "alpha"
					want := pagesOf(t, db, f)
					f.Words = "beta"
					if got := pagesOf(t, db, f); !slices.Equal(got, want) {
						t.Errorf("%s: %d pages instead of %d:\n%q\nwant\n%q", name, len(got), len(want), got, want)
					}
				}
			})
		}
	}
}

// pagesOf returns the ids and the next cursor of each page of a list.
func pagesOf(t *testing.T, db *database.DB, f prediction.Filter) (pages []string) {
	t.Helper()
	for {
		records, next, err := prediction.Store{}.List(t.Context(), db.Reader, f)
		if err != nil {
			t.Fatal(err)
		}
		ids := make([]uuid.UUID, len(records))
		for i := range records {
			ids[i] = records[i].ID
		}
		pages = append(pages, fmt.Sprint(ids, next))
		if f.Cursor = next; next == "" || len(pages) > 2000 {
			return pages
		}
	}
}
