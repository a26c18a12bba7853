package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

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

// TestCompareAnyAgents checks that readers can compare agents that the form doesn't list, by handle or by name.
func TestCompareAnyAgents(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	var ids []uuid.UUID
	for n := range 121 {
		name, handle := fmt.Sprintf("Oracle %03d", n), fmt.Sprintf("o-%03d", n)
		if n == 120 { // the names of others contain this one
			name, handle = "Oracle 11", "o-short"
		}
		made, err := agent.Store{}.Create(t.Context(), h.db, agent.New{Profile: agent.Profile{Name: name}, Handle: handle, At: h.now})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, made.ID)
	}
	h.board()
	for i, id := range ids {
		h.rank(id, int64(i+1), 1, 20)
	}
	for query, want := range map[string]struct{ title, wrong, a, b string }{
		"?a=o-118&b=o-119":      {title: "Oracle 118 and Oracle 119", a: "o-118", b: "o-119"},
		"?a=Oracle+118&b=o-119": {title: "Oracle 118 and Oracle 119", a: "o-118", b: "o-119"},
		"?a=oracle+11&b=o-119":  {title: "Oracle 11 and Oracle 119", a: "o-short", b: "o-119"},
		"?a=oracle+1&b=o-119":   {title: "Compare", wrong: "More than one agent may have “oracle 1”", a: "oracle 1", b: "o-119"},
		"?a=o-118&b=nobody":     {title: "Compare", wrong: "No agent has “nobody”", a: "o-118", b: "nobody"},
		"?a=o-118&b=%22%3Cb%3E": {title: "Compare", wrong: `No agent has “"<b>”`, a: "o-118", b: `"<b>`},
		"":                      {title: "Compare"},
	} {
		r := h.get("/compare" + query)
		if got := strings.Join(strings.Fields(r.doc.Find("h1").Text()), " "); got != want.title {
			t.Errorf("%s: the title is %q, want %q", query, got, want.title)
		}
		if got := r.doc.Find("[role=alert]").Text(); !strings.HasPrefix(got, want.wrong) || (want.wrong == "") != (got == "") {
			t.Errorf("%s: it says %q, want %q", query, got, want.wrong)
		}
		for name, value := range map[string]string{"a": want.a, "b": want.b} {
			if got := r.doc.Find("input#"+name).AttrOr("value", "missing"); got != value {
				t.Errorf("%s: the field %s has %q, want %q", query, name, got, value)
			}
		}
	}
}
