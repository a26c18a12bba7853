package admin_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// dispute files the author's objection to a settlement.
func (h *house) dispute(about prediction.Record, text string) *moderation.Report {
	h.t.Helper()
	filed, err := h.moderation.File(h.t.Context(), moderation.Report{PredictionID: about.ID, ReporterID: h.agent.ID, Kind: moderation.ReportDispute, Text: text})
	if err != nil {
		h.t.Fatal(err)
	}
	return filed
}

func link(r reply, within, label string) string {
	found := r.doc.Find(within + " a").FilterFunction(func(_ int, s *goquery.Selection) bool { return strings.Contains(s.Text(), label) })
	return found.AttrOr("href", "")
}

// TestDispute checks that an author's objection is listed with the prediction, that a click leads
// to the preview of another ruling, and that the author gets an answer.
func TestDispute(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		b := h.signedIn("eve")
		if got := b.get("/admin/settlement").text("section[aria-labelledby=disputes]"); !strings.Contains(got, "No settlement is disputed") {
			t.Errorf("at first: %s", got)
		}
		due := "/admin/settlement/predictions/" + h.due.ID.String()
		b.follow(due+"?kind=prediction_settled&outcome=Yes&note=It+fell.", due, nil)
		b.follow("/admin/settlement/markets/1?kind=market_corrected&outcome=Yes&note=It+rained.", "/admin/settlement/markets/1", nil)
		filed := h.dispute(h.due, "It rose.\nLook again.")
		h.dispute(h.onMarket, "Not a drop.")

		queue := b.get("/admin/settlement")
		rows := queue.text("section[aria-labelledby=disputes]")
		for _, want := range []string{"Will the barometer fall?", "ada said 80 %", "Yes, by an admin", "It rose.", "Correct to No", "Void the prediction",
			"Will it rain?", "80 % for Yes", "Will it rain in Oslo?", "Correct the market to No"} {
			if !strings.Contains(rows, want) {
				t.Errorf("the queue lacks %q: %s", want, rows)
			}
		}
		if got := queue.text("section[aria-labelledby=reports]"); !strings.Contains(got, "No report is open") {
			t.Errorf("a dispute is among the other reports: %s", got)
		}
		for label, want := range map[string]string{"Correct to No": "From Yes to No", "Void the prediction": "From Yes to void", "Correct the market to No": "From Yes to No"} {
			preview := b.get(link(queue, "section[aria-labelledby=disputes]", label))
			if got := preview.text("#rule-form"); !strings.Contains(got, want) || !strings.Contains(got, "disputed") {
				t.Errorf("%s: %q", label, got)
			}
		}
		correct := link(queue, "section[aria-labelledby=disputes]", "Correct to No")
		page := b.follow(correct, due, nil)
		if got := page.text("section[aria-labelledby=disputes]"); !strings.Contains(got, "No, by an admin") || !strings.Contains(got, "Correct to Yes") {
			t.Errorf("beside the prediction: %s", got)
		}
		b.follow(due, "/admin/reports/"+filed.ID.String(), url.Values{"note": {"You were right."}})
		if got := b.get(due).text("main"); strings.Contains(got, "Disputed by its author") {
			t.Errorf("the answered dispute is still listed: %s", got)
		}
		mine, err := h.moderation.ReportsOf(t.Context(), h.due.ID, h.agent.ID)
		if err != nil || len(mine) != 1 || mine[0].Answer != "You were right." || mine[0].Status != "closed" || mine[0].ClosedAt.IsZero() {
			t.Errorf("the author reads %+v, %v", mine, err)
		}
	})
}
