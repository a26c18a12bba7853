package market_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// grown writes the markets with the numbers from..to. Two thirds are closed, and every eleventh was retired
// while open. Five markets share an event. Half have no volume. All were first seen at one of three times, so
// many are tied.
func grown(t testing.TB, db *database.DB, from, to int) {
	t.Helper()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	numbers := "(WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers"
	at := func(hours string) string {
		if db.Kind == database.Postgres {
			return "timestamptz '2026-01-01 00:00:00+00:00' + interval '1 hour' * (" + hours + ")"
		}
		return "strftime('%Y-%m-%d %H:%M:%S', '2026-01-01 00:00:00', (" + hours + ") || ' hours') || '+00:00'"
	}
	exec(`INSERT INTO market_events (id, title, volume, by_price, tags_known, updated_at)
		SELECT 'e' || n, 'Event ' || n, n * 7919 % 100000, FALSE, FALSE, ?2 FROM `+numbers+` WHERE n % 5 = 0`, from, to, noon)
	exec(`INSERT INTO markets (id, source, question, title, category, tags, outcomes, volume, active, closed, closes_at, closed_at, event_id,
			scalar, match_key, search_text, first_seen_at, observed_at, sample, description)
		SELECT 'm' || n, 'grown', 'Will ' || n || ' happen?', 'Will ' || n || ' happen?', CASE WHEN n % 1000 = 1 THEN 'rare' ELSE 'sports' END, '["cup"]',
			'["Yes","No"]', CASE WHEN n % 2 = 0 THEN n * 7919 % 1000003 END, n % 11 <> 0, n % 3 <> 0, `+at("n")+`,
			CASE WHEN n % 3 = 1 THEN `+at("n + 1")+` END, CASE WHEN n % 7 <> 0 THEN 'e' || (n - n % 5) END,
			FALSE, 'will ' || n || ' happen', 'will ' || n || ' happen will ' || n || ' happen', `+at("n % 3")+`, ?2, FALSE, ?3 FROM `+numbers, from, to, noon, strings.Repeat("How it settles. ", 20))
	if db.Kind == database.Postgres {
		exec("VACUUM ANALYZE")
	}
}

// TestListRows checks that the rows a page of markets or events reads don't grow with the number of markets.
func TestListRows(t *testing.T) {
	t.Parallel()
	const small, large = 6_000, 30_000
	// After a cursor, a window of 1,000 markets is read from two ranges of an index. Events read up to five
	// markets for each row. Postgres sometimes prefers to sort several times as many rows.
	const most = 5000
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			rows := map[string]int64{} // rows read with small; Postgres reads a small table whole
			for _, size := range dbtest.Sizes(kind, small, large) {
				if size == small {
					grown(t, db, 1, small)
				} else {
					grown(t, db, small+1, large)
				}
				check := func(name string, read func(db *database.DB)) {
					t.Helper()
					for i, e := range dbtest.Explain(t, db, read) {
						of := fmt.Sprint(name, i)
						n := max(e.Tables["markets"], e.Tables["market_events"])
						if size == small {
							rows[of] = n
						} else if n > max(most, rows[of]) {
							t.Errorf("%s: read %d rows with %d markets, want at most %d: %s", of, n, size, most, e.Query)
						}
						if len(e.Whole) > 0 {
							t.Errorf("%s: whole table %q in %s", of, e.Whole, e.Query)
						}
					}
				}
				for _, f := range filters() {
					name := fmt.Sprintf("%s, closed %t, %q in %q", f.Sort, f.Closed, f.Q, f.Category)
					check(name, func(db *database.DB) { walkMarkets(t, db, f) })
					g := market.GroupFilter{Category: f.Category, Q: f.Q, Closed: f.Closed, Sort: f.Sort, Limit: f.Limit}
					check("events, "+name, func(db *database.DB) { walkGroups(t, db, g) })
				}
			}
		})
	}
}

func filters() (list []market.Filter) {
	for _, closed := range []bool{false, true} {
		for _, sort := range []market.Sort{market.ByVolume, market.ByClosing, market.ByNewest} {
			list = append(list, market.Filter{Closed: closed, Sort: sort, Limit: 24}, market.Filter{Closed: closed, Sort: sort, Limit: 24, Q: "nowhere"})
		}
		list = append(list, market.Filter{Closed: closed, Sort: market.ByVolume, Limit: 24, Category: "rare"})
	}
	return list
}

