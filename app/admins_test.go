package app_test

import (
	"context"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
)

// adminTab is one tab of a headless browser. Its methods fail the test on errors.
type adminTab struct {
	t    *testing.T
	ctx  context.Context
	base string
}

func newAdminTab(t *testing.T, base string) *adminTab {
	t.Helper()
	return &adminTab{t: t, ctx: startBrowser(t), base: base}
}

func (b *adminTab) do(step chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	err := chromedp.Do(b.ctx, step)
	// The page that opens after a click shows its first words before Chromium announces that the old
	// elements are gone. A step that found an old element in this moment had no effect.
	for range 20 {
		if err == nil || !strings.Contains(err.Error(), "No node with given id found") {
			break
		}
		err = chromedp.Do(b.ctx, step)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *adminTab) open(path string) { b.t.Helper(); b.do(chromedp.Navigate(b.base + path)) }

func (b *adminTab) fill(selector, text string) {
	b.t.Helper()
	b.do(chromedp.SetValue(chromedp.CSS(selector), text))
}

// press clicks and waits until the page that opens shows an element with these words.
func (b *adminTab) press(selector, expect, words string) {
	b.t.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
	ctx, cancel := context.WithTimeout(b.ctx, 2*time.Minute)
	defer cancel()
	for {
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`(document.querySelector(`+"`"+expect+"`"+`) || {innerText: ""}).innerText`))
		if err == nil && strings.Contains(text, words) {
			return
		}
		select {
		case <-ctx.Done():
			whole, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
			b.t.Fatalf("%s never contains %q after clicking %s: %q\n%s", expect, words, selector, text, whole)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// TestAdminInABrowser uses the admin pages end to end, as a person does.
func TestAdminInABrowser(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			address := demoURL(t, kind)
			p, key := startDemo(t, "DATABASE_URL="+address)
			password := regexp.MustCompile(`name demo, password (\S+)`).FindStringSubmatch(p.out.String())
			if password == nil {
				t.Fatalf("the demo prints no admin password:\n%s", p.out)
			}
			status, published := p.call(http.MethodPost, "/api/predictions", key, map[string]any{
				"title": "Will the kettle boil?", "thesis": "It is on.", "confidence": 0.9, "horizonAt": time.Now().AddDate(0, 0, 1).UTC(),
			})
			if status != 200 {
				t.Fatalf("publish: %d %v", status, published)
			}
			id, _ := dig(published, "prediction", "id").(string)

			b := newAdminTab(t, p.base)
			b.open("/admin/agents")
			b.fill("#name", "demo")
			b.fill("#password", password[1])
			b.press(".sign-in button", "h1", "Agents") // the page that the visitor asked for

			const agent = "/admin/agents/demo-visitor"
			b.open(agent)
			b.fill("#status-note", "It boils too often.")
			b.press("#status-form button", ".flash", "disabled")
			if status, answer := p.call(http.MethodGet, "/api/stats", key, nil); status != 403 || answer["code"] != "agent_disabled" {
				t.Errorf("a request with the key of a disabled agent: got %d %v", status, answer["code"])
			}
			b.fill("#status-note", "It promised.")
			b.press("#status-form button", ".flash", "enabled")
			if status, _ := p.call(http.MethodGet, "/api/stats", key, nil); status != 200 {
				t.Errorf("a request with the key of an agent that was enabled again: got %d", status)
			}

			ruling := "/admin/settlement/predictions/" + id
			passHorizon(t, address, id)
			rule := func(kind, field, value, note, preview string) {
				t.Helper()
				b.open(ruling)
				b.fill("#kind", kind)
				if field != "" {
					b.fill(field, value)
				}
				b.fill("#note", note)
				b.press("#preview-form button", "#rule-form", preview)
				b.press("#rule-form button", ".flash", "The ruling is saved")
			}
			rule("prediction_settled", "#outcome", "Yes", "It boiled.", "From open to Yes.")
			rule("prediction_corrected", "#value", "0.25", "Only a little.", "From Yes to 0.25.")
			if _, answer := p.call(http.MethodGet, "/api/predictions/"+id, "", nil); dig(answer, "prediction", "resolution", "value") != 0.25 {
				t.Errorf("after the correction: %v", dig(answer, "prediction", "resolution"))
			}
			rule("prediction_voided", "", "", "Nobody looked.", "From 0.25 to void.")
			if _, answer := p.call(http.MethodGet, "/api/predictions/"+id, "", nil); dig(answer, "prediction", "status") != "void" {
				t.Errorf("after the void: %v", dig(answer, "prediction", "status"))
			}

			b.open("/admin/audit")
			log, err := chromedp.Run(b.ctx, chromedp.TextContent(chromedp.CSS("tbody")))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"sign in", "agent disabled", "It boils too often.", "active → disabled", "agent enabled",
				"prediction settled", "open → Yes", "prediction corrected", "Yes → 0.25", "prediction voided", "0.25 → void", "Nobody looked.", "demo", "127.0.0.1"} {
				if !strings.Contains(log, want) {
					t.Errorf("the audit log lacks %q:\n%s", want, log)
				}
			}
			b.press(".who-am-i button", "h1", "Sign in")
			b.open("/admin/agents")
			if heading, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("h1"))); err != nil || heading != "Sign in" {
				t.Errorf("signed out, /admin/agents shows %q, %v", heading, err)
			}
		})
	}
}

