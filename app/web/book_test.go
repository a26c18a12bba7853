package web_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// fixed publishes a prediction of 81 % for Yes and sets its baseline directly.
func (h *house) fixed(t *testing.T, p prediction.Prediction) string {
	t.Helper()
	p.ID = h.publish("Will it rain in Oslo?", "1", 0.81).ID
	index := 0
	p.BaselineState, p.WeightIndex, p.BaselineObservedAt = prediction.Fixed, &index, start
	if p.Baseline == nil {
		p.BaselineState, p.WeightIndex = prediction.Illiquid, nil
	}
	_, err := h.db.NewUpdate().Model(&p).ModelTableExpr("results").
		Column("baseline_state", "baseline", "baseline_before", "baseline_after", "baseline_previous", "baseline_observed_at", "weight_index",
			"before_bid", "before_ask", "after_bid", "after_ask", "median_bid", "median_ask").
		Where("id = ?", p.ID).Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return "/predictions/" + p.ID.String()
}

// TestPredictionShowsTheMarketAsItWas checks that a prediction shows the market as it was at
// publication, and the baseline beside it.
func TestPredictionShowsTheMarketAsItWas(t *testing.T) {
	t.Parallel()
	is := func(p float64) *float64 { return &p }
	before, after := is(.969), is(.968)
	for name, c := range map[string]struct {
		p           prediction.Prediction
		stats, head []string // texts expected in the figures and in the description
		steps       []string
		not         string
	}{
		"its own previous": {prediction.Prediction{Baseline: is(.81), BaselineBefore: before, BaselineAfter: after, BaselinePrevious: is(.7)},
			[]string{"Market before", "96.9 %", "Market after", "96.8 %", "Baseline", "81 %", "between the market and the agent's earlier confidence"},
			[]string{"the market said 97 %", "baseline 81 %"},
			[]string{"q = 0.81", "the price before (0.969), the price after (0.968) and the agent's earlier confidence (0.70)"}, "Market then"},
		"the ask after": {prediction.Prediction{Baseline: is(.67), BaselineBefore: is(.6), BeforeBid: is(.58), BeforeAsk: is(.62),
			BaselineAfter: is(.65), AfterBid: is(.63), AfterAsk: is(.67), MedianBid: is(.59), MedianAsk: is(.61)},
			[]string{"Market before", "60 %", "bid 58 %, ask 62 %", "Market after", "65 %", "bid 63 %, ask 67 %", "Baseline", "67 %", "the ask after publication"},
			[]string{"the market said 60 %", "baseline 67 %"},
			[]string{"q = 0.67", "the book before (bid 0.58, ask 0.62), the book after (bid 0.63, ask 0.67) and the median book of the hour before (bid 0.59, ask 0.61)"}, ""},
		"inside the book": {prediction.Prediction{Baseline: is(.81), BaselineBefore: is(.5), BeforeBid: is(0), BeforeAsk: is(1),
			BaselineAfter: is(.5), AfterBid: is(0), AfterAsk: is(1), MedianBid: is(0), MedianAsk: is(1)},
			[]string{"50 %", "no bids, no asks", "Baseline", "81 %", "inside the market's book"},
			nil, []string{"q = 0.81"}, ""},
		"the hour before": {prediction.Prediction{Baseline: is(.7), BaselineBefore: is(.6), BeforeBid: is(.59), BeforeAsk: is(.61),
			BaselineAfter: is(.6), AfterBid: is(.59), AfterAsk: is(.61), MedianBid: is(.3), MedianAsk: is(.7)},
			[]string{"Baseline", "70 %", "the median ask of the hour before"}, nil, nil, ""},
		"the same price twice": {prediction.Prediction{Baseline: is(.6), BaselineBefore: is(.6), BaselineAfter: is(.6), MedianBid: is(.6), MedianAsk: is(.6)},
			[]string{"Market then", "60 %", "the baseline"}, []string{"the market said 60 %."}, []string{"q = 0.60"}, "Baseline"},
		"no price before": {prediction.Prediction{Baseline: is(.6), BaselineAfter: is(.6)},
			[]string{"Market then", "60 %"}, []string{"the market said 60 %."}, []string{"q = 0.60 the price after (0.60)"}, "Market before"},
		"too little liquidity": {prediction.Prediction{}, nil, nil, []string{"too little liquidity", "isn't ranked"}, "Baseline"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, dbtest.Open(t, database.SQLite))
			r := h.get(h.fixed(t, c.p))
			plain := func(s string) string { return strings.ReplaceAll(s, "\u00a0", " ") }
			stats, steps := plain(r.text(".stat-row")), plain(r.text(".steps"))
			head := plain(r.doc.Find("meta[name=description]").AttrOr("content", ""))
			for where, part := range map[string]struct {
				got  string
				want []string
			}{"figures": {stats, c.stats}, "description": {head, c.head}, "arithmetic": {steps, c.steps}} {
				for _, want := range part.want {
					if !strings.Contains(part.got, want) {
						t.Errorf("%s lack %q: %s", where, want, part.got)
					}
				}
			}
			if c.not != "" && strings.Contains(stats, c.not) {
				t.Errorf("figures show %q: %s", c.not, stats)
			}
		})
	}
}

// TestListsShowTheMarketAsItWas checks that lists, the share card and the feed show the price that
// the market had at publication.
func TestListsShowTheMarketAsItWas(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	q, before, after, previous := .81, .969, .968, .7
	h.fixed(t, prediction.Prediction{Baseline: &q, BaselineBefore: &before, BaselineAfter: &after, BaselinePrevious: &previous})
	h.establish()
	if got := h.get("/markets/1").text(".against"); !strings.Contains(got, "market 97") {
		t.Errorf("cards: %s", got)
	}
	if got := h.get("/predictions").text("main"); !strings.Contains(got, "97") {
		t.Errorf("list: %s", got)
	}
	if got := h.get("/predictions.atom").body; !strings.Contains(got, "the market said 97") || !strings.Contains(got, "baseline 81") {
		t.Errorf("feed: %s", got)
	}
}

func TestMarketShowsItsBook(t *testing.T) {
	t.Parallel()
	h := open(t, dbtest.Open(t, database.SQLite))
	_, err := h.db.NewUpdate().Table("markets").Set("best_bid = 0.58, best_ask = 0.62").Where("id = '1'").Exec(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.NewUpdate().Table("market_prices").Set("best_bid = 0, best_ask = 0.62").Where("market_id = '1'").Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := market.Price{MarketID: "1", ObservedAt: start.Add(-time.Minute), Prices: []float64{.4, .6}}
	if err := (market.Store{}).AddPrices(t.Context(), h.db, []market.Price{second}); err != nil {
		t.Fatal(err)
	}
	r := h.get("/markets/1")
	plain := func(selector string) string { return strings.ReplaceAll(r.text(selector), "\u00a0", " ") }
	if got := plain("#live-outcomes"); !strings.Contains(got, "bid 58 %, ask 62 %") || !strings.Contains(got, "bid 38 %, ask 42 %") {
		t.Errorf("outcomes: %s", got)
	}
	if got := plain(".numbers tbody"); !strings.Contains(got, "no bids, ask 62 %") {
		t.Errorf("prices: %s", got)
	}
	if got := plain("#live-figures"); !strings.Contains(got, "bid 58 %, ask 62 %") {
		t.Errorf("figures: %s", got)
	}
	if got := h.get("/markets/2").text("main"); strings.Contains(got, "bid ") {
		t.Errorf("a market without a book: %s", got)
	}
}