// walkMarkets reads the first two pages of a list.
func walkMarkets(t *testing.T, db *database.DB, f market.Filter) {
	t.Helper()
	for range 2 {
		_, next, err := store.List(t.Context(), db.Reader, f)
		if err != nil {
			t.Fatal(err)
		}
		if f.Cursor = next; next == "" {
			return
		}
	}
}

// walkGroups reads the first two pages of a list of events.
func walkGroups(t *testing.T, db *database.DB, f market.GroupFilter) {
	t.Helper()
	list := newGroups()
	for range 2 {
		_, next, err := list.List(t.Context(), db.Reader, f)
		if err != nil {
			t.Fatal(err)
		}
		if f.Cursor = next; next == "" {
			return
		}
	}
}

// TestSearchGoesOn checks that a search finds a match beyond the first 1,000 markets on a later page, and lists
// each market once.
func TestSearchGoesOn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		grown(t, db, 1, 9000)
		for _, sort := range []market.Sort{market.ByVolume, market.ByClosing, market.ByNewest} {
			for q, want := range map[string]int{"4000": 1, "happen": 6000} {
				seen := map[string]bool{}
				f := market.Filter{Q: q, Closed: true, Sort: sort, Limit: 500}
				for pages := 0; pages < 20; pages++ {
					page, next, err := store.List(t.Context(), db.Reader, f)
					if err != nil {
						t.Fatal(err)
					}
					for i := range page {
						seen[page[i].ID] = true
					}
					if f.Cursor = next; next == "" {
						break
					}
				}
				if len(seen) != want {
					t.Errorf("%q by %s: got %d markets, want %d", q, sort, len(seen), want)
				}
			}
		}
	})
}

// TestSearchDuringATick checks that a search misses no match if a tick closes markets while a page is read.
func TestSearchDuringATick(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var markets []market.Market
		for n := range 1100 {
			m := yesNo(fmt.Sprintf("m%04d", n), float64(2000-n), noon)
			if n == 1020 {
				m.Category = "rare"
			}
			markets = append(markets, m)
		}
		observe(t, db, markets...)
		hooked := *db
		closeSome := sync.OnceFunc(func() {
			if _, err := db.ExecContext(t.Context(), "UPDATE markets SET closed = TRUE, active = FALSE WHERE id < 'm0050'"); err != nil {
				t.Error(err)
			}
		})
		hooked.Watch(dbtest.OnQuery(func(string) { closeSome() }))
		var found []string
		f := market.Filter{Category: "rare", Limit: 24}
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
		if !slices.Equal(found, []string{"m1020"}) {
			t.Errorf("found %v, want m1020", found)
		}
	})
}

// TestTitleRows checks that naming an event reads one of its markets, however many it has.
func TestTitleRows(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := dbtest.OpenPlain(t, kind)
			exec := func(query string, args ...any) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			last := 0
			for _, size := range dbtest.Sizes(kind, 2_000, 12_000) {
				exec(`INSERT INTO markets (id, source, question, title, outcomes, active, closed, event_id, event_title, scalar, match_key, search_text, first_seen_at, observed_at, sample)
					SELECT 'm' || n, 'x', 'q', 'Title ' || n, '["Yes","No"]', TRUE, FALSE, CASE WHEN n % 10 <> 0 THEN 'e' || (n % 4) END,
						CASE WHEN n % 4 = 1 THEN 'Event 1' END, FALSE, 'q', 'q title', ?2, ?2, FALSE
					FROM (WITH RECURSIVE numbers (n) AS (SELECT ?0 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?1) SELECT n FROM numbers) AS numbers`, last+1, size, noon)
				if kind == database.Postgres {
					exec("VACUUM ANALYZE")
				}
				last = size
				var titles map[string]string
				for _, e := range dbtest.Explain(t, db, func(db *database.DB) {
					var err error
					titles, err = market.Store{}.TitlesByEventKey(t.Context(), db.Reader, []string{"e:e1", "e:e2", "e:none", "m:m10", "m:none", "x"})
					if err != nil {
						t.Fatal(err)
					}
				}) {
					if n := e.Tables["markets"]; n > 6 {
						t.Errorf("%d rows of %d markets: %s", n, size, e.Query)
					}
					if len(e.Whole) > 0 {
						t.Errorf("%q in %s", e.Whole, e.Query)
					}
				}
				if len(titles) != 3 || titles["e:e1"] != "Event 1" || !strings.HasPrefix(titles["e:e2"], "Title ") || titles["m:m10"] != "Title 10" {
					t.Errorf("titles %v", titles)
				}
			}
		})
	}
}
