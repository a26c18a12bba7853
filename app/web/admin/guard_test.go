package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
)

// TestMatrix requests every admin route as each client that must be refused.
func TestMatrix(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		provider := identitytest.New(t, func() time.Time { return start })
		h := openWith(t, db, base, provider.Configure)
		h.assignment()
		valid := h.signedIn("eve")
		csrf := valid.get("/admin").value("csrf")
		crossSite := func(b *browser) { b.header.Set("Sec-Fetch-Site", "cross-site") }
		otherOrigin := func(b *browser) { b.header.Set("Origin", "https://evil.example") }
		intruders := map[string]func() (*browser, url.Values){
			"signed out": func() (*browser, url.Values) { return h.browser(), url.Values{"csrf": {csrf}} },
			"garbage cookie": func() (*browser, url.Values) {
				b := h.browser()
				b.header.Set("Cookie", "pulsecast_admin="+domain.NewToken())
				return b, url.Values{"csrf": {csrf}}
			},
			"an agent": func() (*browser, url.Values) {
				b := h.browser()
				b.header.Set("Authorization", "Bearer pc_some_key")
				return b, url.Values{"csrf": {csrf}}
			},
			"over": func() (*browser, url.Values) {
				b := h.signedIn("olaf")
				form := url.Values{"csrf": {b.get("/admin").value("csrf")}}
				h.exec("DELETE FROM admin_sessions WHERE admin_id = (SELECT id FROM admins WHERE name = 'olaf')")
				return b, form
			},
			"idle": func() (*browser, url.Values) {
				b := h.signedIn("olaf")
				form := url.Values{"csrf": {b.get("/admin").value("csrf")}}
				h.exec("UPDATE admin_sessions SET seen_at = ? WHERE admin_id = (SELECT id FROM admins WHERE name = 'olaf')", h.now.Add(-domain.IdleLife))
				return b, form
			},
			"too old": func() (*browser, url.Values) {
				b := h.signedIn("olaf")
				form := url.Values{"csrf": {b.get("/admin").value("csrf")}}
				h.exec("UPDATE admin_sessions SET expires_at = ? WHERE admin_id = (SELECT id FROM admins WHERE name = 'olaf')", h.now)
				return b, form
			},
		}
		forgers := map[string]func() (*browser, url.Values){
			"no token":      func() (*browser, url.Values) { return h.signedIn("eve"), url.Values{} },
			"wrong token":   func() (*browser, url.Values) { return h.signedIn("eve"), url.Values{"csrf": {"x" + csrf}} },
			"other's token": func() (*browser, url.Values) { return h.signedIn("olaf"), url.Values{"csrf": {csrf}} },
			"cross-site": func() (*browser, url.Values) {
				b := h.signedIn("eve")
				form := url.Values{"csrf": {b.get("/admin").value("csrf")}}
				crossSite(b)
				return b, form
			},
			"other origin": func() (*browser, url.Values) {
				b := h.signedIn("eve")
				form := url.Values{"csrf": {b.get("/admin").value("csrf")}}
				otherOrigin(b)
				return b, form
			},
		}
		walked := 0
		for who, make := range intruders {
			b, form := make()
			before := h.state()
			for _, r := range h.routes() {
				walked++
				got := b.do(r.method, r.path, r.form(form))
				want := http.StatusForbidden
				if r.method == http.MethodGet {
					want = http.StatusSeeOther
				}
				to := "/admin/sign-in"
				switch r.path {
				case "/admin/sign-in/provider":
					to = provider.URL + "/authorize?"
				case "/admin/sign-in/callback":
					want = http.StatusBadRequest
				}
				if got.status != want || (want == 303 && !strings.HasPrefix(got.header.Get("Location"), to)) {
					t.Errorf("%s: %s %s: %d to %q", who, r.method, r.path, got.status, got.header.Get("Location"))
				}
				if got.header.Get("Cache-Control") != "no-store" || !strings.Contains(got.header.Get("X-Robots-Tag"), "noindex") {
					t.Errorf("%s: %s %s may be cached or indexed: %v", who, r.method, r.path, got.header)
				}
			}
			if after := h.state(); after != before {
				t.Errorf("%s changed something:\n%s\n%s", who, before, after)
			}
		}
		for who, make := range forgers {
			b, form := make()
			before := h.state()
			for _, r := range h.routes() {
				if r.method != http.MethodPost {
					continue
				}
				if got := b.do(r.method, r.path, r.form(form)); got.status != http.StatusForbidden {
					t.Errorf("%s: POST %s: %d", who, r.path, got.status)
				}
			}
			if after := h.state(); after != before {
				t.Errorf("%s changed something:\n%s\n%s", who, before, after)
			}
		}
		if walked < 6*25 {
			t.Errorf("sent only %d requests", walked)
		}
		// The refusals prove something only if the same requests succeed for an admin.
		for _, r := range h.routes() {
			if got := valid.get(r.path); r.method == http.MethodGet && !strings.HasSuffix(r.path, "/anything") && r.path != "/admin/sign-in/callback" && got.status != 200 && got.status != 303 {
				t.Errorf("eve: GET %s: %d %s", r.path, got.status, got.text("main"))
			}
		}
	})
}

