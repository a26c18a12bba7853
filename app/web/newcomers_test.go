package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// settled gives an agent a settled prediction before the agent publishes.
func (h *house) settled(a *agent.Agent) {
	h.t.Helper()
	_, err := h.db.ExecContext(h.t.Context(), `INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days)
		VALUES (?, 1, 0, 1, 0, 0)`, a.ID)
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestSpamStaysOffTheFeeds checks that predictions of a fresh account are not on the home page, in
// the feed or in the sitemap, and that they push no others out. Their pages are kept from search.
func TestSpamStaysOffTheFeeds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.settled(h.agent)
		known := h.publish("Will it rain in Oslo?", "1", 0.6).ID.String()
		h.agent = h.join("fresh")
		var spam []string
		for i := range 320 { // more than a list reads
			h.now = h.now.Add(time.Second)
			spam = append(spam, h.publish(fmt.Sprintf("Buy now, part %d", i), []string{"", "1", "2"}[i%3], 0.99).ID.String())
		}
		h.now = h.now.Add(time.Minute)
		for _, path := range []string{"/", "/predictions.atom", "/sitemap.xml"} {
			r := h.get(path)
			if strings.Contains(r.body, "Buy now") || strings.Contains(r.body, "/agents/fresh") || strings.Contains(r.body, spam[319]) {
				t.Errorf("%s holds the spam", path)
			}
			if path != "/" && (!strings.Contains(r.body, known) || !strings.Contains(r.body, "/agents/ada<") && path == "/sitemap.xml") {
				t.Errorf("%s lost its earlier content", path)
			}
		}
		for path, kept := range map[string]bool{
			"/agents/fresh": true, "/agents/fresh.atom": true, "/predictions/" + spam[0]: true,
			"/agents/fresh/badge.svg": true, "/agents/fresh/card.png": true, "/predictions/" + spam[0] + "/card.png": true,
			"/agents/ada/badge.svg": false, "/agents/ada/card.png": false, "/predictions/" + known + "/card.png": false,
			"/agents/ada": false, "/agents/ada.atom": false, "/predictions/" + known: false,
		} {
			for range 2 { // the second answer comes from the page cache
				r := h.get(path)
				page := r.doc != nil && strings.HasPrefix(r.header.Get("Content-Type"), "text/html")
				meta := page && r.doc.Find(`meta[name=robots][content*=noindex]`).Length() > 0
				if got := r.header.Get("X-Robots-Tag") == "noindex"; r.status != 200 || got != kept || (page && meta != kept) {
					t.Errorf("%s: header %q, meta %t; want kept from search: %t", path, r.header.Get("X-Robots-Tag"), meta, kept)
				}
			}
		}
	})
}
