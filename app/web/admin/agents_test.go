package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/moderation"
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

// TestCreateAgent checks that an admin can create an agent, whose key is shown once, that the form keeps what was typed
// after a mistake, and that a form sent twice creates one agent.
func TestCreateAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		const page, details = "/admin/agents", "details:has(#create-form)"
		agents := func() int { return h.count("SELECT COUNT(*) FROM agents WHERE kind = 'agent'") }
		if r := b.get(page); r.doc.Find(details).Length() != 1 || r.doc.Find(details+"[open]").Length() != 0 {
			t.Errorf("at first, the form: %s", r.text(details))
		}
		for name, c := range map[string]struct{ name, wrong string }{
			"no name":       {"", "characters"},
			"two lines":     {"Lina\nLu", "line"},
			"the service's": {"Pulsecast Lina", "Is reserved for the service and its staff; send another name. Or tick the box below."},
		} {
			r := b.post(page, page, url.Values{"name": {c.name}, "model": {"oracle-9"}, "framework": {"<abacus>"}})
			if r.status != 422 || r.doc.Find(details+"[open]").Length() != 1 || !strings.Contains(r.text("#name-help.field-error"), c.wrong) {
				t.Errorf("%s: %d %s", name, r.status, r.text(details))
			}
			if r.value("name") != c.name || r.value("model") != "oracle-9" || r.value("framework") != "<abacus>" || r.doc.Find("#official[checked]").Length() != 0 {
				t.Errorf("%s: the form lost what was typed", name)
			}
		}
		long := b.post(page, page, url.Values{"name": {"Lina"}, "model": {strings.Repeat("x", 81)}, "official": {"yes"}})
		if long.status != 422 || long.text("#model-help.field-error") == "" || long.doc.Find("#official[checked]").Length() != 1 {
			t.Errorf("a long model: %d %s", long.status, long.text(details))
		}
		if n := agents(); n != 1 || h.count("SELECT COUNT(*) FROM audit_log WHERE target LIKE 'agent:%'") != 0 {
			t.Fatalf("the mistakes left %d agents", n)
		}
		forged := url.Values{"csrf": {"x"}, "seen": {""}, "name": {"Mallory"}}
		for who, stranger := range map[string]*browser{"without a token": b, "not signed in": h.browser()} {
			if r := stranger.do("POST", page, forged); r.status != 403 || agents() != 1 {
				t.Errorf("%s: %d, %d agents", who, r.status, agents())
			}
		}

		sent := url.Values{"csrf": {b.get(page).value("csrf")}, "seen": {b.get(page).value("seen")},
			"name": {"Pulsecast Lina"}, "model": {"oracle-9"}, "official": {"yes"}}
		r := b.do("POST", page, sent)
		secret := r.text("pre.key")
		if r.status != 200 || r.header.Get("Cache-Control") != "no-store" || !strings.Contains(r.text("h1"), "Pulsecast Lina") || !strings.Contains(r.text(".flash"), "created") {
			t.Fatalf("created: %d %s", r.status, r.text("main"))
		}
		key, made, err := (agent.Store{}).FindKey(t.Context(), db.Reader, secret, h.now)
		if err != nil || made.Handle != "pulsecast-lina" || made.Model != "oracle-9" || made.Kind != agent.Ordinary {
			t.Fatalf("the key %q: %+v, %v", secret, made, err)
		}
		if got := r.text("#log ~ .table-wrap tbody"); !strings.Contains(got, "agent created agent:pulsecast-lina eve key "+key.ID+", a reserved name was allowed") {
			t.Errorf("log: %s", got)
		}
		for _, path := range []string{page, page + "/pulsecast-lina", "/admin/audit"} {
			if strings.Contains(b.get(path).body, secret) {
				t.Errorf("%s shows the key again", path)
			}
		}
		if h.count("SELECT COUNT(*) FROM audit_log WHERE action = 'agent_created' AND actor = 'eve' AND address <> ''") != 1 {
			t.Error("the audit log has no entry of the admin")
		}

		again := b.do("POST", page, sent) // as when the page with the key is loaded again
		if again.status != 409 || !strings.Contains(again.text(details+"[open] .field-error"), "The agent pulsecast-lina was created since you opened the page.") || again.value("name") != "Pulsecast Lina" {
			t.Errorf("the same form again: %d %s", again.status, again.text(details))
		}
		if again.doc.Find("#official[checked]").Length() != 1 || again.doc.Find("pre.key").Length() != 0 || agents() != 2 {
			t.Errorf("the same form again left %d agents: %s", agents(), again.text("main"))
		}
		sent.Set("seen", again.doc.Find("#create-form [name=seen]").AttrOr("value", ""))
		if r := b.do("POST", page, sent); r.status != 200 || !strings.Contains(r.text(".facts"), "pulsecast-lina-2") {
			t.Errorf("on purpose: %d %s", r.status, r.text("main"))
		}
	})
}

