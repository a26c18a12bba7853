package demo

import (
	"errors"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/source"
)

// TestSampleLivesOn checks the sample without a live source: prices move, snapshots are fresh, and a visitor's
// prediction gets its baseline within three minutes.
func TestSampleLivesOn(t *testing.T) {
	t.Parallel()
	eachSeeded(t, func(t *testing.T, n *node) {
		n.mustTick(time.Minute)
		before := n.markets.Replicator.Feed().Current()
		published := n.publish(before.Records[0].ID)
		for range 3 {
			n.mustTick(time.Minute)
		}
		shown := n.markets.Replicator.Feed().Current()
		if !shown.Sample || shown.Source != Source || !shown.AsOf.Equal(n.clock) || n.markets.Replicator.Feed().Stale() || len(shown.Records) != len(before.Records) {
			t.Errorf("got markets: sample %v, source %s, as of %s, %d records", shown.Sample, shown.Source, shown.AsOf, len(shown.Records))
		}
		was, moved := map[string][]float64{}, 0
		for _, m := range before.Records {
			was[m.ID] = m.Prices
		}
		for _, m := range shown.Records {
			checkPrices(t, m.ID, m.Prices)
			if !m.Sample || !m.ObservedAt.Equal(n.clock) || *m.Probability != m.Prices[m.Reference()] {
				t.Errorf("got market %+v", m)
			}
			switch by := math.Abs(m.Prices[0] - was[m.ID][0]); {
			case by > 0.05:
				t.Errorf("market %s moved from %v to %v in three minutes", m.ID, was[m.ID], m.Prices)
			case by > 0:
				moved++
			case m.Prices[0] <= leastPrice: // an outsider stays at the lowest price
				moved++
			}
		}
		if moved < len(shown.Records)*3/4 {
			t.Errorf("%d of %d prices moved, want more", moved, len(shown.Records))
		}
		posts := n.news.Replicator.Feed().Current()
		if !posts.Sample || posts.Source != Source || !posts.AsOf.Equal(n.clock) || n.news.Replicator.Feed().Stale() || len(posts.Records) < 60 {
			t.Errorf("got news: sample %v, source %s, as of %s, %d records", posts.Sample, posts.Source, posts.AsOf, len(posts.Records))
		}
		for _, feed := range []string{"markets", "news"} {
			if s := n.state(feed); s.Source != Source || s.LastError != "unreachable" || s.Failures != 0 || !s.SucceededAt.Equal(n.clock) {
				t.Errorf("state of %s: got %+v", feed, s)
			}
		}
		if p := n.prediction(published); p.BaselineState != prediction.Fixed || p.BaselineAfter == nil || !p.BaselineObservedAt.UTC().Equal(published.CreatedAt.Add(2*time.Minute)) {
			t.Errorf("the visitor's baseline: got %s, observed %s", p.BaselineState, p.BaselineObservedAt)
		}
	})
}

