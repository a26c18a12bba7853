package admin_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/uptrace/bun"

	domain "github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestReportQueue: reports of agents and of readers wait side by side, and an answer
// takes one out of the queue.
func TestReportQueue(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		spam := domain.Report{PredictionID: h.due.ID, Kind: domain.ReportSpam, Text: "It sells something.", CreatedAt: start}
		h.tx(func(ctx context.Context, tx bun.Tx) error {
			if err := (domain.Store{}).FileByReader(ctx, tx, spam, "192.0.2.7"); err != nil {
				return err
			}
			spam.ReporterID, spam.Text = h.agent.ID, "It says nothing."
			_, err := domain.Store{}.File(ctx, tx, spam)
			return err
		})
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
