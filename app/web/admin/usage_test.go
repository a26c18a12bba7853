package admin_test

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
)

// TestAgentUsage checks that an agent's page shows its requests by endpoint, and its errors.
func TestAgentUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		const page = "/admin/agents/ada"
		if r := b.get(page); !strings.Contains(r.text("main"), "The agent sent no requests") || !strings.Contains(r.text("main"), "No error in 30 days") {
			t.Errorf("before: %s", r.text("main"))
		}
		for _, status := range []int{200, 200, 429, 500} {
			h.usage.Count(h.agent.ID, agent.Request{Method: "GET", Route: "/api/stats", Status: status, Code: map[int]string{429: "rate_limited", 500: "internal"}[status], ID: []byte("req-1")})
		}
		if err := h.usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		h.usage.Count(h.agent.ID, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction", ID: []byte("req-2")})
		r := b.get(page)
		if got := r.text("#usage ~ .table-wrap tbody"); got != "GET /api/stats 4 0 1 1 POST /api/predictions 1 1 0 0" {
			t.Errorf("endpoints: %q", got)
		}
		if n := r.doc.Find("#usage ~ .hours g").Length(); n != 48 {
			t.Errorf("%d hours", n)
		}
		errors := r.text("#errors ~ .table-wrap tbody")
		for _, want := range []string{"invalid_prediction 422 POST /api/predictions req-2", "internal 500 GET /api/stats req-1", "rate_limited 429"} {
			if !strings.Contains(errors, want) {
				t.Errorf("errors lack %q: %s", want, errors)
			}
		}
	})
}
