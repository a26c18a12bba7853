package settlement

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// quoted is one observation of a market at some time after start. A negative bid means no book. A
// liquidity of 0 is unknown.
type quoted struct {
	after         time.Duration
	price         float64
	bid, ask      float64
	liquidity     float64
	otherOutcomes int // beyond two
}

func (q quoted) observation(marketID string) market.Price {
	row := market.Price{MarketID: marketID, ObservedAt: start.Add(q.after), Prices: []float64{q.price, 1 - q.price}}
	for range q.otherOutcomes {
		row.Prices = append(row.Prices, 0)
	}
	if q.bid >= 0 {
		row.BestBid, row.BestAsk = &q.bid, &q.ask
	}
	if q.liquidity > 0 {
		row.Liquidity = &q.liquidity
	}
	return row
}

// said is a confidence in an outcome.
type said struct {
	outcome int
	p       float64
}

// TestBaselineFollowsTheBook checks the specification's worked examples about views with stored
// prices. The prediction is published 61 minutes after start.
func TestBaselineFollowsTheBook(t *testing.T) {
	t.Parallel()
	type book struct{ bid, ask float64 }
	const published = 61 * time.Minute
	mid := func(b book) float64 { return (b.bid + b.ask) / 2 }
	prices := func(before, after float64) []quoted {
		return []quoted{{60 * time.Minute, before, -1, -1, 0, 0}, {64 * time.Minute, after, -1, -1, 0, 0}}
	}
	books := func(before, after book) []quoted {
		return []quoted{{60 * time.Minute, mid(before), before.bid, before.ask, 0, 0}, {64 * time.Minute, mid(after), after.bid, after.ask, 0, 0}}
	}
	// held quotes the first book until the given minutes before publication, and the second book
	// from then on.
	held := func(first, second book, minutes time.Duration) []quoted {
		from := published - minutes*time.Minute
		return []quoted{{0, mid(first), first.bid, first.ask, 0, 0}, {from, mid(second), second.bid, second.ask, 0, 0},
			{60 * time.Minute, mid(second), second.bid, second.ask, 0, 0}, {64 * time.Minute, mid(second), second.bid, second.ask, 0, 0}}
	}
	liquid := func(before, after float64) []quoted {
		return []quoted{{60 * time.Minute, .6, .58, .62, before, 0}, {64 * time.Minute, .65, .63, .67, after, 0}}
	}
	tight, wide := book{.49, .51}, book{.05, .95}
	three := []quoted{{60 * time.Minute, .6, -1, -1, 0, 1}, {64 * time.Minute, .6, -1, -1, 0, 1}}
	for name, c := range map[string]struct {
		quotes  []quoted
		outcome int
		before  []said // earlier predictions of the agent
		p       float64
		want    string // the state and the baseline
	}{
		"prices, above":               {prices(.6, .65), 0, nil, .7, "fixed 0.65"},
		"prices, between":             {prices(.6, .65), 0, nil, .62, "fixed 0.62"},
		"prices, below":               {prices(.6, .65), 0, nil, .5, "fixed 0.6"},
		"books, above":                {books(book{.58, .62}, book{.63, .67}), 0, nil, .7, "fixed 0.67"},
		"books, between":              {books(book{.58, .62}, book{.63, .67}), 0, nil, .64, "fixed 0.64"},
		"books, below":                {books(book{.58, .62}, book{.63, .67}), 0, nil, .5, "fixed 0.58"},
		"second outcome":              {books(book{.58, .62}, book{.58, .62}), 1, nil, .5, "fixed 0.42"},
		"second outcome, below":       {books(book{.58, .62}, book{.58, .62}), 1, nil, .3, "fixed 0.38"},
		"empty book, high":            {books(book{0, 1}, book{0, 1}), 0, nil, .99, "fixed 0.99"},
		"empty book, low":             {books(book{0, 1}, book{0, 1}), 0, nil, .01, "fixed 0.01"},
		"empty book, second":          {books(book{0, 1}, book{0, 1}), 1, nil, .9, "fixed 0.9"},
		"empty book before only":      {books(book{0, 1}, book{.58, .62}), 0, nil, .99, "fixed 0.99"},
		"previous, the same":          {prices(.6, .6), 0, []said{{0, .7}}, .7, "fixed 0.7"},
		"previous, further":           {prices(.6, .6), 0, []said{{0, .7}}, .8, "fixed 0.7"},
		"previous, moved back":        {prices(.6, .6), 0, []said{{0, .7}}, .65, "fixed 0.65"},
		"previous, beyond the market": {prices(.6, .6), 0, []said{{0, .7}}, .5, "fixed 0.6"},
		"the last previous counts":    {prices(.6, .6), 0, []said{{0, .9}, {0, .7}}, .8, "fixed 0.7"},
		"previous, the other outcome": {prices(.6, .6), 1, []said{{0, .7}}, .3, "fixed 0.3"},
		"the other outcome, further":  {prices(.6, .6), 1, []said{{0, .7}}, .2, "fixed 0.3"},
		"the last of either outcome":  {prices(.6, .6), 0, []said{{0, .9}, {1, .3}}, .8, "fixed 0.7"},
		"one of three, another":       {three, 1, []said{{0, .7}}, .3, "fixed 0.4"},
		"one of three, the same":      {three, 0, []said{{0, .7}, {1, .1}}, .8, "fixed 0.7"},
		"more than two outcomes":      {[]quoted{{60 * time.Minute, .6, .5, .7, 0, 1}, {64 * time.Minute, .6, .5, .7, 0, 1}}, 0, nil, .9, "fixed 0.6"},

		"a tight book for 29 minutes":         {held(wide, tight, 29), 0, nil, .9, "fixed 0.9"},
		"a tight book for 31 minutes":         {held(wide, tight, 31), 0, nil, .9, "fixed 0.51"},
		"a tight book for 29 minutes, second": {held(wide, tight, 29), 1, nil, .1, "fixed 0.1"},
		"a wide book for 29 minutes":          {held(tight, wide, 29), 0, nil, .9, "fixed 0.9"}, // the book is wide at publication

		"liquid":                        {liquid(1000, 1000), 0, nil, .7, "fixed 0.67"},
		"illiquid before":               {liquid(999, 1000), 0, nil, .7, "illiquid -"},
		"illiquid after":                {liquid(1000, 999), 0, nil, .7, "illiquid -"},
		"unknown liquidity":             {liquid(0, 0), 0, nil, .7, "fixed 0.67"},
		"unknown before, too low after": {liquid(0, 1), 0, nil, .7, "illiquid -"},
		"liquid, no view before":        {liquid(1000, 1000)[1:], 0, nil, .7, "fixed 0.67"},
		"illiquid, no view before":      {liquid(1000, 999)[1:], 0, nil, .7, "illiquid -"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				outcomes := []string{"Yes", "No", "Neither"}
				m := w.market("7", "", "", time.Time{}, outcomes[:2+c.quotes[0].otherOutcomes]...)
				for _, q := range c.quotes {
					row := q.observation("7")
					_, err := db.NewInsert().Model(&row).Exec(t.Context())
					w.must(err)
				}
				for i, b := range c.before {
					w.clock = start.Add(time.Duration(i+1) * time.Second)
					w.publish(w.agent(1), m, b.outcome, b.p)
				}
				w.clock = start.Add(published)
				id := w.publish(w.agent(1), m, c.outcome, c.p)
				w.clock = start.Add(2 * time.Hour)
				w.must(w.service(0).FixBaselines(t.Context()))
				p := w.prediction(id)
				if got := fmt.Sprint(p.BaselineState, " ", show(p.Baseline)); got != c.want {
					t.Fatalf("got %s, want %s", got, c.want)
				}
				if fixed := p.BaselineState == prediction.Fixed; fixed != (p.Stake != nil && p.Spread != nil && p.WeightIndex != nil) {
					t.Errorf("state %s with stake %v, spread %v, index %v", p.BaselineState, p.Stake, p.Spread, p.WeightIndex)
				}
				if p.Baseline == nil {
					return
				}
				if q, ok := p.Bounds().Clamp(p.Confidence); !ok || q != *p.Baseline {
					t.Errorf("the stored bounds give baseline %v", q)
				}
				if *p.Baseline == p.Confidence && (*p.Stake != 0 || *p.Spread != 0) {
					t.Errorf("stake %v, spread %v without a disagreement", *p.Stake, *p.Spread)
				}
			})
		})
	}
}

