package ingest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
)

// TestReadingsAreArchived checks that each tick appends its reading to the archive in the transaction that
// stores it, so that neither exists without the other.
func TestReadingsAreArchived(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		recorder := archive.NewRecorder(func() time.Time { return n.at })
		n.markets.Archive, n.news.Archive = recorder, recorder
		n.up.top, n.up.items = []market.Market{grouped("a", "e1"), yesNo("b", 3)}, []news.Item{post("n1", "science", 0)}
		n.up.topEvents = []market.Event{{ID: "e1", Title: "One", URL: "https://example.org/one"}}
		n.up.knownEvents = []market.Event{{ID: "e1", Tags: []string{"nba"}}}
		segments := func() (kinds []string) {
			t.Helper()
			if err := db.NewRaw("SELECT kind FROM archive_segments ORDER BY id").Scan(t.Context(), &kinds); err != nil {
				t.Fatal(err)
			}
			slices.Sort(kinds)
			return kinds
		}
		tick := func() {
			t.Helper()
			if _, err := n.markets.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := n.news.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		tick()
		if got := segments(); !slices.Equal(got, []string{"events", "markets", "news", "prices"}) {
			t.Errorf("the first tick appended %v", got)
		}
		n.later(time.Minute)
		tick()
		if got := segments(); !slices.Equal(got, []string{"events", "events", "markets", "news", "prices", "prices"}) {
			t.Errorf("a tick that changes only the event, whose tags are asked for once, appended %v", got)
		}
		// If the archive refuses a reading, the tick stores nothing and returns an error.
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE archive_segments RENAME TO elsewhere"); err != nil {
			t.Fatal(err)
		}
		n.later(time.Minute)
		if _, err := n.markets.Tick(t.Context()); err == nil {
			t.Error("a tick succeeded without its segments")
		}
		prices, err := market.Store{}.History(t.Context(), db.Reader, "a")
		if err != nil || len(prices) != 2 {
			t.Errorf("%d prices are stored (%v), want none of the failed tick", len(prices), err)
		}
	})
}

// TestReadingIsStoredInShortTransactions checks that one transaction of a tick stores a bounded number of markets, and
// after each of them the archive has the same prices.
func TestReadingIsStoredInShortTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const markets, most = 120, 50
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.markets.Archive = archive.NewRecorder(func() time.Time { return n.at })
		for i := range markets {
			n.up.top = append(n.up.top, yesNo(fmt.Sprintf("%03d", i), 1))
		}
		stored := 0
		db.Watch(dbtest.OnCommit(func() {
			var prices, archived int
			err := db.Reader.NewRaw(`SELECT (SELECT COUNT(*) FROM market_prices),
				(SELECT COALESCE(SUM(records), 0) FROM archive_segments WHERE kind = 'prices')`).Scan(t.Context(), &prices, &archived)
			if err != nil || prices != archived {
				t.Errorf("stored %d prices and archived %d (%v)", prices, archived, err)
			}
			if prices-stored > most {
				t.Errorf("one transaction stored %d prices, want at most %d", prices-stored, most)
			}
			stored = prices
		}))
		if _, err := n.markets.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stored != markets {
			t.Errorf("stored %d prices, want %d", stored, markets)
		}
	})
}

// TestNewsIsStoredInShortTransactions checks the same for a reading of news.
func TestNewsIsStoredInShortTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const most = 100
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.news.Archive = archive.NewRecorder(func() time.Time { return n.at })
		for i := range 4 * 90 {
			n.up.items = append(n.up.items, post(fmt.Sprint(i), news.Communities[i%4], i/4))
		}
		stored := 0
		db.Watch(dbtest.OnCommit(func() {
			var items, archived int
			err := db.Reader.NewRaw(`SELECT (SELECT COUNT(*) FROM news_items),
				(SELECT COALESCE(SUM(records), 0) FROM archive_segments WHERE kind = 'news')`).Scan(t.Context(), &items, &archived)
			if err != nil || items != archived {
				t.Errorf("stored %d items and archived %d (%v)", items, archived, err)
			}
			if items-stored > most {
				t.Errorf("one transaction stored %d items, want at most %d", items-stored, most)
			}
			stored = items
		}))
		if _, err := n.news.Tick(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stored != len(n.up.items) {
			t.Errorf("stored %d items, want %d", stored, len(n.up.items))
		}
	})
}

// TestNewsOfTheDayBeforeIsArchivedOnce checks that items which a source returns again after midnight, with the time of
// the day before, aren't archived again with every reading.
func TestNewsOfTheDayBeforeIsArchivedOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.news.Archive = archive.NewRecorder(func() time.Time { return n.at })
		n.later(12*time.Hour - time.Minute)
		old := post("old", "science", 0)
		old.ObservedAt = n.at
		n.up.items = []news.Item{old}
		for i := range 4 {
			if _, err := n.news.Tick(t.Context()); err != nil {
				t.Fatal(err)
			}
			n.later(2 * time.Minute)
			n.up.items = []news.Item{old, post("new", "worldnews", 0)}
			var records int
			if err := db.NewRaw("SELECT SUM(records) FROM archive_segments WHERE kind = 'news'").Scan(t.Context(), &records); err != nil {
				t.Fatal(err)
			}
			if want := min(i+1, 2); records != want {
				t.Errorf("%d records after %d readings, want %d", records, i+1, want)
			}
		}
	})
}
