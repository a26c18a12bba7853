package market_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/cursor"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// sibling returns a market of an event.
func sibling(event, id string, p float64, volume float64) market.Market {
	m := yesNo(id, volume, noon)
	m.EventID, m.EventTitle, m.EventSlug = event, "Event "+event, "slug-"+event
	m.Probability, m.Prices = ptr(p), []float64{p, 1 - p}
	return m
}

func observeEvents(t *testing.T, db *database.DB, markets []market.Market, events ...market.Event) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error { return store.Observe(ctx, tx, markets, events...) })
	if err != nil {
		t.Fatal(err)
	}
}

func event(t *testing.T, db *database.DB, id string) *market.Event {
	t.Helper()
	e, found, err := store.EventByID(t.Context(), db.Reader, id)
	if err != nil || !found {
		t.Fatalf("event %s: found %v, %v", id, found, err)
	}
	return e
}

func siblings(t *testing.T, db *database.DB, id string) *market.Siblings {
	t.Helper()
	s, err := store.Siblings(t.Context(), db.Reader, event(t, db, id))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// newGroups returns Groups that have read nothing yet.
func newGroups() *market.Groups { return market.NewGroups(func() uint64 { return 0 }, time.Now) }

// groups lists all pages of a filter, each group as "event:market,market/total".
func groups(t *testing.T, db *database.DB, f market.GroupFilter) string {
	t.Helper()
	if f.Limit == 0 {
		f.Limit = 2
	}
	var out []string
	list := newGroups()
	for range 20 {
		page, next, err := list.List(t.Context(), db.Reader, f)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page {
			name := "-"
			if g.Event != nil {
				name = g.Event.ID
			}
			var ids []string
			for _, m := range g.Markets {
				ids = append(ids, m.ID)
			}
			out = append(out, fmt.Sprintf("%s:%s/%d", name, strings.Join(ids, ","), g.Total))
		}
		if f.Cursor = next; next == "" {
			break
		}
	}
	return strings.Join(out, " ")
}

// TestGroupsAreKept checks that a list of groups reads the markets again only after a tick, and shows prices at once.
func TestGroupsAreKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var ticks atomic.Uint64
		list := market.NewGroups(ticks.Load, time.Now)
		shown := func(db *database.DB) (out string) {
			page, _, err := list.List(t.Context(), db.Reader, market.GroupFilter{Limit: 9})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range page {
				out += fmt.Sprint(g.Markets[0].ID, *g.Markets[0].Probability, " ")
			}
			return out
		}
		for _, step := range []struct {
			markets []market.Market
			tick    uint64
			want    string
		}{
			{[]market.Market{sibling("a", "a1", 0.1, 10)}, 0, "a10.1 "},
			{[]market.Market{sibling("a", "a1", 0.2, 10), sibling("b", "b1", 0.3, 20)}, 0, "a10.2 "},
			{nil, 1, "b10.3 a10.2 "},
		} {
			if step.markets != nil {
				observe(t, db, step.markets...)
			}
			ticks.Add(step.tick)
			if got := shown(db); got != step.want {
				t.Errorf("got %s, want %s", got, step.want)
			}
		}
		var read int64
		for _, e := range dbtest.Explain(t, db, func(db *database.DB) { shown(db) }) {
			read = max(read, e.Tables["markets"])
		}
		if read > 4 {
			t.Errorf("a kept list reads %d rows of markets, want those it shows", read)
		}
	})
}