// TestBaselineKeepsTheBook checks that a baseline is stored with the market's view and the
// prediction's stake and spread.
func TestBaselineKeepsTheBook(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		m := w.market("7", "", "", time.Time{})
		for _, q := range []quoted{{0, .55, .5, .6, 0, 0}, {60 * time.Minute, .6, .58, .62, 0, 0}, {64 * time.Minute, .65, -1, -1, 0, 0}} {
			row := q.observation("7")
			_, err := db.NewInsert().Model(&row).Exec(t.Context())
			w.must(err)
		}
		w.clock = start.Add(61 * time.Minute)
		id := w.publish(w.agent(1), m, 0, .75)
		w.clock = start.Add(65 * time.Minute)
		w.must(w.service(0).FixBaselines(t.Context()))
		p := w.prediction(id)
		got := fmt.Sprintln(show(p.BaselineBefore), show(p.BeforeBid), show(p.BeforeAsk), show(p.BaselineAfter), show(p.AfterBid), show(p.AfterAsk),
			show(p.MedianBid), show(p.MedianAsk), show(p.Baseline), *p.Stake, *p.Spread)
		if want := fmt.Sprintln(.6, .58, .62, .65, "-", "-", .5, .6, .65, 10_000, 91_652); got != want { // 100·.1², 200·.1·√(.7·.3)
			t.Errorf("got %swant %s", got, want)
		}
	})
}

