package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestHideTexts checks the preview, the reason and the audit entry of hiding an agent's texts.
// Showing them again leaves predictions that were hidden one by one. If two admins act at once, the
// second sees what the first did.
func TestHideTexts(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		eve, olaf := h.signedIn("eve"), h.signedIn("olaf")
		const page, action = "/admin/agents/ada", "/admin/agents/ada/texts"
		h.tx(func(ctx context.Context, tx bun.Tx) error {
			_, err := agent.Store{}.Update(ctx, tx, h.agent.ID, func(p *agent.Profile) { p.Model, p.Description = "oracle-9", "Buy my coins." })
			return err
		})
		due := "/admin/settlement/predictions/" + h.due.ID.String()
		eve.follow(due, due+"/text", url.Values{"note": {"rude"}})
		hidden := func() (n int) {
			t.Helper()
			list, _, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				if list[i].Hidden {
					n++
				}
			}
			return n
		}
		found := func() int {
			t.Helper()
			list, _, err := prediction.Store{}.List(t.Context(), db.Reader, prediction.Filter{Words: "rain", Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			return len(list)
		}

		if r := eve.get(action + "?to=all"); !strings.Contains(r.text(".field-error"), "reason") || r.doc.Find("#do-texts").Length() != 0 {
			t.Errorf("without a reason: %s", r.text("main"))
		}
		preview := action + "?to=all&note=adverts"
		saw := olaf.get(action + "?to=profile&note=adverts")
		r := eve.get(preview)
		for _, want := range []string{"=Ada", "ada", "oracle-9", "Buy my coins.", "2 predictions", "No score changes", "erased from the sealed days of the archive", "Reason: adverts"} {
			if !strings.Contains(r.text("main"), want) {
				t.Errorf("the preview lacks %q: %s", want, r.text("main"))
			}
		}
		if a, err := (agent.Store{}).ByHandle(t.Context(), db.Reader, "ada"); err != nil || a.Visibility != agent.Public || hidden() != 1 || found() != 1 {
			t.Fatalf("the preview hid something: %+v, %v", a, err)
		}

		r = eve.follow(preview, action, nil)
		if a, err := (agent.Store{}).ByHandle(t.Context(), db.Reader, "ada"); err != nil || a.Name != "ada" || a.Model+a.Description != "" || hidden() != 2 || found() != 0 {
			t.Errorf("hidden: %+v, %v; %d predictions, %d found", a, err, hidden(), found())
		}
		for _, want := range []string{
			"The profile and the texts of all predictions are hidden", "texts hidden", "oracle-9", "Buy my coins.", "shown → all texts hidden", "adverts",
		} {
			if !strings.Contains(r.text("main"), want) {
				t.Errorf("the page lacks %q: %s", want, r.text("main"))
			}
		}
		err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
			_, err := agent.Store{}.Update(ctx, tx, h.agent.ID, func(p *agent.Profile) { p.Name = "Me again" })
			return err
		})
		if err == nil || !strings.Contains(err.Error(), "text_hidden") {
			t.Errorf("the agent's update of a hidden text: %v", err)
		}
		form := url.Values{"csrf": {saw.value("csrf")}, "to": {"profile"}, "note": {"adverts"}, "seen": {saw.value("seen")}}
		if r := olaf.do("POST", action, form); r.status != 409 || !strings.Contains(r.text("main"), "all texts hidden") || !strings.Contains(r.text("main"), "eve") {
			t.Errorf("the second admin: %d %s", r.status, r.text("main"))
		}

		if said := eve.follow(action+"?to=profile&note=enough", action, nil).text(".flash"); !strings.Contains(said, "The texts of the predictions are shown") {
			t.Errorf("less hidden: said %q", said)
		}
		if a, err := (agent.Store{}).ByHandle(t.Context(), db.Reader, "ada"); err != nil || a.Name != "ada" || hidden() != 1 || found() != 1 {
			t.Errorf("less hidden: %+v, %v", a, err)
		}
		// While all texts are hidden, one of them can be hidden for good, and shown again.
		eve.follow(action+"?to=all&note=again", action, nil)
		for _, want := range []string{"false", "true", "false", "true"} { // it is hidden at first
			r := eve.get(due)
			if r.value("hidden") != want || !strings.Contains(r.text("#text-form"), "All texts of this agent are hidden") {
				t.Errorf("the form sends hidden=%s, want %s: %s", r.value("hidden"), want, r.text("#text-form"))
			}
			eve.follow(due, due+"/text", url.Values{"note": {"turn"}})
			if h.count("SELECT COUNT(*) FROM predictions WHERE hidden") != map[string]int{"true": 1, "false": 0}[want] {
				t.Errorf("hidden=%s changed nothing", want)
			}
		}
		eve.follow(action+"?to=shown&note=mended", action, nil)
		if r := eve.get(due); strings.Contains(r.text("#text-form"), "All texts") {
			t.Errorf("texts are shown: %s", r.text("#text-form"))
		}
		if a, err := (agent.Store{}).ByHandle(t.Context(), db.Reader, "ada"); err != nil || a.Name != "=Ada" || a.Model != "oracle-9" || a.Description != "Buy my coins." || hidden() != 1 {
			t.Errorf("shown again: %+v, %v", a, err)
		}
		if n := h.count("SELECT COUNT(*) FROM hidden_profiles"); n != 0 {
			t.Errorf("%d hidden profiles are left", n)
		}
		if n := h.count("SELECT COUNT(*) FROM corrections"); n != 0 {
			t.Errorf("%d public corrections", n)
		}
	})
}
