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
		h.report(1000)
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

// TestEvidenceLeadsToItsNews checks that a prediction links to the news item that its evidence
// cites, however many items are newer.
func TestEvidenceLeadsToItsNews(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		id := h.publish("Will it rain in Oslo?", "1", 0.7).ID.String()
		h.report(30)
		link := h.get("/predictions/"+id).doc.Find("main a[href^='/news']").AttrOr("href", "")
		if link != "/news?item=n1#n-n1" {
			t.Errorf("the evidence links to %q", link)
		}
		r := h.get(link)
		if got := r.text("#n-n1 .news-title a bdi"); r.status != 200 || got != hostile || r.doc.Find(".news-item").Length() != 1 {
			t.Errorf("%d %q among %d items", r.status, got, r.doc.Find(".news-item").Length())
		}
		if r.doc.Find("#n-n1 .cited a[href='/predictions/"+id+"']").Length() != 1 || r.doc.Find("main a[href='/news']").Length() != 1 {
			t.Errorf("the item lacks the prediction or the way to all news: %s", r.text("main"))
		}
		if robots := r.doc.Find("meta[name=robots]").AttrOr("content", ""); robots != "noindex" {
			t.Error("the page of one item may be indexed")
		}
		if err := (news.Store{}).Erase(t.Context(), db, []string{"n1"}); err != nil {
			t.Fatal(err)
		}
		h.now = h.now.Add(time.Minute)
		if r := h.get(link); r.status != 404 {
			t.Errorf("an erased item: %d %s", r.status, r.text("main"))
		}
	})
}