func TestGroups(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		alone, closed, retired := yesNo("alone", 500, noon), sibling("big", "b5", 1, 9999), sibling("big", "b6", 0.99, 1)
		alone.EventID, alone.Category, alone.ClosesAt = "", "sports", noon.Add(time.Hour)
		closed.Closed, closed.Active, retired.Active = true, false, false
		tagged := sibling("small", "s1", 0.3, 3)
		tagged.Tags, tagged.Category = []string{"a/b?c", "earn-4"}, "crypto"
		first := sibling("big", "b1", 0.1, 10)
		first.Category, first.Tags = "economics", []string{"jobs"}
		unknown := sibling("unknown", "u1", 0.2, 0)
		unknown.Volume, unknown.Probability = nil, nil
		observeEvents(t, db, []market.Market{
			first, sibling("big", "b2", 0.4, 20), sibling("big", "b3", 0.2, 30), sibling("big", "b4", 0.3, 40),
			closed, retired, alone, tagged, unknown, sibling("tie", "t1", 0.5, 3),
		}, market.Event{ID: "big", Title: "Who leads?", Volume: ptr(1e6), UpdatedAt: noon}, market.Event{ID: "empty", Title: "Nothing yet", Volume: ptr(1e9), UpdatedAt: noon})
		for want, f := range map[string]market.GroupFilter{
			"big:b2,b4,b3/4 -:alone/1 small:s1/1 tie:t1/1 unknown:u1/1": {},
			"big:b2,b4,b3/4 small:s1/1 tie:t1/1 unknown:u1/1":           {EventsOnly: true},
			"small:s1/1":       {Tag: "a/b?c"},
			"":                 {Tag: `"earn-4"`},
			"-:alone/1":        {Category: "sports"},
			"big:b2,b4,b3/4":   {Q: "B3 HAPPEN"},
			"big:b2,b4,b3/4 ":  {Q: "who leads", Limit: 100},
			"big:b2,b4,b3/4  ": {Category: "economics", Tag: "jobs", Q: "b1 lead"},
			" ":                {Category: "economics", Q: "b3"}, // two of its markets, but not one
			"  ":               {Q: "appen"},
			"big:b5/1":         {Closed: true},
			"-:alone/1 ":       {ClosesBefore: noon.Add(2 * time.Hour)},
		} {
			if got := groups(t, db, f); got != strings.TrimSpace(want) {
				t.Errorf("%+v\ngot  %s\nwant %s", f, got, want)
			}
		}
		if got := groups(t, db, market.GroupFilter{Sort: market.ByClosing}); !strings.HasPrefix(got, "-:alone/1 ") || strings.Count(got, " ") != 4 {
			t.Errorf("by closing: got %s", got)
		}
		if got := groups(t, db, market.GroupFilter{Sort: market.ByNewest, Limit: 1}); strings.Count(got, " ") != 4 {
			t.Errorf("by age: got %s", got)
		}
		for _, bad := range []string{"x", "!!", "AAAA"} {
			if _, _, err := newGroups().List(t.Context(), db.Reader, market.GroupFilter{Cursor: bad, Limit: 1}); err == nil {
				t.Errorf("cursor %q was accepted", bad)
			}
		}
	})
}

func TestSiblingsInOrder(t *testing.T) {
	t.Parallel()
	placed := func(event, id string, p, place float64) market.Market {
		m := sibling(event, id, p, 1)
		m.EventPosition = ptr(place)
		return m
	}
	closed := placed("dates", "d0", 0, 0)
	closed.Closed, closed.Active = true, false
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		observeEvents(t, db, []market.Market{
			closed, placed("dates", "d2", 0.2, 2), placed("dates", "d1", 0.1, 1), placed("dates", "d10", 0.8, 10),
			placed("shared", "s1", 0.1, 0), placed("shared", "s2", 0.3, 0),
			placed("price", "p1", 0.1, 1), placed("price", "p2", 0.3, 2),
			sibling("plain", "q1", 0.1, 1), sibling("plain", "q2", 0.3, 1), sibling("plain", "q3", 0.3, 1),
		}, market.Event{ID: "price", ByPrice: true, UpdatedAt: noon})
		for id, want := range map[string]string{"dates": "d1 d2 d10 d0", "shared": "s2 s1", "price": "p2 p1", "plain": "q2 q3 q1"} {
			if got := strings.Join(siblings(t, db, id).IDs, " "); got != want {
				t.Errorf("event %s: got %s, want %s", id, got, want)
			}
		}
		if s := siblings(t, db, "dates"); s.Open != 3 || math.Abs(*s.Sum-1.1) > 1e-9 {
			t.Errorf("got %d open with the sum %v, want 3 and 1.1", s.Open, *s.Sum)
		}
	})
}

func TestOverround(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		exclusive *bool
		prices    []float64
		closed    int
		sum, over float64
		known     bool
	}{
		"too little":      {ptr(true), []float64{0.1, 0.3}, 0, 0.4, -0.6, true},
		"too much":        {ptr(true), []float64{0.9, 0.6, 0.4}, 0, 1.9, 0.9, true},
		"not exclusive":   {ptr(false), []float64{0.9, 0.6}, 0, 1.5, 0, false},
		"unknown":         {nil, []float64{0.9, 0.6}, 0, 1.5, 0, false},
		"with one closed": {ptr(true), []float64{0.9, 0.6}, 1, 1.5, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				var markets []market.Market
				for i, p := range c.prices {
					markets = append(markets, sibling("e", fmt.Sprint("m", i), p, 1))
				}
				for i := range c.closed {
					m := sibling("e", fmt.Sprint("c", i), 0, 1)
					m.Closed, m.Active = true, false
					markets = append(markets, m)
				}
				observeEvents(t, db, markets, market.Event{ID: "e", Exclusive: c.exclusive, UpdatedAt: noon})
				s := siblings(t, db, "e")
				over, known := s.Overround(event(t, db, "e"))
				if math.Abs(*s.Sum-c.sum) > 1e-9 || math.Abs(over-c.over) > 1e-9 || known != c.known {
					t.Errorf("got sum %v, overround %v (known %v)", *s.Sum, over, known)
				}
			})
		})
	}
}