// TestReplaceKeys checks that an admin can replace all keys of an agent at once, after a question.
func TestReplaceKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		const page, action = "/admin/agents/ada", "/admin/agents/ada/keys/rotate"
		b.post(page, page+"/keys", url.Values{"label": {"spare"}})
		h.tx(func(ctx context.Context, tx bun.Tx) error {
			_, _, err := agent.Store{}.StartSession(ctx, tx, h.agent.ID, h.key.ID, start.AddDate(1, 0, 0), start)
			return err
		})
		before := b.get(page)
		if got := before.text(`details:not([open]):has(form[action="` + action + `"])`); !strings.Contains(got, "revokes every key and ends the sessions") {
			t.Errorf("the question: %q", got)
		}
		form := url.Values{"csrf": {before.value("csrf")}, "seen": {before.doc.Find(`form[action="`+action+`"] [name=seen]`).AttrOr("value", "")}}
		if r := b.do("POST", action, url.Values{"csrf": {"x"}, "seen": form["seen"]}); r.status != 403 || h.count("SELECT COUNT(*) FROM agent_keys WHERE revoked_at IS NOT NULL") != 0 {
			t.Errorf("without a token: %d", r.status)
		}

		h.now = h.now.Add(time.Second) // the acts are ordered by time
		r := b.do("POST", action, form)
		secret := r.text("pre.key")
		if r.status != 200 || !strings.Contains(r.text(".flash"), "Every earlier key is revoked") {
			t.Fatalf("replaced: %d %s", r.status, r.text("main"))
		}
		key, _, err := (agent.Store{}).FindKey(t.Context(), db.Reader, secret, h.now)
		if err != nil {
			t.Fatalf("the new key %q: %v", secret, err)
		}
		if n := h.count("SELECT COUNT(*) FROM agent_keys WHERE revoked_at IS NULL"); n != 1 || h.count("SELECT COUNT(*) FROM sessions") != 0 {
			t.Errorf("%d keys work, and the session: %s", n, r.text("#act ~ *"))
		}
		if got := r.text("#log ~ .table-wrap tbody tr:first-child"); !strings.Contains(got, "keys replaced agent:ada eve every key → key "+key.ID) {
			t.Errorf("log: %s", got)
		}
		for _, path := range []string{page, "/admin/audit"} {
			if strings.Contains(b.get(path).body, secret) {
				t.Errorf("%s shows the key again", path)
			}
		}
		if again := b.do("POST", action, form); again.status != 409 || !strings.Contains(again.text("main"), "Latest acts here") || h.count("SELECT COUNT(*) FROM agent_keys") != 3 {
			t.Errorf("the same form again: %d %s", again.status, again.text("main"))
		}

		b.follow(page, page+"/keys/revoke", nil)
		if n := b.get(page).doc.Find(`form[action="` + action + `"]`).Length(); n != 0 {
			t.Error("a page of an agent without a key that works offers to replace all")
		}
		closed, err := h.moderation.CloseAccount(t.Context(), moderation.Act{Actor: audit.Shell, Reason: "A test."}, "ada")
		if err != nil {
			t.Fatal(err)
		}
		gone := page[:len(page)-len("ada")] + closed.Agent.Handle
		if r := b.get(gone); r.status != 200 || r.doc.Find(`form[action*="/keys"]`).Length() != 0 {
			t.Errorf("the page of a closed account: %d %s", r.status, r.text("#keys ~ *"))
		}
		if r := b.do("POST", gone+"/keys/rotate", url.Values{"csrf": form["csrf"]}); r.status != 403 || !strings.Contains(r.body, "closed") {
			t.Errorf("keys of a closed account: %d %s", r.status, r.body)
		}
	})
}

// TestKeysOfAProvider checks that no page offers to create an agent or a key while an identity provider issues them,
// and that a form that was opened before is refused with what was typed.
func TestKeysOfAProvider(t *testing.T) {
	t.Parallel()
	h, _ := withProvider(t, openSQLite(t))
	b := h.signedIn("eve")
	list, one := b.get("/admin/agents"), b.get("/admin/agents/ada")
	if list.status != 200 || list.doc.Find("#create-form").Length() != 0 || one.status != 200 || one.doc.Find(`form[action$="/keys"], form[action$="/rotate"]`).Length() != 0 {
		t.Errorf("the pages offer keys: %d %s, %d %s", list.status, list.text("main details"), one.status, one.text("#keys ~ *"))
	}
	form := url.Values{"csrf": {list.value("csrf")}, "seen": {""}, "name": {"Lina"}, "model": {"oracle-9"}}
	r := b.do("POST", "/admin/agents", form)
	if r.status != 409 || !strings.Contains(r.text(".lede"), "agents and keys come from") || r.text("#typed + dl") != "NameLinaModeloracle-9" || r.doc.Find("#meanwhile").Length() != 0 {
		t.Errorf("create: %d %s", r.status, r.text("main"))
	}
	if r := b.do("POST", "/admin/agents/ada/keys/rotate", form); r.status != 409 || !strings.Contains(r.text(".lede"), "agents and keys come from") {
		t.Errorf("replace all keys: %d %s", r.status, r.text("main"))
	}
	if n := h.count("SELECT COUNT(*) FROM agents WHERE kind = 'agent'"); n != 1 || h.count("SELECT COUNT(*) FROM agent_keys WHERE revoked_at IS NULL") != 1 {
		t.Errorf("%d agents", n)
	}
}
