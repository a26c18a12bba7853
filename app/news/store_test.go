package news_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/problem"
)

var (
	store news.Store
	noon  = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

func post(id string, at time.Time) news.Item {
	return news.Item{
		ID: id, Source: "reddit", Community: "science", Title: "Title " + id, Summary: "Summary", Score: 5, Comments: 2, ScoreKnown: true,
		URL: "https://example.org/" + id, Permalink: "https://www.reddit.com/r/science/comments/" + id + "/", Author: "a",
		PostedAt: at.Add(-time.Hour), Flair: "f", ObservedAt: at,
	}
}

func observe(t *testing.T, db *database.DB, items ...news.Item) {
	t.Helper()
	if err := store.Observe(t.Context(), db, items); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, db *database.DB, id string) *news.Item {
	t.Helper()
	item, found, err := store.ByID(t.Context(), db.Reader, id)
	if err != nil || !found {
		t.Fatalf("item %s: got found %v, %v", id, found, err)
	}
	return item
}

func TestObserve(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observe(t, db, post("a", noon), post("a", noon))
		atom := post("a", noon.Add(time.Minute))
		atom.Source, atom.Score, atom.Comments, atom.ScoreKnown, atom.Summary, atom.Title = "reddit-rss", 0, 0, false, "", "New"
		observe(t, db, atom)
		observe(t, db, post("a", noon))
		if got := get(t, db, "a"); got.Score != 5 || !got.ScoreKnown || got.Summary != "Summary" || got.Title != "New" || !got.PostedAt.Equal(atom.PostedAt) {
			t.Errorf("got %+v", got)
		}
		sample := post("b", noon)
		sample.Sample = true
		observe(t, db, sample)
		live := post("b", noon.Add(-time.Minute))
		live.ScoreKnown, live.Score = false, 0
		observe(t, db, live)
		observe(t, db, sample)
		if got := get(t, db, "b"); got.Sample || got.ScoreKnown || got.Score != 0 {
			t.Errorf("values of the sample are left: %+v", got)
		}
		if _, found, err := store.ByID(t.Context(), db.Reader, "c"); found || err != nil {
			t.Errorf("unknown id: got %v, %v", found, err)
		}
	})
}

// TestClockAhead checks that an item stored while a clock was ahead gives way to the next reading.
func TestClockAhead(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for ahead, replaced := range map[time.Duration]bool{time.Hour: false, 61 * time.Minute: true} {
			id := ahead.String()
			observe(t, db, post(id, noon.Add(ahead)))
			now := post(id, noon)
			now.Title = "New"
			observe(t, db, now)
			if got := get(t, db, id); (got.Title == "New") != replaced || got.ObservedAt.Equal(noon) != replaced {
				t.Errorf("%s ahead: got %+v", ahead, got)
			}
		}
	})
}