// TestEventChanges checks a shorter reading, a market that moves to another event, and a market that closes.
// The event's values stay, the markets move along, and the open sibling stays open. An event without markets is
// found but not listed.
func TestEventChanges(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		full := market.Event{ID: "old", Title: "Old title", Slug: "old", URL: "https://example.org/old", Description: "How.", Volume: ptr(5.0),
			Volume24h: ptr(1.0), ClosesAt: noon.Add(time.Hour), Exclusive: ptr(true), Tags: []string{"nba"}, TagsKnown: true, TagsAskedAt: noon, UpdatedAt: noon}
		observeEvents(t, db, []market.Market{sibling("old", "a", 0.3, 10), sibling("old", "b", 0.4, 10)}, full)
		later := sibling("old", "a", 0.3, 10)
		later.ObservedAt = noon.Add(time.Minute)
		observeEvents(t, db, []market.Market{later})
		e := event(t, db, "old")
		if e.Title != "Old title" || e.Slug != "old" || e.Description != "How." || *e.Volume != 5 || !*e.Exclusive || !e.TagsKnown ||
			!slices.Equal(e.Tags, []string{"nba"}) || !e.ClosesAt.Equal(noon.Add(time.Hour)) || !e.UpdatedAt.Equal(later.ObservedAt) {
			t.Errorf("after a shorter reading: got %+v", e)
		}
		if got := groups(t, db, market.GroupFilter{Q: "TITLE old"}); got != "old:b,a/2" {
			t.Errorf("the event's title finds %q", got)
		}
		// A reading of the event itself may leave out the same.
		observeEvents(t, db, []market.Market{later}, market.Event{ID: "old", Volume: ptr(6.0), UpdatedAt: later.ObservedAt})
		if e := event(t, db, "old"); e.Title != "Old title" || e.Slug != "old" || e.Description != "How." || *e.Volume != 6 {
			t.Errorf("after a shorter reading of the event: got %+v", e)
		}
		if got := groups(t, db, market.GroupFilter{Q: "TITLE old"}); got != "old:b,a/2" {
			t.Errorf("the event's title finds %q after a shorter reading", got)
		}
		if list, err := store.EventsByID(t.Context(), db.Reader, []string{"old"}); err != nil || list["old"].Title != "Old title" {
			t.Errorf("got %+v, %v", list["old"], err)
		}
		moved, ended := sibling("new", "a", 0.3, 10), sibling("new", "b", 1, 10)
		moved.ObservedAt, ended.ObservedAt = noon.Add(2*time.Minute), noon.Add(2*time.Minute)
		ended.Closed, ended.Active = true, false
		observeEvents(t, db, []market.Market{moved, ended})
		if got := groups(t, db, market.GroupFilter{}); got != "new:a/1" {
			t.Errorf("got list %s", got)
		}
		if s := siblings(t, db, "old"); len(s.IDs) != 0 || s.Sum != nil {
			t.Errorf("the old event has markets %v, want none", s.IDs)
		}
		if s := siblings(t, db, "new"); strings.Join(s.IDs, " ") != "a b" || s.Open != 1 {
			t.Errorf("the new event has markets %v, want a and b", s.IDs)
		}
	})
}

func TestThousandSiblings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var markets []market.Market
		for i := range 1000 {
			m := sibling("e", fmt.Sprintf("m%04d", i), 0.001, 1)
			m.EventPosition = ptr(float64(i))
			markets = append(markets, m)
		}
		observeEvents(t, db, markets)
		s := siblings(t, db, "e")
		var read []string
		next := ""
		for pages := 0; ; pages++ {
			after, err := market.ParsePlace(next)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			var from int
			if ids, from, next = s.Page(after, 100); from != pages*100 {
				t.Errorf("page %d begins at %d", pages, from)
			}
			page, err := store.InOrder(t.Context(), db.Reader, ids)
			if err != nil || len(page) > 100 {
				t.Fatal(len(page), err)
			}
			for _, m := range page {
				read = append(read, m.ID)
			}
			if next == "" || pages > 20 {
				break
			}
		}
		if len(read) != 1000 || !slices.IsSorted(read) {
			t.Errorf("got %d markets on all pages", len(read))
		}
		if got := groups(t, db, market.GroupFilter{}); got != "e:m0000,m0001,m0002/1000" {
			t.Errorf("got list %s", got)
		}
		if ids, _, next := s.Page(market.Place{ID: "m1000", Position: 1000}, 10); len(ids) != 0 || next != "" {
			t.Errorf("beyond the end: got %v, %q", ids, next)
		}
	})
}

