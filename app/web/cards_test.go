package web_test

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestCards checks that each shared page names a picture and that the picture exists.
func TestCards(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		id := h.publish("Will it rain in Oslo? "+hostile, "1", 0.7).ID.String()
		for page, title := range map[string]string{
			"/predictions/" + id: "Will it rain in Oslo? " + hostile, "/agents/ada": "Ada " + hostile, "/markets/1": "Will it rain in Oslo?",
			"/markets/2": "Will it snow " + hostile, "/leaderboard": "Leaderboard", "/": "Pulsecast",
		} {
			doc := h.get(page).doc
			property := func(name string) string {
				return doc.Find(`meta[property="`+name+`"], meta[name="`+name+`"]`).AttrOr("content", "")
			}
			if got := property("og:title"); !strings.HasPrefix(got, title) {
				t.Errorf("%s: og:title %q", page, got)
			}
			if property("og:description") == "" || property("twitter:card") != "summary_large_image" {
				t.Errorf("%s: %q, %q", page, property("og:description"), property("twitter:card"))
			}
			path, ours := strings.CutPrefix(property("og:image"), base)
			r := h.get(path)
			if !ours || r.status != 200 || r.header.Get("Content-Type") != "image/png" {
				t.Errorf("%s: picture %q: %d %s", page, path, r.status, r.header.Get("Content-Type"))
			}
			picture, err := png.Decode(bytes.NewReader([]byte(r.body)))
			if err != nil || picture.Bounds().Dx() != 1200 || picture.Bounds().Dy() != 630 {
				t.Errorf("%s: %v", path, err)
			}
		}
		for _, path := range []string{"/predictions/x/card.png", "/predictions/01912345-0000-7000-8000-000000000000/card.png", "/agents/nobody/card.png",
			"/markets/none/card.png", "/markets/%ff/card.png"} {
			if r := h.get(path); r.status != 404 {
				t.Errorf("%s: %d", path, r.status)
			}
		}
	})
}

// TestCardTells checks that the picture of a prediction changes with the prediction.
func TestCardTells(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	id := h.publish("Will it rain in Oslo?", "1", 0.7).ID
	before := h.get("/predictions/" + id.String() + "/card.png").body
	if again := h.get("/predictions/" + id.String() + "/card.png").body; again != before {
		t.Error("the picture differs without a change")
	}
	if _, err := h.db.NewUpdate().Table("predictions").Set("hidden = TRUE").Where("id = ?", id).Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.now = h.now.Add(time.Minute) // pictures are kept this long, unless a text is hidden in the running service
	if hidden := h.get("/predictions/" + id.String() + "/card.png").body; hidden == before {
		t.Error("a hidden text is still drawn")
	}
}
