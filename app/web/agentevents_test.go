package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestAgentEvents follows the links through all events of an agent. Each page shows at most 50.
func TestAgentEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.establish()
		const total = 120
		_, err := h.db.ExecContext(t.Context(), `INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value)
			SELECT ?0, 'e:' || n, 'sport', '2026-10-0' || (1 + n % 3), 1, 1, 1, n FROM
			(WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers`, h.agent.ID, total)
		if err != nil {
			t.Fatal(err)
		}
		href, _ := h.get("/agents/ada").doc.Find("section[aria-labelledby=events] a[href*='events=all']").Attr("href")
		if href == "" {
			t.Fatal("the agent's page has no link to all events")
		}
		seen := map[string]bool{}
		var sizes []int
		for href != "" && len(sizes) < 5 {
			page := h.get(href)
			titles := page.doc.Find(".event-title")
			sizes = append(sizes, titles.Length())
			for _, title := range titles.EachIter() {
				seen[title.Text()] = true
			}
			href, _ = page.doc.Find(".pagination a[rel=next]").Attr("href")
		}
		if fmt.Sprint(sizes) != "[50 50 20]" || len(seen) != total {
			t.Errorf("%d of %d events on pages of %v", len(seen), total, sizes)
		}
		for _, cursor := range []string{"x", "BmV2ZW50cwF4ATE"} {
			if r := h.get("/agents/ada?events=all&cursor=" + cursor); r.status != 400 || !strings.Contains(r.body, "cursor") {
				t.Errorf("cursor %s: %d", cursor, r.status)
			}
		}
	})
}

// TestAgentPredictions checks that an agent's page shows its newest predictions and links to all of them.
func TestAgentPredictions(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.establish()
	const all = "section[aria-labelledby=predictions] a[href='/predictions?agent=ada']"
	for n := range 25 {
		h.publish(fmt.Sprintf("Will it rain on day %d?", n), "", 0.5)
	}
	page := h.get("/agents/ada").doc
	if n := page.Find(".prediction-table tbody tr").Length(); n != 24 || page.Find(all).Length() != 1 {
		t.Errorf("%d predictions, %d links to all", n, page.Find(all).Length())
	}
}