type route struct{ method, path string }

// form returns the fields that an act needs besides the token, so that it would succeed.
func (r route) form(token url.Values) url.Values {
	if r.method == http.MethodGet {
		return nil
	}
	form := url.Values{"note": {"because"}, "seen": {"active"}, "status": {"disabled"}, "text": {"a note"}, "hidden": {"true"}, "key": {"k"},
		"kind": {"prediction_voided"}, "title": {"Will it snow?"}, "name": {"Lina"}, "dueAt": {"2026-12-01 10:00"}, "everywhere": {"yes"}}
	if strings.HasSuffix(r.path, "/texts") {
		form.Set("to", "all")
		form.Set("seen", "shown")
	}
	for name, value := range token {
		form[name] = value
	}
	return form
}

// routes returns every route below /admin except the sign-in form, with real ids.
func (h *house) routes() []route {
	ids := strings.NewReplacer(":handle", "ada", ":kind", "predictions", ":feed", "markets", "*", "anything")
	var list []route
	for _, r := range h.srv.App.GetRoutes(true) {
		if !strings.HasPrefix(r.Path, "/admin") || r.Path == "/admin/sign-in" || (r.Method != http.MethodGet && r.Method != http.MethodPost) {
			continue
		}
		path := ids.Replace(r.Path)
		id := h.due.ID.String()
		if strings.HasPrefix(path, "/admin/assignments/") {
			id = h.assignment()
		}
		if strings.HasSuffix(path, "/find") {
			path += "?id=" + id
		}
		list = append(list, route{r.Method, strings.Replace(path, ":id", id, 1)})
	}
	return list
}

// assignment returns the id of an existing assignment.
func (h *house) assignment() string {
	h.t.Helper()
	const id = "0198aaaa-0000-7000-8000-000000000001"
	h.exec(`INSERT INTO assignments (id, title, instructions, category, status, opens_at, due_at, sample, created_at)
		VALUES (?, 'Hail', 'Say.', 'weather', 'open', ?, ?, FALSE, ?) ON CONFLICT DO NOTHING`, id, start, start.Add(24*time.Hour), start)
	return id
}

func (h *house) exec(query string, args ...any) {
	h.t.Helper()
	if _, err := h.db.ExecContext(h.t.Context(), query, args...); err != nil {
		h.t.Fatal(err)
	}
}

// state returns everything that an admin could have changed.
func (h *house) state() string {
	h.t.Helper()
	var out strings.Builder
	for _, query := range []string{
		"SELECT COUNT(*) FROM audit_log", "SELECT COUNT(*) FROM agents WHERE status = 'disabled'", "SELECT COUNT(*) FROM agent_keys WHERE revoked_at IS NULL",
		"SELECT COUNT(*) FROM agent_notes", "SELECT COUNT(*) FROM assignments WHERE status = 'open'", "SELECT COUNT(*) FROM predictions WHERE hidden",
		"SELECT COUNT(*) FROM prediction_records WHERE status <> 'open'", "SELECT COUNT(*) FROM corrections", "SELECT COUNT(*) FROM reports WHERE status <> 'open'",
		"SELECT COUNT(*) FROM agents WHERE visibility <> 'public'", "SELECT COUNT(*) FROM reserved_handles", "SELECT COUNT(*) FROM admin_sessions", "SELECT COUNT(*) FROM admins", "SELECT generation FROM credential_generation",
	} {
		var n int64
		if err := h.db.QueryRowContext(h.t.Context(), query).Scan(&n); err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(&out, "%s: %d\n", query, n)
	}
	fmt.Fprintf(&out, "ticks: %d\n", h.ticks)
	return out.String()
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.browser()
		if r := b.get("/admin/agents?sort=skill"); r.status != 303 {
			t.Fatalf("signed out: %d", r.status)
		}
		wrong := b.signIn("eve", "wrong password here")
		if wrong.status != 401 || !strings.Contains(wrong.text(".field-error"), "The name or the password is wrong") {
			t.Errorf("wrong password: %d %s", wrong.status, wrong.text("main"))
		}
		unknown := b.signIn("nobody", "wrong password here")
		if unknown.status != 401 || unknown.text(".field-error") != wrong.text(".field-error") {
			t.Errorf("unknown name: %d %s", unknown.status, unknown.text("main"))
		}
		for _, name := range []string{"eve\x00", "\xff", strings.Repeat("e", 63) + "é"} {
			if r := b.signIn(name, "wrong password here"); r.status != 401 {
				t.Errorf("name %q: %d", name, r.status)
			}
		}
		if r := b.do(http.MethodPost, "/admin/sign-in", url.Values{"name": {"eve"}, "password": {password}}); r.status != 403 {
			t.Errorf("without the form's token: %d", r.status)
		}
		r := b.signIn("Eve", password)
		if r.status != 303 || r.header.Get("Location") != "/admin/agents?sort=skill" {
			t.Fatalf("sign-in: %d to %q", r.status, r.header.Get("Location"))
		}
		cookie := ""
		for _, c := range r.header.Values("Set-Cookie") {
			if strings.HasPrefix(c, "pulsecast_admin=") {
				cookie = strings.ToLower(c)
			}
		}
		for _, want := range []string{"httponly", "samesite=lax", "path=/admin", "max-age=86400"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("cookie %q lacks %s", cookie, want)
			}
		}
		if got := b.get("/admin").text("h1"); got != "Overview" {
			t.Errorf("after sign-in: %q", got)
		}
		var token string
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM admin_sessions WHERE length(hash) = 32").Scan(&token); err != nil || token != "1" {
			t.Errorf("sessions kept as hashes: %s, %v", token, err)
		}
		other := h.signedIn("eve")
		if r := b.post("/admin/system", "/admin/sign-out", url.Values{"everywhere": {"yes"}}); r.status != 303 {
			t.Errorf("sign-out: %d", r.status)
		}
		for _, one := range []*browser{b, other} {
			if r := one.get("/admin"); r.status != 303 {
				t.Errorf("signed out everywhere: %d", r.status)
			}
		}
	})
}

