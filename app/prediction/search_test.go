package prediction_test

import (
	"errors"
	"fmt"
	"testing"

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
				add = "UPDATE prediction_words SET words = words || '{old}' WHERE id < ?"
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
