package settlement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
)

// show formats a number that may be missing.
func show(p *float64) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

func TestBaseline(t *testing.T) {
	t.Parallel()
	type at = time.Duration
	for name, c := range map[string]struct {
		prices  map[at]float64 // of Yes, by time after start
		publish at
		p       float64
		close   at // zero: the market stays open
		want    string
	}{
		"between two prices":         {map[at]float64{0: .6, 3 * time.Minute: .65}, time.Minute, .7, 0, "fixed 0.65: 0.6 0.65"},
		"inside the two prices":      {map[at]float64{0: .6, 3 * time.Minute: .65}, time.Minute, .62, 0, "fixed 0.62: 0.6 0.65"},
		"price at publication is q0": {map[at]float64{time.Minute: .6, 3 * time.Minute: .65}, time.Minute, .5, 0, "fixed 0.6: 0.6 0.65"},
		"q0 as old as three ticks":   {map[at]float64{0: .6, 5 * time.Minute: .65}, 3 * time.Minute, .5, 0, "fixed 0.6: 0.6 0.65"},
		"q0 too old":                 {map[at]float64{0: .6, 6 * time.Minute: .65}, 3*time.Minute + time.Second, .5, 0, "fixed 0.65: - 0.65"},
		"first that counts is used":  {map[at]float64{2 * time.Minute: .5, 3 * time.Minute: .65, 4 * time.Minute: .9}, time.Minute, .7, 0, "fixed 0.65: - 0.65"},
		"q1 at fifteen minutes":      {map[at]float64{0: .6, 16 * time.Minute: .65}, time.Minute, .7, 0, "fixed 0.65: 0.6 0.65"},
		"q1 too late":                {map[at]float64{0: .6, 16*time.Minute + time.Second: .65}, time.Minute, .7, 0, "missed -: - -"},
		"closed first":               {map[at]float64{0: .6}, time.Minute, .7, 90 * time.Second, "missed -: - -"},
		"a price after the close":    {map[at]float64{0: .6, 3 * time.Minute: .99}, time.Minute, .7, 90 * time.Second, "missed -: - -"},
		"a price before the close":   {map[at]float64{0: .6, 3 * time.Minute: .7}, time.Minute, .9, 4 * time.Minute, "fixed 0.7: 0.6 0.7"},
		"no price yet":               {map[at]float64{0: .6}, 10 * time.Minute, .7, 0, "pending -: - -"},
		"unknown prices don't count": {map[at]float64{0: 0, 3 * time.Minute: 0, 4 * time.Minute: .65}, time.Minute, .7, 0, "fixed 0.65: - 0.65"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				m := w.market("7", "", "", time.Time{})
				for after, price := range c.prices {
					row := market.Price{MarketID: "7", ObservedAt: start.Add(after), Prices: []float64{price, max(0, price-.1)}}
					w.must(market.Store{}.AddPrices(t.Context(), db, []market.Price{row}))
				}
				w.clock = start.Add(c.publish)
				id := w.publish(w.agent(1), m, 0, c.p)
				w.clock = start.Add(20 * time.Minute)
				if c.want[:1] == "p" {
					w.clock = start.Add(c.publish + score.AfterWithin)
				}
				if c.close > 0 {
					closeWith(m, start.Add(c.close), 1, 0)
				}
				w.observe(m)
				w.must(w.service(0).FixBaselines(t.Context(), "7"))
				w.must(w.service(0).FixBaselines(t.Context()))
				p := w.prediction(id)
				got := fmt.Sprintf("%s %s: %s %s", p.BaselineState, show(p.Baseline), show(p.BaselineBefore), show(p.BaselineAfter))
				if got != c.want {
					t.Errorf("got %s, want %s", got, c.want)
				}
				if fixed := p.BaselineState == prediction.Fixed; fixed != (p.WeightIndex != nil) {
					t.Errorf("weight index %v in state %s", p.WeightIndex, p.BaselineState)
				}
			})
		})
	}
}