// TestPagesOfAReadOnlyDatabase checks that a signed-in admin sees the pages, although the use of the session can't be
// stored.
func TestPagesOfAReadOnlyDatabase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		h.now = h.now.Add(2 * time.Minute)
		if db.Kind == database.SQLite {
			h.exec("PRAGMA query_only = 1")
		} else {
			h.exec("DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || quote_ident(current_database()) || ' SET default_transaction_read_only = on'; END $$")
			db.DB.DB.SetMaxIdleConns(0) // new connections have the setting
		}
		if _, err := db.ExecContext(t.Context(), "UPDATE admin_sessions SET seen_at = seen_at"); !database.Unavailable(err) {
			t.Fatalf("the database isn't read-only: %v", err)
		}
		for _, path := range []string{"/admin", "/admin/system", "/admin/sources", "/admin/audit"} {
			if r := b.get(path); r.status != http.StatusOK {
				t.Errorf("%s: %d %s", path, r.status, r.text("main"))
			}
		}
	})
}

func TestSignInAttemptsAreLimited(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.browser()
		last := reply{}
		for range 9 {
			last = b.signIn("eve", "wrong password here")
		}
		if last.status != 429 {
			t.Fatalf("the ninth try: %d", last.status)
		}
		if r := b.signIn("eve", password); r.status != 429 {
			t.Errorf("the right password after too many: %d", r.status)
		}
		if r := h.browser().signIn("olaf", password); r.status != 303 {
			t.Errorf("another admin: %d", r.status)
		}
		h.now = h.now.Add(16 * time.Minute)
		if r := b.signIn("eve", password); r.status != 303 {
			t.Errorf("after the wait: %d", r.status)
		}
	})
}

func TestCookiesAreSecureOverHTTPS(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{"https://pulse.test": true, base: false} {
		h := openAt(t, openSQLite(t), address)
		cookie := strings.ToLower(h.browser().get("/admin/sign-in").header.Get("Set-Cookie"))
		if strings.Contains(cookie, "; secure") != want || !strings.Contains(cookie, "samesite=strict") {
			t.Errorf("%s: %q", address, cookie)
		}
	}
}

// TestTypedTextOutlivesTheSession checks that the sign-in form shows what an admin typed when the session had ended, and
// nothing that another site has sent.
func TestTypedTextOutlivesTheSession(t *testing.T) {
	t.Parallel()
	h := open(t, openSQLite(t))
	const note = "Copied <from> a mail of 400 words."
	for name, c := range map[string]struct {
		site  string
		shown bool
	}{"own page": {"same-origin", true}, "another site": {"cross-site", false}} {
		b := h.signedIn("eve")
		form := url.Values{"csrf": {b.get("/admin/agents/ada").value("csrf")}, "text": {note}}
		h.exec("DELETE FROM admin_sessions")
		b.header.Set("Sec-Fetch-Site", c.site)
		r := b.do(http.MethodPost, "/admin/agents/ada/notes", form)
		if r.status != 403 || !strings.Contains(r.body, "Nothing was changed") || strings.Contains(r.text("main"), note) != c.shown || strings.Contains(r.body, "400 words") != c.shown {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
		if c.shown && (r.value("name") != "" || r.doc.Find(`form[action="/admin/sign-in"]`).Length() != 1) {
			t.Errorf("%s: no form to sign in", name)
		}
	}
	if n := h.count("SELECT COUNT(*) FROM agent_notes"); n != 0 {
		t.Errorf("%d notes were stored", n)
	}
}