func TestByURLs(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observe(t, db, post("a", noon), post("b", noon))
		if err := store.Cite(t.Context(), db, []string{"b"}); err != nil {
			t.Fatal(err)
		}
		got := map[string]news.Found{}
		err := database.ScanReads(t.Context(), db.Reader, store.ByURLs([]string{
			"https://www.reddit.com/r/science/comments/a", "https://example.org/b/", "https://example.org/c"}, got))
		want := map[string]news.Found{
			"https://www.reddit.com/r/science/comments/a": {ID: "a"}, "https://example.org/b/": {ID: "b", Cited: true},
		}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

func TestList(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		for i := range 5 {
			observe(t, db, post(fmt.Sprint(i), noon.Add(time.Duration(i/2)*time.Minute)))
		}
		other := post("other", noon.Add(-time.Hour))
		other.Community, other.Title = "politics", "100% of_it"
		observe(t, db, other)
		var got, cursor string
		for pages := 0; ; pages++ {
			page, next, err := store.List(ctx, db.Reader, news.Filter{Community: "science", Cursor: cursor, Limit: 2})
			if err != nil || pages > 3 {
				t.Fatal(pages, err)
			}
			for _, item := range page {
				got += item.ID
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if got != "43210" {
			t.Errorf("got pages %s", got)
		}
		for q, want := range map[string]int{"TITLE summary": 5, "100%": 1, "of_it": 1, "o__it": 1, "0!": 1, "of%it": 1, "ofit": 0, "?!": 0} {
			page, _, err := store.List(ctx, db.Reader, news.Filter{Q: q, Limit: 10})
			if err != nil || len(page) != want {
				t.Errorf("q %q: got %d items, %v", q, len(page), err)
			}
		}
		for _, bad := range []string{"?", "e30x", "eyJwIjoiMDAwMC0wMS0wMVQwMDowMDowMFoifQ"} {
			_, _, err := store.List(ctx, db.Reader, news.Filter{Cursor: bad, Limit: 1})
			if p, ok := errors.AsType[*problem.Error](err); !ok || p.Status != 400 {
				t.Errorf("cursor %q: got %v", bad, err)
			}
		}
	})
}

// TestSearchFolds checks that the letter case of a text doesn't matter, in any alphabet, and that a reading without a
// summary leaves the item findable by the summary that is kept.
func TestSearchFolds(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		first := post("a", noon)
		first.Title, first.Summary = "Österreich wählt", "Ёлка в МОСКВЕ"
		observe(t, db, first, post("other", noon))
		later := post("a", noon.Add(time.Minute))
		later.Title, later.Summary = "ÖSTERREICH hat gewählt", ""
		observe(t, db, later)
		for _, c := range []struct {
			q    string
			want bool
		}{
			{"Österreich", true}, {"österreich", true}, {"ÖSTERREICH", true}, {"öster", true}, {"Osterreich", false}, {"GEWÄHLT", true},
			{"ählt", false}, {"Ёл", true}, {"лка", false}, {"ёлка", true}, {"ЁЛКА москве österreich", true}, {"gewählt hat", true}, {"ёлка summary", false},
		} {
			page, _, err := store.List(t.Context(), db.Reader, news.Filter{Q: c.q, Limit: 10})
			if found := len(page) == 1 && page[0].ID == "a"; err != nil || found != c.want {
				t.Errorf("q %q: got %+v, %v; want it found: %v", c.q, page, err, c.want)
			}
		}
		wordless := post("a", noon.Add(2*time.Minute))
		wordless.Summary = "?!"
		observe(t, db, wordless)
		if page, _, err := store.List(t.Context(), db.Reader, news.Filter{Q: "ёлка", Limit: 10}); err != nil || len(page) != 0 {
			t.Errorf("found by a summary that was replaced: %+v, %v", page, err)
		}
	})
}

func TestPruneSparesTheCited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		observe(t, db, post("old", noon.Add(-91*24*time.Hour)), post("cited", noon.Add(-91*24*time.Hour)), post("young", noon.Add(-89*24*time.Hour)))
		if err := store.Cite(ctx, db, []string{"cited"}); err != nil {
			t.Fatal(err)
		}
		if n, _, err := store.Prune(ctx, db, noon, noon.Add(-92*24*time.Hour)); n != 0 || err != nil {
			t.Errorf("pruned %d items (%v) that aren't sealed", n, err)
		}
		n, more, err := store.Prune(ctx, db, noon, noon)
		if n != 1 || more || err != nil {
			t.Fatalf("got %d pruned, more %v, %v", n, more, err)
		}
		get(t, db, "cited")
		get(t, db, "young")
	})
}

// TestPruneDoesNotWaitForCiting checks that Prune neither waits for an item that is being cited nor deletes it.
func TestPruneDoesNotWaitForCiting(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres) // SQLite has only one writer
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	observe(t, db, post("cited", noon.Add(-91*24*time.Hour)))
	err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := store.Cite(ctx, tx, []string{"cited"}); err != nil {
			return err
		}
		_, _, err := store.Prune(ctx, db, noon, noon)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	get(t, db, "cited")
}