// TestWeightsFollowPublication checks that an agent's weights follow the order of publication over
// all markets of an event, even if a later prediction could be decided first.
func TestWeightsFollowPublication(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(2)
		a, b := w.market("1", "e", "x", start), w.market("2", "e", "y", start)
		a.Prices, b.Prices = []float64{.5, .5}, []float64{.4, .6}
		agent := w.agent(1)
		w.clock = start.Add(time.Second)
		first := w.publish(agent, a, 0, .7)
		second := w.publish(agent, b, 0, .7)
		other := w.publish(w.agent(2), b, 0, .9)
		w.clock = start.Add(3 * time.Minute)
		w.tick(s, b) // a is not in this reading
		if p := w.prediction(second); p.BaselineState != prediction.Pending {
			t.Errorf("the second prediction is %s before the first is decided, want pending", p.BaselineState)
		}
		if p := w.prediction(other); p.BaselineState != prediction.Fixed || *p.WeightIndex != 0 {
			t.Errorf("another agent's prediction is %s, want fixed with index 0", p.BaselineState)
		}
		w.clock = start.Add(4 * time.Minute)
		third := w.publish(agent, a, 0, .8)
		w.clock = start.Add(7 * time.Minute)
		w.tick(s, a, b)
		for i, id := range []uuid.UUID{first, second, third} {
			if p := w.prediction(id); p.WeightIndex == nil || *p.WeightIndex != i {
				t.Errorf("prediction %d has weight index %v, want its position", i, p.WeightIndex)
			}
		}
		if p := w.prediction(third); show(p.BaselinePrevious) != "0.7" || *p.Baseline != .7 {
			t.Errorf("the third prediction has baseline %s and previous %s, want 0.7 and 0.7", show(p.Baseline), show(p.BaselinePrevious))
		}
		var category string
		w.must(db.NewRaw("SELECT category FROM clusters WHERE agent_id = ?", agent).Scan(t.Context(), &category))
		if category != "x" {
			t.Errorf("the cluster has category %s, want x, as the first prediction's market", category)
		}
	})
}

// ending is a context that ends at a moment, which may have passed.
type ending struct {
	context.Context
	at time.Time
}

func (e ending) Deadline() (time.Time, bool) { return e.at, true }

// TestBaselinesLeaveTime checks that markets are settled although there is no time for all baselines, and that the
// baselines left over are fixed later, the oldest first.
func TestBaselinesLeaveTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(2)
		done, busy := w.market("1", "", "x", start), w.market("2", "", "x", start)
		w.trade(s, done, w.agent(1), .6, .7)
		closeWith(done, w.clock, 1, 0)
		var ids []uuid.UUID
		for n := range 5 {
			w.clock = w.clock.Add(time.Second)
			ids = append(ids, w.publish(w.agent(9-n), busy, 0, .5))
		}
		w.clock = w.clock.Add(time.Hour)
		fixed := func() (n int) {
			for _, id := range ids {
				if w.prediction(id).BaselineState != prediction.Missed {
					break
				}
				n++
			}
			return n
		}
		w.must(s.AfterMarkets(ending{context.Background(), time.Now().Add(-time.Second)}, w.observe(done)))
		if got, settled := fixed(), w.settled(); got != 2 || settled != 1 {
			t.Errorf("without time for more: %d baselines fixed and %d predictions settled, want one chunk of 2, and 1", got, settled)
		}
		w.must(s.AfterMarkets(ending{context.Background(), time.Now().Add(24 * time.Hour)}, nil))
		if got := fixed(); got != 5 {
			t.Errorf("%d baselines fixed, want 5", got)
		}
		w.rebuilt()
	})
}

// pricesAsked calls each with the number of the query, after each query on prices.
func pricesAsked(each func(n int)) dbtest.OnQuery {
	n := 0
	return func(query string) {
		if strings.Contains(query, "market_prices") {
			n++
			each(n)
		}
	}
}

// TestPricesAreReadBeforeTransactions checks that a run reads its prices once for all chunks, and not while it holds
// agents.
func TestPricesAreReadBeforeTransactions(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		m := w.market("1", "", "x", start)
		m.Prices = []float64{.5, .5}
		w.observe(m)
		var ids []uuid.UUID
		for n := range 5 {
			w.clock = w.clock.Add(time.Second)
			ids = append(ids, w.publish(w.agent(n), m, 0, .7))
		}
		w.clock = w.clock.Add(3 * time.Minute)
		w.observe(m)
		var held, free int
		watched := *db
		watched.DB, watched.Reader = db.DB.WithQueryHook(pricesAsked(func(n int) { held = n })), db.Reader.WithQueryHook(pricesAsked(func(n int) { free = n }))
		s := New(Options{DB: &watched, Now: func() time.Time { return w.clock }})
		s.chunk = 2
		w.must(s.FixBaselines(t.Context()))
		if held != 0 || free != 1 {
			t.Errorf("%d reads of prices in transactions and %d before them, want 0 and 1", held, free)
		}
		for _, id := range ids {
			if p := w.prediction(id); p.BaselineState != prediction.Fixed {
				t.Errorf("a prediction is %s, want fixed", p.BaselineState)
			}
		}
	})
}

