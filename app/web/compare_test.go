package web_test

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestCompareKeepsTheChosen checks that the form keeps an agent from a link that isn't at the top of the board.
func TestCompareKeepsTheChosen(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	for _, name := range []string{"Bob", "Cyd"} {
		made, err := agent.Store{}.Create(t.Context(), h.db, agent.New{Profile: agent.Profile{Name: name}, Handle: strings.ToLower(name), At: h.now})
		if err != nil {
			t.Fatal(err)
		}
		if name == "Bob" {
			h.board()
			h.rank(h.agent.ID, 1, 1, 19)
			h.rank(made.ID, 2, 2, 20)
		}
	}
	for path, want := range map[string][2]string{
		"/compare": {"", ""}, "/compare?a=ada": {"ada", ""}, "/compare?a=cyd": {"cyd", ""}, "/compare?b=cyd": {"", "cyd"}, "/compare?a=cyd&b=ada": {"cyd", "ada"},
	} {
		r := h.get(path)
		for i, name := range []string{"a", "b"} {
			if got := r.doc.Find("select#"+name+" option[selected]").AttrOr("value", ""); got != want[i] {
				t.Errorf("%s: %s has %q chosen, want %q", path, name, got, want[i])
			}
		}
	}
}