// TestSiblingsMove checks that the pages of an event hold each market that stays in its place exactly once, although a
// tick between them moves others.
func TestSiblingsMove(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for i, id := range []string{"a", "b", "c", "d", "e"} {
			observe(t, db, sibling("1", id, 0.5-0.1*float64(i), 1))
		}
		first, _, next := siblings(t, db, "1").Page(market.Place{}, 2)
		over := sibling("1", "a", 0.5, 1)
		over.Closed, over.Active = true, false
		observe(t, db, over, sibling("1", "added", 0.9, 1), sibling("1", "new", 0.8, 1), sibling("1", "last", 0.01, 1))
		read := strings.Join(first, " ")
		for pages := 0; next != "" && pages < 9; pages++ {
			after, err := market.ParsePlace(next)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			ids, _, next = siblings(t, db, "1").Page(after, 2)
			read += " " + strings.Join(ids, " ")
		}
		if read != "a b c d e last a" {
			t.Errorf("the pages hold %s", read)
		}
	})
}

// TestForeignPlaces checks that cursors of other lists are refused.
func TestForeignPlaces(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no cursor": "x", "index": cursor.Encode("event", "2"), "mark": cursor.Encode("event", "false", "1", "0.5", "a"),
		"closed": cursor.Encode("sibling", "maybe", "1", "0.5", "a"), "position": cursor.Encode("sibling", "false", "NaN", "0.5", "a"),
		"probability": cursor.Encode("sibling", "false", "1", "", "a"), "no id": cursor.Encode("sibling", "false", "1", "0.5", ""),
		"NUL": cursor.Encode("sibling", "false", "1", "0.5", "\x00"),
	} {
		if place, err := market.ParsePlace(text); err == nil {
			t.Errorf("%s: got %+v, want a refusal", name, place)
		}
	}
}

func TestNotable(t *testing.T) {
	t.Parallel()
	lively := func(id, category, event string, volume, change float64) market.Market {
		m := sibling(event, id, 0.5, 1)
		m.Category, m.Volume24h, m.PriceChange24h = category, ptr(volume), ptr(change)
		m.BestBid, m.BestAsk = ptr(0.48), ptr(0.52)
		return m
	}
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		sure, wide, over, ended := lively("sure", "sports", "1", 1e9, 0.5), lively("wide", "sports", "2", 1e9, 0.5), lively("over", "sports", "3", 1e9, 0.5), lively("ended", "sports", "4", 1e9, 0.5)
		sure.Probability, wide.BestAsk, over.ClosesAt = ptr(0.02), ptr(0.7), noon.Add(-time.Hour)
		ended.Closed, ended.Active = true, false
		outsider := lively("outsider", "politics", "c", 900, 0) // traded more than its sibling p1
		outsider.Probability = ptr(0.04)
		observeEvents(t, db, []market.Market{
			sure, wide, over, ended, outsider,
			lively("s1", "sports", "a", 1000, 0), lively("s2", "sports", "b", 900, 0.2), lively("s3", "sports", "b", 800, 0.2),
			lively("p1", "politics", "c", 300, 0), lively("n1", "", "d", 200, 0),
		})
		list, err := store.Notable(t.Context(), db.Reader, noon, 4)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != "s2 p1 n1 s1" {
			t.Errorf("got %s", got)
		}
	})
}

func TestUnknownTags(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var markets []market.Market
		for i, tags := range [][]string{{"nba", "lake-omber", "weekly"}, {"lake-omber", "ferry"}, {"a/b?c"}, nil} {
			m := yesNo(fmt.Sprint(i), 1, noon)
			m.Tags = tags
			markets = append(markets, m)
		}
		observe(t, db, markets...)
		got, err := store.UnknownTags(t.Context(), db.Reader, 2)
		if err != nil || fmt.Sprint(got) != "[{lake-omber 2} {a/b?c 1}]" {
			t.Errorf("got %v, %v", got, err)
		}
		if got := get(t, db, "1"); !slices.Equal(got.Tags, []string{"lake-omber", "ferry"}) {
			t.Errorf("got stored tags %v", got.Tags)
		}
	})
}

func TestListByTag(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a, b := yesNo("a", 1, noon), yesNo("b", 2, noon)
		a.Tags = []string{"x", `odd "slug'%`}
		observe(t, db, a, b)
		for tag, want := range map[string]int{"x": 1, `odd "slug'%`: 1, "od": 0, "%": 0} {
			list, _, err := store.List(t.Context(), db.Reader, market.Filter{Tag: tag, Limit: 5})
			if err != nil || len(list) != want {
				t.Errorf("tag %s: got %d markets, %v", tag, len(list), err)
			}
		}
	})
}

func TestAwaitsResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		m    market.Market
		want bool
	}{
		"ahead":   {market.Market{ClosesAt: noon.Add(time.Second)}, false},
		"past":    {market.Market{ClosesAt: noon}, true},
		"closed":  {market.Market{ClosesAt: noon, Closed: true}, false},
		"unknown": {market.Market{}, false},
	} {
		if got := c.m.AwaitsResult(noon); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