// TestSampleSettles runs through the sample's future. Markets must close on time with one outcome, and their
// predictions must settle, even after an interruption. In the end, no market and no prediction is open.
func TestSampleSettles(t *testing.T) {
	t.Parallel()
	eachSeeded(t, func(t *testing.T, n *node) {
		db := n.db
		after := n.markets.After
		due := "FROM prediction_records WHERE status = 'open' AND market_id IN (SELECT id FROM markets WHERE closed)"
		n.markets.After = nil // stop after the reading is stored
		n.mustTick(3 * day)
		if count(t, db, due) == 0 {
			t.Fatal("no market with open predictions closed within three days")
		}
		n.markets.After = after
		n.mustTick(time.Minute)
		if left := count(t, db, due); left != 0 {
			t.Errorf("%d predictions on closed markets are still open", left)
		}
		if n.state("markets").Count != count(t, db, "FROM markets WHERE NOT closed") {
			t.Error("a closed market is in the snapshot")
		}
		for what, want := range map[string]int{
			"FROM markets WHERE NOT closed AND closes_at <= ?": stillLate(n.clock),
			"FROM markets WHERE closed AND closes_at > ?":      0,
		} {
			if got := count(t, db, what, n.clock); got != want {
				t.Errorf("got %d rows: %s", got, what)
			}
		}
		if _, err := n.tick(100 * day); err != nil {
			t.Fatal(err)
		}
		for _, none := range []string{
			"FROM markets WHERE NOT closed",
			"FROM markets WHERE closed_at < closes_at OR closed_at IS NULL",
			"FROM prediction_records WHERE status = 'open' AND market_id IS NOT NULL",
			"FROM reference_predictions WHERE status = 'open'",
			"FROM market_outcomes WHERE NOT applied",
			"FROM (SELECT m.event_id FROM markets AS m JOIN market_events AS e ON e.id = m.event_id AND e.exclusive JOIN market_outcomes AS o ON o.market_id = m.id WHERE o.winner = 'Yes' AND m.event_id IS NOT NULL GROUP BY m.event_id HAVING count(*) > 1) AS torn",
		} {
			if got := count(t, db, none); got != 0 {
				t.Errorf("got %d rows, want none: %s", got, none)
			}
		}
		checkLedger(t, db)
	})
}

// stillLate counts the markets that are open after their scheduled close at the given time.
func stillLate(at time.Time) (n int) {
	for _, q := range openLate {
		if closes := firstLook.Add(time.Duration(q.closes * float64(day))); closes.After(at) {
			n++
		}
	}
	return n
}