// TestProviderInABrowser checks the way to another site and back in a browser, which applies its
// rules about cookies and redirects.
func TestProviderInABrowser(t *testing.T) {
	t.Parallel()
	provider := identitytest.New(t, time.Now)
	// Use another address than the provider's, so that the two are different sites.
	p := startProcess(t, []string{
		"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "ADDR=127.11.1.1:0", "ADMIN_SCOPE=" + identitytest.AdminScope,
		"IDENTITY_URL=" + provider.URL, "IDENTITY_AUDIENCE=pulsecast", "IDENTITY_CLIENT_ID=" + identitytest.ClientID, "IDENTITY_CLIENT_SECRET=" + identitytest.ClientSecret,
	}, "serve")
	b := newAdminTab(t, p.base)
	b.open("/admin/agents")
	b.press(".sign-in a", "h1", "Agents") // the page that the visitor asked for
	b.open("/admin/audit")
	b.press(".who-am-i button", "h1", "Sign in")
	provider.Be("bob", "openid")
	b.press(".sign-in a", ".field-error", "knows you as bob, but did not grant you the scope pulsecast:admin")
	b.open("/admin")
	if heading, err := chromedp.Run(b.ctx, chromedp.Text(chromedp.CSS("h1"))); err != nil || heading != "Sign in" {
		t.Errorf("after a refused sign-in, /admin shows %q, %v", heading, err)
	}
}

// TestAdminCreate checks that the password comes from the environment or from standard input, never
// from a flag, and that a short one is refused.
func TestAdminCreate(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, kind)
			setting := "DATABASE_URL=" + url
			run := func(code int, want string, stdin string, settings []string, args ...string) {
				t.Helper()
				cmd := command(t, append(settings, setting), args...)
				cmd.Stdin = strings.NewReader(stdin)
				exits(t, cmd, code, want)
			}
			run(0, "eve can sign in", "", []string{"ADMIN_PASSWORD=correct horse battery"}, "admin", "create", "Eve")
			run(1, "is an admin already", "", []string{"ADMIN_PASSWORD=correct horse battery"}, "admin", "create", "eve")
			run(1, "at least 12 characters", "", []string{"ADMIN_PASSWORD=short"}, "admin", "create", "bob")
			run(1, "no password was given", "", nil, "admin", "create", "bob")
			run(0, "bob can sign in", "typed by a script\n", nil, "admin", "create", "bob")
			run(0, "new password", "", []string{"ADMIN_PASSWORD=another battery"}, "admin", "password", "bob")
			run(0, "no longer an admin", "", nil, "admin", "remove", "bob")
			run(1, "There is no admin", "", nil, "admin", "remove", "bob")
			run(0, "eve ", "", nil, "admin", "list")
			run(2, "expected \"<name>\"", "", nil, "admin", "create")

			out, err := command(t, []string{"ADMIN_PASSWORD=not looked at", setting}, "admin", "create", "Olaf", "--generate").CombinedOutput()
			found := regexp.MustCompile(`(?m)^password (\S{23})$`).FindSubmatch(out)
			if err != nil || found == nil {
				t.Fatalf("--generate: %v, %s", err, out)
			}
			run(1, "is an admin already", "", nil, "admin", "create", "olaf", "--generate")
			if err := signIn(t, url, "olaf", string(found[1])); err != nil {
				t.Errorf("can't sign in with the generated password: %v", err)
			}
			if signIn(t, url, "olaf", "not looked at") == nil {
				t.Error("ADMIN_PASSWORD was used instead of a generated password")
			}
		})
	}
}

