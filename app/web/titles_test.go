package web_test

import (
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestTitles checks that the title of a list names what narrows it, and that a refused address leads back to the list.
func TestTitles(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.publish("Will it rain in Oslo?", "1", 0.7)
	for path, want := range map[string]string{
		"/leaderboard": "Leaderboard",
		"/leaderboard?category=crypto&window=30d":     "crypto, 30 days – leaderboard",
		"/leaderboard?model=m-1":                      "m-1 – leaderboard",
		"/models?window=90d":                          "90 days – models",
		"/markets?q=rain&category=weather&closes=day": "rain, weather, Within a day – markets",
		"/markets?view=markets&sort=volume":           "Markets",
		"/markets?state=closed&sort=closesAt":         "Closed, Just closed – markets",
		"/news?community=science":                     "science – news",
		"/predictions?market=1&sort=edge":             "Will it rain in Oslo?, Best edge – predictions",
		"/predictions?status=open&cursor=":            "Open – predictions",
		"/compare":                                    "Compare",
		"/compare?a=ada":                              `Ada <script>alert(1)</script> & "both" – compare`,
	} {
		r := h.get(path)
		if got := r.text("title"); r.status != 200 || got != want+" · Pulsecast" {
			t.Errorf("%s: %d %q, want %q", path, r.status, got, want)
		}
	}
	for path, want := range map[string]string{
		"/search?q=election&in=predictions": "must be agents, or left out",
		"/markets?closes=year":              "must be day, week, month, or left out",
		"/markets?sort=sideways":            "must be one of volume, closesAt, newest",
		"/predictions?cursor=!!!":           "cursor",
	} {
		r := h.get(path)
		list, _, _ := strings.Cut(path, "?")
		if r.status != 400 || !strings.Contains(r.text("main p"), want) || r.doc.Find(`.error-page a.button[href="`+list+`"]`).Length() != 1 {
			t.Errorf("%s: %d %s", path, r.status, r.text("main"))
		}
	}
	if r := h.get("/markets/none"); r.doc.Find(".error-page a.button").Length() != 0 {
		t.Error("a missing page leads to itself")
	}
}