// TestLadder checks that the probabilities of rungs and of the intervals between them convert into each other.
func TestLadder(t *testing.T) {
	t.Parallel()
	for i := range openLadders {
		l := &openLadders[i]
		rungs, sum := make([]float64, len(l.rungs)), 0.0
		for k := range rungs {
			rungs[k] = l.yes(l.parts, k)
		}
		for k, part := range l.between(rungs) {
			sum += part
			if math.Abs(part-l.parts[k]) > 1e-9 {
				t.Errorf("%s: part %d: got %v, want %v", l.title, k, part, l.parts[k])
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the parts sum up to %v, want 1", l.title, sum)
		}
	}
}

// TestLadderSettlesInOneDirection checks that the rungs on one side of the answer settle at Yes, and the others
// at No.
func TestLadderSettlesInOneDirection(t *testing.T) {
	t.Parallel()
	markets, _ := sampleMarkets(firstLook)
	rungs := map[string][]market.Market{}
	for _, m := range markets {
		if m.nested != nil {
			rungs[m.EventTitle] = append(rungs[m.EventTitle], m.standing(firstLook, m.prices(firstLook)))
		}
	}
	if len(rungs) != len(openLadders) {
		t.Fatalf("got %d ladders, want %d", len(rungs), len(openLadders))
	}
	for title, event := range rungs {
		turns, last := 0, -1.0
		for k, m := range livedOn(event, firstLook.Add(80*day)) {
			if !m.Closed || m.Prices[0] != 0 && m.Prices[0] != 1 {
				t.Errorf("%s closed at %v", m.Question, m.Prices)
			}
			if k > 0 && m.Prices[0] != last {
				turns++
			}
			last = m.Prices[0]
		}
		if turns > 1 {
			t.Errorf("%s changes between Yes and No %d times", title, turns)
		}
	}
}

// TestLiveReplacesSample checks that once a live source has answered, every node uses only that source, even if
// it fails later.
func TestLiveReplacesSample(t *testing.T) {
	t.Parallel()
	eachSeeded(t, func(t *testing.T, n *node) {
		db := n.db
		n.mustTick(time.Minute)
		failure := n.up.err
		p := 0.3
		n.up.markets, n.up.items, n.up.err = []market.Market{
			{ID: "1", Source: "polymarket", Question: "A?", Title: "A?", Outcomes: yesNo(), Prices: []float64{p, 1 - p}, Probability: &p, Active: true},
			{ID: "2", Source: "polymarket", Question: "B?", Title: "B?", Outcomes: yesNo(), Prices: []float64{p, 1 - p}, Probability: &p, Active: true},
		}, []news.Item{{ID: "n", Source: "reddit", Community: "science", Title: "N", URL: "https://example.org/n", Permalink: "https://example.org/p", PostedAt: firstLook}}, nil
		n.mustTick(time.Minute)
		live := n.clock
		check := func(when string, n *node) {
			t.Helper()
			markets, posts := n.markets.Replicator.Feed().Current(), n.news.Replicator.Feed().Current()
			if markets.Sample || markets.Source != "polymarket" || len(markets.Records) != 2 || !markets.AsOf.Equal(live) {
				t.Errorf("%s: got markets from %s, sample %v, as of %s, %d records", when, markets.Source, markets.Sample, markets.AsOf, len(markets.Records))
			}
			if posts.Sample || posts.Source != "reddit" || len(posts.Records) != 1 || !posts.AsOf.Equal(live) {
				t.Errorf("%s: got news from %s, sample %v, as of %s, %d records", when, posts.Source, posts.Sample, posts.AsOf, len(posts.Records))
			}
		}
		check("live", n)
		for name, f := range map[string]market.Filter{"by volume": {Limit: 9}, "newest": {Limit: 9, Sort: market.ByNewest}, "found": {Limit: 9, Q: "will"}} {
			list, next, err := market.Store{}.List(t.Context(), db.Reader, f)
			if err != nil || next != "" || slices.ContainsFunc(list, func(m market.Market) bool { return m.Sample }) {
				t.Errorf("live, %s: the list has %d markets and the cursor %q, %v", name, len(list), next, err)
			}
		}
		groups, _, err := market.NewGroups(func() uint64 { return 0 }, func() time.Time { return n.clock }).List(t.Context(), db.Reader, market.GroupFilter{Limit: 9})
		if err != nil || len(groups) != 2 {
			t.Errorf("live: got %d events and markets, %v, want 2", len(groups), err)
		}
		items, _, err := news.Store{}.List(t.Context(), db.Reader, news.Filter{Limit: 9, Live: n.news.Replicator.Feed().Current().Live()})
		if err != nil || len(items) != 1 {
			t.Errorf("live: got %d items, %v, want 1", len(items), err)
		}
		if s := n.state("markets"); s.LastError != "" {
			t.Errorf("got last error %s", s.LastError)
		}
		other := newNode(t, db)
		for name, node := range map[string]*node{"this node": n, "another node": other} {
			node.clock, node.up.err = live, failure
			if markets, items := node.tick(10 * time.Minute); markets == nil || items == nil {
				t.Errorf("%s: the live source failed: got %v, %v, want errors", name, markets, items)
			}
			_, marketsErr := node.markets.Replicator.Restore(t.Context())
			_, newsErr := node.news.Replicator.Restore(t.Context())
			if err := errors.Join(marketsErr, newsErr); err != nil {
				t.Fatal(err)
			}
			check("live failed, "+name, node)
			if !node.markets.Replicator.Feed().Stale() {
				t.Errorf("%s: got a fresh snapshot, want a stale one", name)
			}
		}
		if s := n.state("markets"); s.LastError != "unreachable" || s.Failures != 2 {
			t.Errorf("got state %+v", s)
		}
	})
}

func TestNodesAgree(t *testing.T) {
	t.Parallel()
	a := seeded(t, database.SQLite)
	b := newNode(t, a.db)
	a.clock = firstLook.Add(5 * day)
	b.clock = a.clock.Add(20 * time.Second)
	var answers [2][]market.Market
	for i, n := range []*node{a, b} {
		got, err := n.markets.Source.Top(t.Context(), 500)
		if err != nil {
			t.Fatal(err)
		}
		for k := range got.Markets {
			got.Markets[k].ObservedAt = time.Time{}
		}
		answers[i] = got.Markets
	}
	if len(answers[0]) < 40 || !reflect.DeepEqual(answers[0], answers[1]) {
		t.Errorf("two nodes give different readings, of %d and %d markets", len(answers[0]), len(answers[1]))
	}
	some := answers[0][3]
	got, err := b.markets.Source.ByID(t.Context(), []string{some.ID, "unknown"})
	if err == nil && len(got.Markets) == 1 {
		got.Markets[0].ObservedAt = time.Time{}
	}
	if err != nil || len(got.Markets) != 1 || !reflect.DeepEqual(got.Markets[0], some) {
		t.Errorf("by id: got %+v, %v", got.Markets, err)
	}
	for _, m := range answers[0] {
		winner, ok, err := a.markets.Source.Winner(t.Context(), &m)
		if v := m.Verdict(); err != nil || ok != m.Closed || (ok && (v.Stage != market.Settled || v.Winner != winner)) {
			t.Errorf("winner of %s: got %d, %v, %v", m.ID, winner, ok, err)
		}
	}
	if winner, ok, err := a.markets.Source.Winner(t.Context(), &market.Market{ID: "1"}); winner != 1 || !ok || err != nil {
		t.Errorf("winner of a live market: got %d, %v, %v", winner, ok, err)
	}
}

// TestLiveSourceIsAskedBriefly checks that a network that drops requests doesn't slow the sample, and that a
// pause which the source asks for is kept.
func TestLiveSourceIsAskedBriefly(t *testing.T) {
	t.Parallel()
	n := seeded(t, database.SQLite)
	n.up.err = &source.Error{Reason: "http_429", RetryAfter: 10 * time.Minute}
	for range 3 {
		n.mustTick(time.Minute)
	}
	if len(n.up.asked) != 2 || n.up.asked[0] > 5*time.Second || n.up.asked[1] > 20*time.Second {
		t.Errorf("got requests with timeouts %v", n.up.asked)
	}
	if s := n.state("markets"); s.LastError != "http_429" || !s.SucceededAt.Equal(n.clock) {
		t.Errorf("got state %+v", s)
	}
	n.mustTick(10 * time.Minute)
	if len(n.up.asked) != 4 {
		t.Errorf("got %d requests after the pause", len(n.up.asked))
	}
}

// TestWalk checks that the result hardly depends on how often the prices were read on the way.
func TestWalk(t *testing.T) {
	t.Parallel()
	until := firstLook.Add(6 * time.Hour)
	once := walk("x", []float64{0.3, 0.5, 0.2}, firstLook, until)
	often, at := []float64{0.3, 0.5, 0.2}, firstLook
	for step := 0; at.Before(until); step++ {
		next := at.Add(time.Duration(1+step%200) * time.Second)
		if next.After(until) {
			next = until
		}
		often, at = walk("x", often, at, next), next
	}
	sum := 0.0
	for k := range once {
		sum += once[k]
		if math.Abs(once[k]-often[k]) > 0.005 {
			t.Errorf("got %v in one step and %v in many", once, often)
		}
	}
	if math.Abs(sum-1) > 1e-9 || once[0] == 0.3 {
		t.Errorf("got %v after the walk", once)
	}
}

// TestOutcomesFollowPrices checks that of many events at 30 %, 30 % happen.
func TestOutcomesFollowPrices(t *testing.T) {
	t.Parallel()
	const n = 4000
	yes := 0
	for i := range n {
		m := market.Market{ID: string(rune('a'+i%26)) + time.Duration(i).String(), Outcomes: yesNo(), Prices: []float64{0.3, 0.7}, ClosesAt: firstLook, ObservedAt: firstLook}
		if closed := livedOn([]market.Market{m}, firstLook)[0]; closed.Prices[0] == 1 {
			yes++
		}
	}
	if share := float64(yes) / n; math.Abs(share-0.3) > 4*math.Sqrt(0.3*0.7/n) {
		t.Errorf("a share of %.3f happened, want about 0.3", share)
	}
}
