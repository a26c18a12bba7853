package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// TestMarketPage checks that the page shows each agent's probability beside the price and the
// chart's values in words, and that a shared link has both.
func TestMarketPage(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		h.publish("Will it rain in Oslo?", "1", 0.7)
		h.now = h.now.Add(time.Minute)
		h.publish("Will it rain in Oslo?", "1", 0.8)
		h.agent = h.join("bob")
		h.publish("Will it rain in Oslo?", "1", 0.1)
		change := -0.021
		_, err := db.NewUpdate().Table("markets").Set("price_change_24h = ?", change).Where("id = '1'").Exec(t.Context())
		if err == nil {
			err = market.Store{}.AddPrices(t.Context(), db, []market.Price{{MarketID: "1", ObservedAt: start.Add(-time.Hour), Prices: []float64{0.35, 0.65}}})
		}
		if err != nil {
			t.Fatal(err)
		}
		r := h.get("/markets/1")
		if got := strings.ReplaceAll(r.text(".stance-table tbody td.num"), "\u00a0", " "); got != "80 % by Ada "+hostile+"10 % by bob" {
			t.Errorf("agents say %q", got)
		}
		if n := r.doc.Find(".stance-table .stance .zero").Length(); n != 2 {
			t.Errorf("%d lines of the market", n)
		}
		if got := r.text("#live-figures .stat:first-child .stat-label:last-child"); got != "−2.1 percentage points in 24 hours" {
			t.Errorf("moved by %q", got)
		}
		if got := strings.ReplaceAll(r.text(".chart-reading"), "\u00a0", " "); got != "21 Nov 2026, 12:00 UTC: 40 %" {
			t.Errorf("the chart reads %q", got)
		}
		chart := r.doc.Find("#" + r.doc.Find(".chart-reading").AttrOr("data-chart", ""))
		if chart.AttrOr("data-from", "") == "" || chart.AttrOr("data-high", "") == "" || chart.Find(".dot-name").Length() == 0 {
			t.Error("the chart can't be read or names no agent")
		}
		words := strings.ReplaceAll(r.doc.Find(`meta[property="og:description"]`).AttrOr("content", ""), "\u00a0", " ")
		if words != "The market says 40 % for Yes (down 2 percentage points in 24 hours)." {
			t.Errorf("a shared link says %q", words)
		}
	})
}

// TestMarketIsOpen checks that a page calls a market open, and invites to publish on it, only while the source lists it
// and it is undecided.
func TestMarketIsOpen(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		says := func(when, badges string, invites bool) {
			t.Helper()
			h.now = h.now.Add(time.Minute) // past the age of a kept page
			r := h.get("/markets/2")
			var got []string
			r.doc.Find(".byline .badge").Each(func(_ int, s *goquery.Selection) { got = append(got, s.Text()) })
			if strings.Join(got, ", ") != badges || strings.Contains(r.text("main"), "Publish with") != invites {
				t.Errorf("%s: badges %q, invites to publish: %t", when, got, !invites)
			}
		}
		says("listed", "open", true)
		exec("UPDATE markets SET active = FALSE, missed_at = ? WHERE id = '2'", start)
		says("left out by its source", "not listed", false)
		exec("UPDATE markets SET active = TRUE WHERE id = '2'")
		_, err := settlement.New(settlement.Options{DB: db, Now: func() time.Time { return start.Add(48 * time.Hour) }}).
			Rule(t.Context(), settlement.KindMarketCorrected, "2", settlement.Ruling{Outcome: "Yes", Note: "seen", Actor: "ada"})
		if err != nil {
			t.Fatal(err)
		}
		says("decided", "settled: Yes", false)
		exec("UPDATE markets SET closes_at = ? WHERE id = '2'", start.Add(-time.Hour))
		says("decided after its scheduled close", "settled: Yes", false)
		exec("UPDATE markets SET active = FALSE, closed = TRUE WHERE id = '2'")
		says("closed", "closed, settled: Yes", false)
	})
}

// TestLongHistory checks that the chart of a market that was tracked for long begins with its first price, and doesn't
// spend most of its points on the last days.
func TestLongHistory(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		h := open(t, db)
		first := start.Add(-365 * 24 * time.Hour)
		var rows []market.Price
		for at := first; at.Before(start); {
			rows = append(rows, market.Price{MarketID: "1", ObservedAt: at, Prices: []float64{0.3, 0.7}})
			if at.Before(start.Add(-48 * time.Hour)) {
				at = at.Add(6 * time.Hour)
			} else {
				at = at.Add(time.Minute)
			}
		}
		if err := (market.Store{}).AddPrices(t.Context(), db, rows); err != nil {
			t.Fatal(err)
		}
		r := h.get("/markets/1")
		chart := r.doc.Find("#" + r.doc.Find(".chart-reading").AttrOr("data-chart", ""))
		if from, to := chart.AttrOr("data-from", ""), chart.AttrOr("data-to", ""); from != fmt.Sprint(first.Unix()) || to != fmt.Sprint(start.Unix()) {
			t.Errorf("the chart is from %s to %s, want from %d to %d", from, to, first.Unix(), start.Unix())
		}
		points := strings.FieldsFunc(chart.Find("path.line").AttrOr("d", ""), func(r rune) bool { return r == 'M' || r == 'L' })
		var half int
		for _, point := range points {
			var x, y float64
			if _, err := fmt.Sscan(point, &x, &y); err != nil {
				t.Fatalf("point %q: %v", point, err)
			}
			if x <= 500 {
				half++
			}
		}
		if len(points) < 300 || len(points) > 402 || half < len(points)*2/5 || half > len(points)*3/5 {
			t.Errorf("%d of %d points are in the first half of the time", half, len(points))
		}
		if got := r.text(".chart-reading"); !strings.Contains(got, "40") {
			t.Errorf("the chart reads %q, want the newest price", got)
		}
	})
}

// TestCompareOffersPairs checks that the page suggests comparisons before agents are chosen.
func TestCompareOffersPairs(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	h.board()
	h.rank(h.agent.ID, 1, 1, 25)
	h.rank(h.join("bob").ID, 2, 1, 1)
	for path, want := range map[string]string{
		"/compare": "/compare?a=ada&b=bob", "/compare?a=bob": "/compare?a=bob&b=ada", "/compare?a=ada&b=bob": "",
	} {
		if got := h.get(path).doc.Find("section[aria-labelledby=pairs] a").First().AttrOr("href", ""); got != want {
			t.Errorf("%s offers %q, want %q", path, got, want)
		}
	}
	// An agent without a rank has no number on the board.
	reasons := func(path string) string {
		return h.get(path).doc.Find("section[aria-labelledby=pairs] .who-note").First().Text()
	}
	if got := reasons("/compare") + ", " + reasons("/compare?a=ada"); got != "The first two of the board, No. 2 of the board" {
		t.Errorf("between ranked agents: %q", got)
	}
	unranked := h.db.NewUpdate().Model((*leaderboard.Row)(nil)).Set("rank = NULL, provisional = TRUE").Where("rank = 2")
	if _, err := unranked.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.now = h.now.Add(time.Minute)
	if got := reasons("/compare") + ", " + reasons("/compare?a=ada") + ", " + reasons("/compare?a=bob"); got != "The first two listed, Not ranked, No. 1 of the board" {
		t.Errorf("with an agent without a rank: %q", got)
	}
}