// TestPriceArrivesAfterTheRead checks that a prediction gets its baseline from a price that arrives after the prices were
// read, although its market closes or its time ends before the decision.
func TestPriceArrivesAfterTheRead(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(w *world, m *market.Market){
		"nothing more":      func(*world, *market.Market) {},
		"the market closes": func(w *world, m *market.Market) { closeWith(m, w.clock.Add(time.Second), 1, 0); w.observe(m) },
		"its time ends":     func(w *world, _ *market.Market) { w.clock = w.clock.Add(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				m := w.market("1", "", "x", start)
				m.Prices = []float64{.5, .5}
				w.observe(m)
				w.clock = w.clock.Add(time.Second)
				id := w.publish(w.agent(1), m, 0, .7)
				w.clock = w.clock.Add(3 * time.Minute)
				asked := 0
				hook := pricesAsked(func(n int) {
					if asked = n; n > 1 {
						return
					}
					m.Prices = []float64{.6, .4}
					w.observe(m)
					between(w, m)
				})
				watched := *db
				watched.Reader = db.Reader.WithQueryHook(hook)
				s := New(Options{DB: &watched, Now: func() time.Time { return w.clock }})
				w.must(s.FixBaselines(t.Context()))
				if p := w.prediction(id); p.BaselineState != prediction.Pending {
					t.Errorf("decided as %s without the price that arrived", p.BaselineState)
				}
				w.must(s.FixBaselines(t.Context()))
				if p := w.prediction(id); asked != 2 || show(p.Baseline) != "0.6" {
					t.Errorf("the baseline is %s, want 0.6; %d reads", show(p.Baseline), asked)
				}
			})
		})
	}
}

// TestPricesInMemoryAreBounded checks that a run reads prices for many predictions at a time, but not for too many.
func TestPricesInMemoryAreBounded(t *testing.T) {
	t.Parallel()
	s := &Service{interval: time.Minute}
	at := func(n int, apart time.Duration, markets int) (list []prediction.Awaiting) {
		for i := range n {
			list = append(list, prediction.Awaiting{MarketID: fmt.Sprint(i % markets), CreatedAt: start.Add(time.Duration(i) * apart)})
		}
		return list
	}
	for name, c := range map[string]struct {
		list  []prediction.Awaiting
		reads int
	}{
		"a minute on 500 markets":          {at(12_000, 5*time.Millisecond, 500), 1},
		"a minute on 12,000 markets":       {at(12_000, 5*time.Millisecond, 12_000), 10},
		"a week on one market":             {at(1_000, 10*time.Minute, 1), 1},
		"predictions many years apart":     {at(4, 10*365*24*time.Hour, 1), 4},
		"at the same time, on ten markets": {at(1_000, 0, 10), 1},
	} {
		left, reads := c.list, 0
		for ; len(left) > 0; reads++ {
			n, markets, from, to := s.priced(left)
			for _, p := range left[:n] {
				if !slices.Contains(markets, p.MarketID) || p.CreatedAt.Add(-s.PricesBefore()).Before(from) || p.CreatedAt.Add(score.AfterWithin).After(to) {
					t.Fatalf("%s: the prices of %v from %s to %s lack those of %+v", name, markets, from, to, p)
				}
			}
			left = left[n:]
		}
		if reads != c.reads {
			t.Errorf("%s: %d reads, want %d", name, reads, c.reads)
		}
	}
}

func TestConsensusAndFifty(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		s := w.service(0)
		w.experience(s, w.agent(1), w.agent(2), w.agent(3), w.agent(4), w.agent(5), w.agent(6))
		m := w.market("1", "", "x", start)
		m.Prices = []float64{.3, .7}
		w.tick(s, m)
		for i, p := range []float64{.2, .4, .6, .8} {
			w.publish(w.agent(i+1), m, 0, p)
		}
		for i := range 40 {
			w.publish(w.agent(100+i), m, 0, .99) // agents without settled events don't count
		}
		w.publish(w.agent(1), m, 0, .9) // this agent's second opinion replaces its first
		w.clock = w.clock.Add(2 * time.Minute)
		m.Prices = []float64{.35, .65}
		w.tick(s, m)
		if got := references(w, "1"); got != "fifty 0.5 against 0.3; " {
			t.Errorf("after four agents: got %s, want Always 50 %% alone", got)
		}
		w.publish(w.agent(5), m, 1, .9) // 90 % for No is 10 % for Yes
		w.clock = w.clock.Add(2 * time.Minute)
		m.Prices = []float64{.45, .55}
		w.tick(s, m)
		want := "fifty 0.5 against 0.3; consensus 0.6 against 0.45; " // .1 .4 .6 .8 .9
		if got := references(w, "1"); got != want {
			t.Errorf("after five agents: got %s, want %s", got, want)
		}
		w.publish(w.agent(6), m, 0, .01)
		w.clock = w.clock.Add(2 * time.Minute)
		w.tick(s, m)
		closeWith(m, w.clock, 1, 0)
		w.tick(s, m)
		w.tick(s, m)
		if got := references(w, "1"); got != want {
			t.Errorf("later: %s", got)
		}
		var sum []int64
		w.must(db.NewRaw("SELECT cluster_sum FROM agent_days WHERE agent_id IN (?, ?) AND category = '' ORDER BY agent_id", FiftyAgent, ConsensusAgent).Scan(t.Context(), &sum))
		// 100·(.7² − .5²) = 24 and 100·(.55² − .4²) = 14.25
		if len(sum) != 2 || sum[0] != 240_000 || sum[1] != 142_500 {
			t.Errorf("sums %v", sum)
		}
		w.rebuilt()
	})
}

