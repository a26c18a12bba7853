package web_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
)

// siblings adds an event of n markets with falling prices, observed twice.
func (h *house) siblings(id string, n int, change func(k int, m *market.Market)) {
	h.t.Helper()
	for _, at := range []time.Time{start.Add(-2 * time.Hour), start} {
		var markets []market.Market
		for k := range n {
			p := 0.5 / float64(k+1)
			m := market.Market{
				ID: fmt.Sprintf("%s-%04d", id, k), Source: "polymarket", Question: fmt.Sprintf("Will %d win %s?", k, id), EventID: id, EventTitle: "Winner of " + id,
				Label: fmt.Sprint("Candidate ", k), EventPosition: new(float64(k)), Category: "politics", Tags: []string{"elections", "odd & rare"},
				Outcomes: []string{"Yes", "No"}, Prices: []float64{p, 1 - p}, Probability: &p, BestBid: new(p * 0.9), BestAsk: new(min(1, p*1.1)),
				Volume: new(1e6 / float64(k+1)), Active: true, ClosesAt: start.Add(90 * 24 * time.Hour), ObservedAt: at,
			}
			m.Title = m.EventTitle + " — " + m.Label
			if change != nil {
				change(k, &m)
			}
			markets = append(markets, m)
		}
		event := market.Event{ID: id, Title: "Winner of " + id, Exclusive: new(true), Description: "Yes if it wins.", UpdatedAt: at}
		err := h.db.InTx(h.t.Context(), func(ctx context.Context, tx bun.Tx) error {
			return market.Store{}.Observe(ctx, tx, markets, event)
		})
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

func TestEvent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.siblings("ev/1 ü", 20, func(k int, m *market.Market) {
			switch k {
			case 3:
				m.BestBid, m.BestAsk = new(0.0), new(1.0)
			case 4:
				m.Prices, m.Probability = nil, nil
			}
		})
		h.establish()
		h.publish("It is number one", "ev/1 ü-0001", 0.4)
		if err := leaderboard.NewConsensusCounter(db, func() time.Time { return h.now }).CountAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := h.get("/events/ev%2F1%20%C3%BC")
		if r.status != 200 || r.text("h1") != "Winner of ev/1 ü" {
			t.Fatalf("%d %q", r.status, r.text("h1"))
		}
		for selector, want := range map[string]int{
			"#live-outcomes tbody tr": 20, "#live-chart svg.chart path.line": 5, ".legend li": 5, "ul.tags a": 2,
			".prediction-table tbody tr": 1, "a[rel=next]": 0,
		} {
			if n := r.doc.Find(selector).Length(); n != want {
				t.Errorf("%d %s, want %d", n, selector, want)
			}
		}
		row := func(k int) string {
			return strings.Join(strings.Fields(r.doc.Find("#live-outcomes tbody tr").Eq(k).Text()), " ")
		}
		for k, parts := range map[int][]string{1: {"Candidate 1", "25 %", "agents 40 %", "bid 22.5 %, ask 27.5 %", "$500k"}, 3: {"no bids, no asks"}, 4: {"no price"}} {
			for _, part := range parts {
				if !strings.Contains(strings.ReplaceAll(row(k), "\u00a0", " "), part) {
					t.Errorf("row %d has no %q: %s", k, part, row(k))
				}
			}
		}
		// The sum of 0.5/k without the fifth market. The overround is the part above 1.
		if figures := strings.ReplaceAll(r.text("#live-figures"), "\u00a0", " "); !strings.Contains(figures, "169.89 %") || !strings.Contains(figures, "overround +69.9 percentage points") {
			t.Errorf("figures %s", figures)
		}
		if title := r.text("#history-chart"); !strings.Contains(title, "Candidate 0 from 50") {
			t.Errorf("the chart's title is %q", title)
		}
		if shown := r.text(".prediction-table tbody th a"); shown != "Candidate 1" {
			t.Errorf("predicted: %q", shown)
		}
		// A market links to its event, its siblings and its tags, and these link back.
		m := h.get("/markets/ev%2F1%20%C3%BC-0001")
		if m.doc.Find(`.byline a[href="/events/ev%2F1%20%C3%BC"]`).Length() != 1 || m.doc.Find(".siblings .outcome-line").Length() != 4 ||
			!strings.Contains(m.text(".siblings"), "All 20") || m.doc.Find(`a[href="/markets?tag=odd+%26+rare"]`).Length() != 1 {
			t.Errorf("the market's page: %s %s", m.text(".byline"), m.text(".siblings"))
		}
	})
}