// exits runs a command and checks its exit code and a part of its output.
func exits(t *testing.T, cmd *exec.Cmd, code int, want string) {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(string(out), want) {
		t.Errorf("%v: %v, %s; want exit code %d and %q", cmd.Args[1:], err, out, code, want)
	}
}

func signIn(t *testing.T, address, name, password string) error {
	t.Helper()
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, _, err = admin.Store{}.SignIn(t.Context(), db, name, password, "192.0.2.1", time.Now())
	return err
}

// TestReservedHandles checks that a handle reserved by an admin's command is refused to new agents,
// and that the agent that has it keeps it. The audit log holds every act.
func TestReservedHandles(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, kind)
			run := func(code int, want string, args ...string) {
				t.Helper()
				exits(t, command(t, []string{"DATABASE_URL=" + url}, args...), code, want)
			}
			run(0, "handle acme\n", "agent", "create", "Acme")
			run(0, "acme is reserved", "agent", "reserve", "acme", "--reason", "A trade mark.")
			run(1, "(shell) has reserved \"acme\" already: \"A trade mark.\"", "agent", "reserve", "acme", "--reason", "Again.")
			run(1, "is built in and always reserved", "agent", "reserve", "official", "--reason", "No need.")
			run(1, "must be 3 to 40", "agent", "reserve", "A!", "--reason", "Wrong.")
			run(1, "is required", "agent", "reserve", "globex", "--reason", " ")
			run(0, "globex is reserved", "agent", "reserve", "globex", "--reason", "A trade mark.")
			run(1, "name is reserved; send another name. Or allow it with --official", "agent", "create", "Globex")
			run(0, "A trade mark.", "agent", "reserved")
			run(0, "built in: about", "agent", "reserved")
			run(0, "status  ", "agent", "show", "acme") // it keeps its handle
			run(0, "globex is no longer reserved", "agent", "free", "globex", "--reason", "They never came.")
			run(1, "is not reserved", "agent", "free", "globex", "--reason", "Again.")
			run(1, "stays reserved", "agent", "free", "official", "--reason", "No.")
			run(0, "handle globex\n", "agent", "create", "Globex")
			db, err := database.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			log, _, err := audit.List(t.Context(), db.Reader, audit.Filter{Target: "handle:globex", Limit: 5})
			if err != nil || len(log) != 2 || log[0].Note != "They never came." || log[1].Action != audit.HandleReserved {
				t.Errorf("the audit log: %+v, %v", log, err)
			}
		})
	}
}

// TestAgentStatus checks that a script needs no reason, which the audit log then says. A command
// that changes nothing says so and leaves no entry.
func TestAgentStatus(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, kind)
			run := func(code int, want string, args ...string) {
				t.Helper()
				exits(t, command(t, []string{"DATABASE_URL=" + url}, args...), code, want)
			}
			run(0, "handle ada\n", "agent", "create", "Ada")
			run(0, "ada is disabled", "agent", "disable", "ada")
			run(0, "ada was already disabled", "agent", "disable", "ada", "--reason", "Twice.")
			run(0, "ada is active", "agent", "enable", "ada", "--reason", "It promised.")
			run(0, "ada was already active", "agent", "enable", "ada")
			run(1, "no agent has the handle \"always-50\"", "agent", "disable", "always-50")
			db, err := database.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			log, _, err := audit.List(t.Context(), db.Reader, audit.Filter{Target: "agent:ada", Limit: 10})
			if err != nil || len(log) != 3 {
				t.Fatalf("the audit log: %+v, %v", log, err)
			}
			if enabled, disabled := log[0], log[1]; enabled.Note != "It promised." || disabled.Note != "from the shell" || disabled.Before != "active" {
				t.Errorf("the audit log: %+v", log)
			}
		})
	}
}
