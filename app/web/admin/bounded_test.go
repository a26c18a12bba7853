package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	views "github.com/pulsecast/pulsecast/views/admin"
)

// TestBoundedCounts checks that the pages show that more rows wait than were counted.
func TestBoundedCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	frame := views.Frame{Now: now}
	for name, c := range map[string]struct {
		page templ.Component
		want []string
	}{
		"overview, bounded": {views.Overview(views.OverviewProps{Frame: frame, Due: 10_000, MoreDue: true, Markets: 2, OldestDue: now.Add(-time.Hour)}),
			[]string{"10,000+\u00a0predictions are due", "10,002+<"}},
		"overview": {views.Overview(views.OverviewProps{Frame: frame, Due: 10_000, Markets: 2, OldestDue: now.Add(-time.Hour)}),
			[]string{"10,000\u00a0predictions are due", "10,002<"}},
		"system, bounded": {views.System(views.SystemProps{Frame: frame, Queues: []views.Queue{{Kind: "due", Count: 10_000, More: true, Oldest: now}}}), []string{"10,000+<"}},
		"system":          {views.System(views.SystemProps{Frame: frame, Queues: []views.Queue{{Kind: "due", Count: 10_000, Oldest: now}}}), []string{"10,000<"}},
	} {
		var html strings.Builder
		if err := c.page.Render(t.Context(), &html); err != nil {
			t.Fatal(name, err)
		}
		for _, want := range c.want {
			if !strings.Contains(html.String(), want) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
}