// TestSearchRows checks that the rows a search reads don't grow with the number of items, and that its pages
// lead to all matches.
func TestSearchRows(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const items, every = 5000, 2400
		began := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
		var list []news.Item
		for n := range items {
			item := news.Item{
				ID: fmt.Sprintf("i%05d", n), Source: "test", Community: "science", Title: "Common", URL: fmt.Sprint("https://example.org/", n),
				Permalink: fmt.Sprint("https://example.org/p/", n), PostedAt: began.Add(time.Duration(n) * time.Second), ObservedAt: began,
			}
			if n%every == 0 {
				item.Title = "Rare"
			}
			list = append(list, item)
		}
		if err := (news.Store{}).Observe(t.Context(), db, list); err != nil {
			t.Fatal(err)
		}
		f := news.Filter{Q: "rare", Limit: 10}
		found, pages := 0, 0
		for pages = 1; pages < 10; pages++ {
			page, next, err := (news.Store{}).List(t.Context(), db.Reader, f)
			if err != nil {
				t.Fatal(err)
			}
			found += len(page)
			if f.Cursor = next; next == "" {
				break
			}
		}
		if found != 3 || pages != 6 {
			t.Errorf("got %d items on %d pages, want 3 on 6", found, pages)
		}
	})
}

// TestSearchDuringATick checks that a search misses no match if a tick adds items while a page is read.
func TestSearchDuringATick(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		some := func(from, to int) (list []news.Item) {
			for n := from; n < to; n++ {
				item := post(fmt.Sprintf("i%05d", n), noon.Add(time.Duration(n)*time.Second))
				if n == 120 {
					item.Title = "Rare"
				}
				list = append(list, item)
			}
			return list
		}
		observe(t, db, some(0, 2100)...)
		hooked := *db
		more := sync.OnceFunc(func() { observe(t, db, some(2100, 2150)...) })
		hooked.Watch(dbtest.OnQuery(func(string) { more() }))
		var found []string
		f := news.Filter{Q: "rare", Limit: 10}
		for pages := 1; ; pages++ {
			page, next, err := store.List(t.Context(), hooked.Reader, f)
			if err != nil || pages > 3 {
				t.Fatalf("page %d: %v", pages, err)
			}
			for i := range page {
				found = append(found, page[i].ID)
			}
			if f.Cursor = next; next == "" {
				break
			}
		}
		if !slices.Equal(found, []string{"i00120"}) {
			t.Errorf("found %v, want i00120", found)
		}
	})
}

// TestErase checks that the texts of a deleted post are gone for all readers, and that a late
// reading doesn't bring them back.
func TestErase(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observe(t, db, post("a", noon), post("b", noon))
		if err := store.Erase(t.Context(), db, []string{"a", "unknown"}); err != nil {
			t.Fatal(err)
		}
		observe(t, db, post("a", noon.Add(time.Hour)))
		if _, found, err := store.ByID(t.Context(), db.Reader, "a"); found || err != nil {
			t.Errorf("the erased item is found: %v, %v", found, err)
		}
		page, _, err := store.List(t.Context(), db.Reader, news.Filter{Limit: 9})
		if err != nil || len(page) != 1 || page[0].ID != "b" {
			t.Errorf("listed %+v, %v; want b", page, err)
		}
		urls := map[string]news.Found{}
		err = database.ScanReads(t.Context(), db, store.ByURLs([]string{post("a", noon).URL, post("b", noon).URL, ""}, urls))
		if err != nil || len(urls) != 1 || urls[post("b", noon).URL].ID != "b" {
			t.Errorf("found by address: %v, %v; want b", urls, err)
		}
		var texts []string
		err = db.NewRaw("SELECT title || url || permalink || COALESCE(summary, '') || COALESCE(author, '') || COALESCE(flair, '') || title_search_text || summary_search_text FROM news_items WHERE id = 'a'").Scan(t.Context(), &texts)
		if err != nil || len(texts) != 1 || texts[0] != "" {
			t.Errorf("the row says %q, %v", texts, err)
		}
	})
}

// TestSamplesAreInUTC checks that every time of a sample is in UTC, whatever zone the database
// driver returns.
func TestSamplesAreInUTC(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		sample := post("a", noon)
		sample.Sample = true
		observe(t, db, sample)
		got, err := store.Samples(t.Context(), db.Reader)
		if err != nil || len(got) != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		for name, at := range map[string]time.Time{"posted": got[0].PostedAt, "observed": got[0].ObservedAt} {
			if at.Location() != time.UTC {
				t.Errorf("the time when it was %s is in %v, want UTC", name, at.Location())
			}
		}
	})
}
