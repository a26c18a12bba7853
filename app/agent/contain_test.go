package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/problem"
)

// handlesOf lists all pages of a filter, each as handles joined with spaces.
func handlesOf(t *testing.T, db *database.DB, f agent.Filter) (pages []string) {
	t.Helper()
	for range 50 {
		list, next, err := store.List(t.Context(), db.Reader, f)
		if err != nil {
			t.Fatal(err)
		}
		var handles []string
		for _, a := range list {
			handles = append(handles, a.Handle)
		}
		if pages = append(pages, strings.Join(handles, " ")); next == "" {
			return pages
		}
		f.Cursor = next
	}
	t.Fatalf("%+v has no last page: %v", f, pages)
	return nil
}

// TestSearch checks which agents a text finds, and their order. The directory of agents finds the same ones.
func TestSearch(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for _, name := range []string{"Octopus", "Octo", "Deep Octo", "macromind", "Rain 100%", "a_b", "back\\slash", "Grün", "予測 ボット", "An anagram and a banana",
			"Кассандра и Ко", "Οδυσσεύς Α", "İstanbul Bot", "Straße Wetter"} {
			create(t, db, name)
		}
		long := create(t, db, "The one with quite a long name indeed")
		create(t, db, "The one with quite a longer one")
		renamed := create(t, db, "Quondam")
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			_, err := store.Update(ctx, tx, renamed.ID, func(p *agent.Profile) { p.Name = "Novel" })
			return err
		})
		for q, want := range map[string]string{
			"octo": "deep-octo octo octopus", "OCTOPUS": "octopus", "mind": "macromind", "p o": "deep-octo", "octo octo": "",
			"100%": "rain-100", "%": "rain-100", "_": "a-b", "\\": "back-slash", "rün": "grun", "測": "agent", "予測 ボット": "agent",
			"the one with quite a long name": long.Handle, "the one with quite a long nose": "", "novel": renamed.Handle,
			"anana": "an-anagram-and-a-banana", "nowhere": "",
			"Кассандра": "kassandra-i-ko", "кассандра и": "kassandra-i-ko", "САНДРА И КО": "kassandra-i-ko", "Οδυσσεύς": "odysseys-a", "οδυσσεύς α": "odysseys-a",
			"ΟΔΥΣΣΕΎΣ": "odysseys-a", "istanbul bot": "istanbul-bot", "İSTANBUL B": "istanbul-bot", "GRÜN": "grun", "STRASSE W": "strasse-wetter", "straße w": "strasse-wetter",
		} {
			if ids, _, err := agent.Directory(t.Context(), db.Reader, agent.DirectoryFilter{Q: q, Order: agent.Orders()[0], Limit: 20}); err != nil || len(ids) != len(strings.Fields(want)) {
				t.Errorf("%q finds %d agents in the directory, want %q: %v", q, len(ids), want, err)
			}
			if got := strings.Join(handlesOf(t, db, agent.Filter{Q: q, Kind: agent.Ordinary, Limit: 20}), " / "); !matches(got, want) {
				t.Errorf("%q finds %q, want %q", q, got, want)
			}
		}
		// The handle stays after a new name, but no part of the old name does.
		if got := handlesOf(t, db, agent.Filter{Q: "quondam", Limit: 20}); got[0] != renamed.Handle {
			t.Errorf("the handle finds %q", got)
		}
		var parts int
		if err := db.NewRaw("SELECT COUNT(*) FROM agent_label_parts WHERE agent_id = ?", renamed.ID).Scan(t.Context(), &parts); err != nil {
			t.Fatal(err)
		}
		if want := len(renamed.Handle + "\tnovel\n"); parts != want {
			t.Errorf("%d parts of the renamed agent, want %d", parts, want)
		}
	})
}

// matches compares lists of handles. Handles of names without Latin letters end with random characters.
func matches(got, want string) bool {
	return got == want || (want == "agent" && strings.HasPrefix(got, "agent-") && !strings.Contains(got, " "))
}

// TestSearchPages checks that the pages of a search hold each match exactly once, even if most of what
// they examine doesn't match, and that the first page finds a match wherever it is in the alphabet.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		if err := addAgents(t.Context(), db, 900); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE agents SET status = 'disabled' WHERE handle LIKE 'agent-00%' AND handle NOT LIKE '%7'"); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			q                string
			limit            int
			found, firstPage int
		}{
			{"agent", 100, 90, 0}, {"a", 20, 90, 0}, {"agent 897", 6, 1, 1}, {"agent-0000897", 6, 1, 1},
		} {
			seen := map[string]int{}
			pages := handlesOf(t, db, agent.Filter{Q: c.q, Limit: c.limit, Listed: true, Kind: agent.Ordinary})
			for i, page := range pages {
				handles := strings.Fields(page)
				if len(handles) > c.limit || (i == 0 && len(handles) < c.firstPage) {
					t.Errorf("%q: page %d has %d agents", c.q, i, len(handles))
				}
				for _, handle := range handles {
					seen[handle]++
				}
			}
			if len(seen) != c.found {
				t.Errorf("%q: found %d agents, want %d", c.q, len(seen), c.found)
			}
			for handle, times := range seen {
				if times != 1 {
					t.Errorf("%q: found %s %d times", c.q, handle, times)
				}
			}
		}
	})
}

// TestListCursors checks that a list refuses the cursors of other lists.
func TestListCursors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		id := "0198cccc-0000-7000-8000-000000000fa0"
		for _, c := range []struct{ q, cursor string }{
			{"", "x"}, {"a", "x"}, {"", "ada"}, {"", cursor.Encode("agents", "No Handle")}, {"a", cursor.Encode("agents", "ada")},
			{"", cursor.Encode("parts", "a", id, "1")}, {"a", cursor.Encode("parts", "a", "1", "1")}, {"a", cursor.Encode("parts", "a", id, "one")},
			{"a", cursor.Encode("parts", "a\x00", id, "1")}, {"a", cursor.Encode("parts", "\xff", id, "1")},
		} {
			_, _, err := store.List(t.Context(), db.Reader, agent.Filter{Q: c.q, Cursor: c.cursor, Limit: 3})
			if p, ok := errors.AsType[*problem.Error](err); !ok || p.Code != "invalid_parameter" {
				t.Errorf("q %q, cursor %q: %v", c.q, c.cursor, err)
			}
		}
	})
}