// TestConsensusSurvivesAStop checks that the row of Consensus is stored by the next tick if the service stops after it
// has fixed the baselines, whichever chunk was the last.
func TestConsensusSurvivesAStop(t *testing.T) {
	t.Parallel()
	for _, chunks := range []int{1, 2, 3} {
		t.Run(fmt.Sprint("after chunk ", chunks), func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				w := newWorld(t, db)
				w.experience(w.service(0), w.agent(1), w.agent(2), w.agent(3), w.agent(4), w.agent(5))
				five, four := w.market("1", "", "x", start), w.market("2", "", "x", start)
				five.Prices, four.Prices = []float64{.3, .7}, []float64{.3, .7}
				w.tick(w.service(0), five, four)
				for i, p := range []float64{.2, .4, .6, .8, .9} {
					w.withhold(w.publish(w.agent(i+1), five, 0, p), prediction.RevealBaseline)
				}
				w.exec("DELETE FROM market_consensus WHERE market_id = '1'") // a market without a revealed prediction has no row
				for i := range 4 {
					w.publish(w.agent(i+1), four, 0, .5)
				}
				w.clock = w.clock.Add(2 * time.Minute)
				stop, s := errors.New("stopped"), w.service(4)
				left := chunks
				s.afterChunk = func() error {
					if left--; left > 0 {
						return nil
					}
					return stop
				}
				if err := s.AfterMarkets(t.Context(), w.observe(five, four)); !errors.Is(err, stop) {
					t.Fatal("not stopped:", err)
				}
				w.tick(w.service(4)) // nothing was read
				if got, want := references(w, "1"), "fifty 0.5 against 0.3; consensus 0.6 against 0.3; "; got != want {
					t.Errorf("after the next tick: got %s, want %s", got, want)
				}
				if got, want := references(w, "2"), "fifty 0.5 against 0.3; "; got != want {
					t.Errorf("with four agents: got %s, want %s", got, want)
				}
				if due, err := (prediction.Store{}).ConsensusDue(t.Context(), db); err != nil || len(due) > 0 {
					t.Errorf("markets %v are still due, error %v", due, err)
				}
				w.rebuilt()
			})
		})
	}
}

// TestFiftyFollowsFirstObservation checks that a market that an interrupted tick left without a row of Always 50 %
// keeps its place before a sibling that was first observed later, although the sibling is in an earlier chunk.
func TestFiftyFollowsFirstObservation(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		w := newWorld(t, db)
		early := w.market("900", "e", "x", start)
		early.Prices = []float64{.3, .7}
		w.observe(early) // the tick was interrupted
		w.clock = w.clock.Add(time.Minute)
		late := w.market("100", "e", "x", start)
		late.Prices = []float64{.4, .6}
		w.tick(w.service(1), early, late)
		var markets []string
		w.must(db.NewRaw("SELECT market_id FROM reference_predictions WHERE agent_id = ? ORDER BY weight_index", FiftyAgent).Scan(t.Context(), &markets))
		if !slices.Equal(markets, []string{"900", "100"}) {
			t.Errorf("weights in the order %v, want 900 before 100", markets)
		}
	})
}

func references(w *world, market string) string {
	var rows []ReferencePrediction
	w.must(w.db.NewSelect().Model(&rows).Where("r.market_id = ?", market).Order("r.agent_id").Scan(context.Background()))
	text := ""
	for _, r := range rows {
		name := map[bool]string{true: "fifty", false: "consensus"}[r.AgentID == FiftyAgent]
		text += fmt.Sprintf("%s %g against %g; ", name, r.Confidence, r.Baseline)
	}
	return text
}
