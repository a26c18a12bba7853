package admin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/moderation"
)

// TestReportQueue checks that reports of agents and of readers are in one queue, and that an answer
// removes a report.
func TestReportQueue(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		spam := moderation.Report{PredictionID: h.due.ID, Kind: moderation.ReportSpam, Text: "It sells something."}
		if err := h.moderation.FileByReader(t.Context(), spam, "192.0.2.7"); err != nil {
			t.Fatal(err)
		}
		spam.ReporterID, spam.Text = h.agent.ID, "It says nothing."
		if _, err := h.moderation.File(t.Context(), spam); err != nil {
			t.Fatal(err)
		}
		b := h.signedIn("olaf")
		r := b.get("/admin/settlement")
		queue := r.text("section[aria-labelledby=reports]")
		if !strings.Contains(queue, "by a reader") || !strings.Contains(queue, "by ada") || strings.Contains(r.body, "192.0.2.7") {
			t.Fatalf("the queue: %s", queue)
		}
		row := r.doc.Find("section[aria-labelledby=reports] li").FilterFunction(func(_ int, s *goquery.Selection) bool { return strings.Contains(s.Text(), "by a reader") })
		if r := b.post("/admin/settlement", row.Find("form").AttrOr("action", ""), url.Values{"note": {"Hidden."}}); r.status != 303 {
			t.Fatalf("%d %s", r.status, r.text("main"))
		}
		if queue := b.get("/admin/settlement").text("section[aria-labelledby=reports]"); strings.Contains(queue, "by a reader") || !strings.Contains(queue, "by ada") {
			t.Errorf("after the answer: %s", queue)
		}
	})
}