// TestSweepingEmptyBooksEarnsNothing checks that predictions on markets with empty books earn
// exactly 0, whatever happens. A market without an opinion can't be beaten.
func TestSweepingEmptyBooksEarnsNothing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		sweeper, none, one := w.agent(1), 0.0, 1.0
		var ms []*market.Market
		for i := range 10 {
			m := w.market(fmt.Sprint(i), "", "", start.Add(24*time.Hour))
			m.Prices, m.BestBid, m.BestAsk = []float64{.5, .5}, &none, &one
			ms = append(ms, m)
		}
		w.tick(s, ms...)
		var ids []uuid.UUID
		for i, m := range ms {
			ids = append(ids, w.publish(sweeper, m, i%2, []float64{.01, .99, .8}[i%3]))
		}
		w.clock = w.clock.Add(3 * time.Minute)
		w.tick(s, ms...)
		w.clock = w.clock.Add(time.Hour)
		for i, m := range ms {
			closeWith(m, w.clock, float64(i/5), float64(1-i/5))
		}
		w.tick(s, ms...)
		for _, id := range ids {
			if p := w.prediction(id); p.Status != prediction.Resolved || p.Edge == nil || *p.Edge != 0 {
				t.Errorf("prediction %s is %s with edge %v, want resolved with 0", id, p.Status, p.Edge)
			}
		}
		var sum int64
		w.must(db.NewRaw("SELECT sum(cluster_sum) FROM agent_days WHERE agent_id IN (?, ?)", sweeper, FiftyAgent).Scan(t.Context(), &sum))
		if sum != 0 {
			t.Errorf("the sweeper and Always 50 %% earned %d, want 0", sum)
		}
		w.rebuilt()
	})
}