// TestAThousandSiblings checks that a page holds fifty outcomes and refreshes these, that the pages
// hold each outcome once, and that a page runs as few queries as the page of a small event.
func TestAThousandSiblings(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		var queries atomic.Int64
		hook := hookFunc(func() { queries.Add(1) })
		db.Watch(hook)
		h := open(t, db)
		h.siblings("few", 12, nil)
		h.siblings("many", 1000, nil)
		cost := func(path string) int64 {
			before := queries.Load()
			if r := h.get(path); r.status != 200 {
				t.Fatalf("%s: %d", path, r.status)
			}
			return queries.Load() - before
		}
		if few, many := cost("/events/few"), cost("/events/many"); many > few || few > 15 {
			t.Errorf("%d queries for a thousand siblings, %d for twelve", many, few)
		}
		if with, without := cost("/markets?q=winner"), cost("/markets?q=rain"); with > without+3 || with > 12 {
			t.Errorf("%d queries for a list of events, %d for one of markets", with, without)
		}
		seen := map[string]bool{}
		path, pages := "/events/many", 0
		for ; path != ""; pages++ {
			r := h.get(path)
			rows := r.doc.Find("#live-outcomes tbody th a")
			if rows.Length() != 50 || pages > 20 {
				t.Fatalf("page %d has %d outcomes", pages, rows.Length())
			}
			rows.Each(func(_ int, s *goquery.Selection) { seen[s.AttrOr("href", "")] = true })
			if live := r.doc.Find("[data-hx-trigger=live]").AttrOr("data-hx-get", ""); live != path {
				t.Errorf("%s is refreshed from %q", path, live)
			}
			path = r.doc.Find("a[rel=next]").AttrOr("href", "")
		}
		if pages != 20 || len(seen) != 1000 {
			t.Errorf("%d outcomes on %d pages", len(seen), pages)
		}
		if r := h.get("/events/many?cursor=x"); r.status != 400 {
			t.Errorf("an invalid cursor: %d", r.status)
		}
		// A list of closed markets says how many it covers only if there may be more.
		for _, c := range []struct {
			like string
			want bool
		}{{"few-%", false}, {"%", true}} {
			if _, err := db.NewUpdate().Table("markets").Set("closed = TRUE").Where("id LIKE ?", c.like).Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.now = h.now.Add(time.Minute)
			if got := h.get("/markets?state=closed").text("main"); strings.Contains(got, "the 1,000 markets that closed last") != c.want {
				t.Errorf("closed markets like %s: %s", c.like, got)
			}
		}
	})
}

type hookFunc func()

func (f hookFunc) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	f()
	return ctx
}
func (hookFunc) AfterQuery(context.Context, *bun.QueryEvent) {}

// TestMarketsByEvent checks that an event is one row with its likeliest outcomes, that a market
// without an event is one row, and that the other view lists every market.
func TestMarketsByEvent(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.siblings("cup", 20, nil)
		h.siblings("lone", 1, nil)
		titles := func(r reply) (out []string) {
			r.doc.Find(".group-title, .market-table tbody th a").Each(func(_ int, s *goquery.Selection) { out = append(out, strings.TrimSpace(s.Text())) })
			return out
		}
		r := h.get("/markets")
		if got := titles(r); len(got) != 4 || !slices.Contains(got, "Winner of cup") || !slices.Contains(got, "Winner of lone — Candidate 0") {
			t.Errorf("by event: %q", got)
		}
		cup := r.doc.Find(".group").FilterFunction(func(_ int, s *goquery.Selection) bool { return strings.Contains(s.Text(), "Winner of cup") })
		if cup.Find(".outcome-line").Length() != 3 || !strings.Contains(cup.Text(), "+17 more") || cup.Find("h2 a").AttrOr("href", "") != "/events/cup" {
			t.Errorf("the event's row: %s", cup.Text())
		}
		if got := titles(h.get("/markets?view=markets")); len(got) != 23 {
			t.Errorf("all markets: %d", len(got))
		}
		if got := titles(h.get("/markets?tag=elections")); len(got) != 2 {
			t.Errorf("by tag: %q", got)
		}
	})
}

// TestAwaitingResult checks that every page says so if a market is open past its scheduled close.
func TestAwaitingResult(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.siblings("overdue", 3, func(_ int, m *market.Market) { m.ClosesAt = start.Add(-48 * time.Hour) })
	h.publish("Who knows", "1", 0.7)
	for path, selector := range map[string]string{
		"/markets": ".groups", "/markets?view=markets": ".market-table", "/markets/overdue-0001": ".byline", "/events/overdue": ".byline",
	} {
		if got := h.get(path).text(selector); !strings.Contains(got, "awaiting result") {
			t.Errorf("%s says %q", path, got)
		}
	}
}
