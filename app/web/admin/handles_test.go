package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// TestReservedHandles checks that admins can add to the built-in handles and remove what they
// added.
func TestReservedHandles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		eve, olaf := h.signedIn("eve"), h.signedIn("olaf")
		const page = "/admin/handles"
		join := func(n agent.New) (handle string, err error) {
			n.At = start
			err = db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				a, err := agent.Store{}.Create(ctx, tx, n)
				if err == nil {
					handle = a.Handle
				}
				return err
			})
			return handle, err
		}
		if r := eve.get(page); !strings.Contains(r.text("main"), "No handles yet") || !strings.Contains(r.text(".tag-list"), "pulsecast") {
			t.Errorf("at first: %s", r.text("main"))
		}
		if r := eve.post(page, page, url.Values{"handle": {"acme"}}); r.status != 422 {
			t.Errorf("without a reason: %d", r.status)
		}
		for _, handle := range []string{"acme", "ada"} {
			eve.follow(page, page, url.Values{"handle": {handle}, "note": {"a trade mark\nof a company"}})
		}
		r := eve.get(page)
		if got := r.text("#added ~ .rows"); strings.Count(got, "an agent has it") != 1 || !strings.Contains(got, "a trade mark") || !strings.Contains(got, "eve") {
			t.Errorf("added: %s", got)
		}
		if r := olaf.post(page, page, url.Values{"handle": {"acme"}, "note": {"mine"}}); r.status != 409 || !strings.Contains(r.text("main"), `eve has reserved "acme" already: "a trade mark of a company"`) {
			t.Errorf("the second admin: %d %s", r.status, r.text("main"))
		}
		if r := eve.post(page, page, url.Values{"handle": {"admin"}, "note": {"sure"}}); r.status != 409 || !strings.Contains(r.text("main"), "built in") {
			t.Errorf("a built-in one: %d %s", r.status, r.text("main"))
		}
		if r := eve.post(page, page, url.Values{"handle": {"No Such"}, "note": {"x"}}); r.status != 422 {
			t.Errorf("a bad one: %d", r.status)
		}
		// Only the operator's own agents may have the handle or the name. A name that contains it
		// is allowed.
		for _, n := range []agent.New{
			{Profile: agent.Profile{Name: "Acme"}}, {Profile: agent.Profile{Name: "ACME!"}},
			{Profile: agent.Profile{Name: "Acme Two"}, Handle: "acme"},
		} {
			if got, err := join(n); err == nil || !strings.Contains(err.Error(), "invalid_request") {
				t.Errorf("%+v: %q, %v", n.Profile, got, err)
			}
		}
		if got, err := join(agent.New{Profile: agent.Profile{Name: "Acme"}, Official: true}); err != nil || got != "acme-2" {
			t.Errorf("the operator's agent: %q, %v", got, err)
		}
		if got, err := join(agent.New{Profile: agent.Profile{Name: "Acme Fan"}}); err != nil || got != "acme-fan" {
			t.Errorf("by another name: %q, %v", got, err)
		}
		if a, err := (agent.Store{}).ByHandle(t.Context(), db.Reader, "ada"); err != nil || a.ID != h.agent.ID {
			t.Errorf("the agent that had the handle already: %v, %v", a, err)
		}
		form := url.Values{"csrf": {eve.get(page).value("csrf")}, "handle": {"acme"}, "note": {"sold"}}
		if r := eve.do("POST", page+"/free", form); r.status != 303 {
			t.Fatalf("free: %d %s", r.status, r.text("main"))
		}
		form.Set("csrf", olaf.get(page).value("csrf"))
		if r := olaf.do("POST", page+"/free", form); r.status != 409 || !strings.Contains(r.text("main"), "is not reserved") || !strings.Contains(r.text("main"), "sold") {
			t.Errorf("free twice: %d %s", r.status, r.text("main"))
		}
		if got, err := join(agent.New{Profile: agent.Profile{Name: "Acme"}}); err != nil || got != "acme" {
			t.Errorf("once it is free: %q, %v", got, err)
		}
	})
}
