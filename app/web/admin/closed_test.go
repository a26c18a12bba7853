package admin_test

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/moderation"
)

// TestClosedAccount checks that the pages of an admin still name what the predictions of a closed account are about,
// keep the lines of a thesis, and don't link the handle that is gone.
func TestClosedAccount(t *testing.T) {
	t.Parallel()
	h := open(t, openSQLite(t))
	b := h.signedIn("eve")
	r := b.get("/admin/settlement/predictions/" + h.onMarket.ID.String())
	if thesis := r.doc.Find("dd .thesis-full[dir=auto]"); thesis.Length() != 1 || thesis.Text() != h.onMarket.Thesis {
		t.Errorf("the thesis: %q", thesis.Text())
	}
	act := moderation.Act{Actor: "eve", Reason: "A test."}
	if _, err := h.moderation.Disable(t.Context(), act, "ada"); err != nil {
		t.Fatal(err)
	}
	if r := b.get("/admin"); r.doc.Find(`a[href="/admin/agents/ada"]`).Length() == 0 {
		t.Error("an open account isn't linked")
	}
	closed, err := h.moderation.CloseAccount(t.Context(), act, "ada")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/admin", "/admin/audit"} {
		if r := b.get(path); !strings.Contains(r.text("main"), "agent:ada") || r.doc.Find(`a[href="/admin/agents/ada"]`).Length() != 0 {
			t.Errorf("%s links the old handle: %s", path, r.text("table"))
		}
	}
	titles := b.get("/admin/agents/" + closed.Agent.Handle).text(`table a[href^="/admin/settlement/predictions/"]`)
	if !strings.Contains(titles, h.onMarket.Market.Name()) || !strings.Contains(titles, "Prediction without text") {
		t.Errorf("its predictions: %q", titles)
	}
}
