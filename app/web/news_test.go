package web_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/news"
)

// report stores n news items that are newer than those of the house.
func (h *house) report(n int) {
	h.t.Helper()
	items := make([]news.Item, n)
	for i := range items {
		items[i] = news.Item{
			ID: fmt.Sprint("later", i), Source: "reddit", Community: "science", Title: "Filler", URL: fmt.Sprint("https://later.example/", i),
			Permalink: "https://later.example/r", PostedAt: start.Add(-30 * time.Minute), ObservedAt: start,
		}
	}
	err := h.db.InTx(h.t.Context(), func(ctx context.Context, tx bun.Tx) error { return news.Store{}.Observe(ctx, tx, items) })
	if err != nil {
		h.t.Fatal(err)
	}
}

// TestNewsSearchGoesOn checks that a page of a search without a match leads to the next page, where
// the match is.
func TestNewsSearchGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.report(2000)
		r := h.get("/news?q=alert")
		if got := r.text(".empty-title"); got != "No match on this page" {
			t.Errorf("the page says %q", got)
		}
		next := r.doc.Find(".empty a").AttrOr("href", "")
		if got := h.get(next).text(".news-title a bdi"); got != hostile {
			t.Errorf("%q shows %q", next, got)
		}
		if got := h.get("/news?q=nowhere&community=politics").text(".empty-title"); got != "No news matches" {
			t.Errorf("a search without a match says %q", got)
		}
	})
}
