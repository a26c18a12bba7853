package prediction_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/problem"
)

// TestSearchPages checks that the pages of a search list every match once, newest first, for words that are in
// every prediction, in a few, in many old ones only, and in none.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	const size, old = 12_000, 3_000
	every := func(step, offset int) (matches []string) {
		for n := size; n > 0; n-- {
			if n%step == offset {
				matches = append(matches, pastID(n))
			}
		}
		return matches
	}
	tests := []struct {
		words string
		limit int
		want  []string
	}{
		{"common", 500, every(1, 0)},
		{"common half", 499, every(2, 0)},
		{"percent", 7, every(100, 0)},
		{"W17 common", 5, every(1000, 17)},
		{"w17", 1, every(1000, 17)},
		{"w17", 12, every(1000, 17)}, // as many as there are
		{"rare", 24, every(10_000, 0)},
		{"w17 half", 24, nil},
		{"absent", 24, nil},
		{"old", 400, every(1, 0)[size-old:]},
		{"old percent", 24, every(100, 0)[(size-old)/100:]},
	}
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			past.write(t, db, 1, size)
			add := "UPDATE prediction_words SET words = words || ' old' WHERE id < ?"
			if kind == database.Postgres {
				add = "UPDATE prediction_words SET words = words || '" + prediction.WordKeys("old") + "' WHERE id < ?"
			}
			if _, err := db.ExecContext(t.Context(), add, pastID(old+1)); err != nil {
				t.Fatal(err)
			}
			for _, tt := range tests {
				t.Run(fmt.Sprintf("%s by %d", tt.words, tt.limit), func(t *testing.T) {
					t.Parallel()
					f := prediction.Filter{Words: tt.words, Limit: tt.limit}
					listed := 0
					for pages := 0; ; pages++ {
						records, next, err := prediction.Store{}.List(t.Context(), db.Reader, f)
						if err != nil {
							t.Fatal(err)
						}
						for _, r := range records {
							if listed == len(tt.want) || r.ID.String() != tt.want[listed] {
								t.Fatalf("match %d is %s, want %d: %.3s", listed, r.ID, len(tt.want), tt.want[listed:])
							}
							listed++
						}
						if next == "" {
							break
						}
						if pages > 2+len(tt.want)/tt.limit {
							t.Fatalf("no end after %d pages of %d", pages, tt.limit)
						}
						f.Cursor = next
					}
					if listed != len(tt.want) {
						t.Errorf("listed %d matches, want %d", listed, len(tt.want))
					}
				})
			}
		})
	}
}

// TestCursorOfAnotherList checks that a search doesn't take the cursor of a list without words for its end.
func TestCursorOfAnotherList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		d := open(t, db)
		for range 2 {
			if _, _, err := d.publish(t, draft(nil)); err != nil {
				t.Fatal(err)
			}
		}
		_, next, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{Limit: 1})
		if err != nil || next == "" {
			t.Fatalf("cursor %q, %v", next, err)
		}
		found, _, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{Words: "sun", Limit: 1, Cursor: next})
		switch refused := (*problem.Error)(nil); {
		case errors.As(err, &refused) && refused.Code == problem.CodeInvalidParameter.Name:
		case err != nil || len(found) != 1:
			t.Errorf("found %d, %v; want the second match or a refusal of the cursor", len(found), err)
		}
	})
}

// TestSearchIsInOrderOfPublication checks that a search lists the newest predictions first, although some were revealed,
// and so indexed, after newer ones. Several predictions were published at the same time.
func TestSearchIsInOrderOfPublication(t *testing.T) {
	t.Parallel()
	eachAuthor(t, func(t *testing.T, d *author) {
		var ids []string // in the order of publication
		publish := func(until prediction.Reveal, by agent.Agent) {
			t.Helper()
			_, id, err := d.publish(t, withheldDraft(until, "1"), func(s *prediction.Submission) { s.Agent = by })
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		bob, cy, dan := d.newAgent(t, "Bob"), d.newAgent(t, "Cy"), d.newAgent(t, "Dan")
		for _, at := range []struct {
			until prediction.Reveal
			by    [2]agent.Agent
		}{
			{prediction.RevealClose, [2]agent.Agent{d.agent, bob}}, {prediction.RevealNow, [2]agent.Agent{cy, dan}},
			{prediction.RevealClose, [2]agent.Agent{d.agent, bob}},
		} {
			publish(at.until, at.by[0])
			publish(at.until, at.by[1])
			d.wait(time.Second)
		}
		d.wait(start.AddDate(0, 1, 0).Sub(start))
		d.revealDue(t)
		slices.Reverse(ids)
		f := prediction.Filter{Words: "zebrafish", Limit: 1}
		var found []string
		for range len(ids) + 1 {
			list, next, err := prediction.Store{}.List(t.Context(), d.db.Reader, f)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range list {
				found = append(found, r.ID.String())
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
		for pair := 0; pair < len(ids); pair += 2 { // published at the same time
			slices.Sort(ids[pair : pair+2])
			if pair+2 <= len(found) {
				slices.Sort(found[pair : pair+2])
			}
		}
		if !slices.Equal(found, ids) {
			t.Errorf("found %q, want %q", found, ids)
		}
	})
}

// TestSearchRanksTheNewest checks that a search by edge ranks the newest matches, and not those that were indexed last.
func TestSearchRanksTheNewest(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			const size, old = 400, 50
			past.write(t, db, 1, size)
			if _, err := db.ExecContext(t.Context(), "DELETE FROM prediction_words WHERE id <= ?", pastID(old)); err != nil {
				t.Fatal(err)
			}
			err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, _, err := prediction.IndexWords(ctx, tx, "", old)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			f, ranked := prediction.Filter{Words: "common", Sort: prediction.ByEdge, Limit: 100}, 0
			for more := true; more; more = f.Cursor != "" {
				list, next, newest, err := prediction.Store{}.Ranked(t.Context(), db.Reader, f)
				if err != nil || newest != 300 {
					t.Fatalf("got the newest %d, %v; want 300", newest, err)
				}
				for _, r := range list {
					if r.ID.String() <= pastID(size-300) {
						t.Errorf("ranked %s, which isn't among the newest 300", r.ID)
					}
				}
				f.Cursor = next
				ranked += len(list)
			}
			if ranked < 200 { // an open prediction has no edge
				t.Errorf("ranked %d predictions", ranked)
			}
			all := prediction.Filter{Words: "common half", Sort: prediction.ByEdge, Limit: 1}
			if _, next, newest, err := (prediction.Store{}).Ranked(t.Context(), db.Reader, all); err != nil || newest != 0 || next == "" {
				t.Errorf("of 200 matches, only the newest %d are ranked, %v", newest, err)
			}
			if all, _, err := (prediction.Store{}).List(t.Context(), db.Reader, prediction.Filter{Words: "common", Limit: size}); err != nil || len(all) != size {
				t.Errorf("found %d predictions, %v; want %d", len(all), err, size)
			}
		})
	}
}
