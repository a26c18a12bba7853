package admin_test

import (
	"strings"
	"testing"
)

// TestAgentsPartial checks that the table of agents says where a search stopped, and that the next page continues
// it.
func TestAgentsPartial(t *testing.T) {
	t.Parallel()
	h := open(t, openSQLite(t))
	h.exec(`INSERT INTO agents (id, handle, name, kind, status, sample, created_at)
		SELECT printf('ffffffff-0000-7000-8000-%012x', n), printf('a-%07d', n), 'A', 'agent', 'disabled', FALSE, ? FROM
		(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 5001) SELECT n FROM numbers)`, start)
	b := h.signedIn("eve")
	first := b.get("/admin/agents?status=active")
	if text := first.text("main"); !strings.Contains(first.text("#partial"), "The next page continues it.") || !strings.Contains(text, "No match so far") {
		t.Errorf("first page: %s", text)
	}
	next, _ := first.doc.Find("a[rel=next]").Attr("href")
	second := b.get(next)
	if text := second.text("main"); !strings.Contains(text, "ada") || second.doc.Find("#partial, a[rel=next]").Length() > 0 {
		t.Errorf("second page, %q: %s", next, text)
	}
}

// TestClosedAgents checks that the filter "closed" finds closed accounts, and that "active" and "disabled" leave them out.
func TestClosedAgents(t *testing.T) {
	t.Parallel()
	h := open(t, openSQLite(t))
	h.exec(`INSERT INTO agents (id, handle, name, kind, status, sample, created_at, closed_at)
		VALUES ('ffffffff-0000-7000-8000-000000000001', 'closed-abcdefgh', 'closed-abcdefgh', 'agent', 'active', FALSE, ?, ?)`, start, start)
	b := h.signedIn("eve")
	for filter, has := range map[string][2]bool{"": {true, true}, "?status=active": {true, false}, "?status=disabled": {false, false}, "?status=closed": {false, true}} {
		page := b.get("/admin/agents" + filter)
		if text := page.text("main"); strings.Contains(text, "ada") != has[0] || strings.Contains(text, "closed-abcdefgh") != has[1] {
			t.Errorf("%q: %s", filter, text)
		}
		if chips := page.text(".filters"); !strings.Contains(chips, "Closed") {
			t.Errorf("%q: the filters are %s", filter, chips)
		}
	}
}
