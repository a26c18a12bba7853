package ingest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// upstream is a market source and a news source that answer as a test sets them.
type upstream struct {
	top, known []market.Market // known: the answer of ByID
	items      []news.Item
	err        error // returned by Top and Read
	fallback   error // Fallback of the answer of Read
	partial    error // Partial of the answer of Read
	byIDErr    error
	unread     []string // ids of the records that ByID drops
	asked      []string // ids of the last ByID

	knownEvents []market.Event // the answer of Events
	events      [][]string     // ids of each call of Events
	eventsErr   error
	topEvents   []market.Event // returned by Top

	interval time.Duration
	at       time.Time
}

func (u *upstream) Top(context.Context, int) (source.Markets, error) {
	return source.Markets{Markets: u.top, Events: u.topEvents, ObservedAt: u.at, Dropped: source.Dropped{"no_id": 2}}, u.err
}

func (u *upstream) ByID(_ context.Context, ids []string) (source.Markets, error) {
	u.asked = ids
	got := slices.DeleteFunc(slices.Clone(u.known), func(m market.Market) bool { return !slices.Contains(ids, m.ID) })
	read := source.Markets{Markets: got, ObservedAt: u.at, Dropped: source.Dropped{}}
	for _, id := range ids {
		if slices.Contains(u.unread, id) {
			read.Dropped["few_outcomes"]++
		} else if !slices.ContainsFunc(got, func(m market.Market) bool { return m.ID == id }) {
			read.Missing = append(read.Missing, id)
		}
	}
	return read, u.byIDErr
}

func (u *upstream) Events(_ context.Context, ids []string) ([]market.Event, error) {
	u.events = append(u.events, ids)
	got := slices.DeleteFunc(slices.Clone(u.knownEvents), func(e market.Event) bool { return !slices.Contains(ids, e.ID) })
	if u.eventsErr != nil {
		return nil, u.eventsErr
	}
	return got, nil
}

func (u *upstream) Winner(context.Context, *market.Market) (int, bool, error) { return 0, false, nil }

func (u *upstream) Read(context.Context) (source.News, error) {
	return source.News{Items: u.items, ObservedAt: u.at, Source: "reddit", Fallback: u.fallback, Partial: u.partial}, u.err
}

func (u *upstream) Interval() time.Duration { return u.interval }

// node is the ingest of one node, with a shared database and cache.
type node struct {
	up      *upstream
	at      time.Time
	log     bytes.Buffer
	db      *database.DB
	markets *ingest.Markets
	news    *ingest.News
}

func newNode(db *database.DB, c *cache.Cache) *node {
	n := &node{up: &upstream{at: noon}, at: noon, db: db}
	now := func() time.Time { return n.at }
	log := slog.New(slog.NewTextHandler(&n.log, nil))
	marketFeed := signal.NewFeed(signal.Codec[market.Market]{Name: "markets",
		Encode: func(dst []byte, m *market.Market) []byte { return append(dst, `"`+m.ID+`"`...) },
		Text:   func(m *market.Market) string { return m.Question }}, now)
	newsFeed := signal.NewFeed(signal.Codec[news.Item]{Name: "news",
		Encode: func(dst []byte, n *news.Item) []byte { return append(dst, `"`+n.ID+`"`...) },
		Text:   func(n *news.Item) string { return n.Title }}, now)
	n.markets = &ingest.Markets{Source: n.up, DB: db, Replicator: signal.NewReplicator(marketFeed, db, c, log), Interval: time.Minute, Now: now, Log: log}
	n.news = &ingest.News{Source: n.up, DB: db, Replicator: signal.NewReplicator(newsFeed, db, c, log), Interval: 2 * time.Minute, Now: now, Log: log}
	return n
}

// later moves the clock of the node and of its upstream.
func (n *node) later(d time.Duration) {
	n.at = n.at.Add(d)
	n.up.at = n.at
}

func (n *node) shownMarkets() (ids []string) {
	for _, m := range n.markets.Replicator.Feed().Current().Records {
		ids = append(ids, m.ID)
	}
	return ids
}

func (n *node) shownNews() (ids []string) {
	for _, item := range n.news.Replicator.Feed().Current().Records {
		ids = append(ids, item.ID)
	}
	return ids
}

func (n *node) state(t *testing.T, feed string) ingest.FeedState {
	t.Helper()
	s, found, err := ingest.State(t.Context(), n.db.Reader, feed)
	if err != nil || !found {
		t.Fatalf("state of %s: got found %v, %v", feed, found, err)
	}
	return s
}

func tick(t *testing.T, run func(context.Context) (time.Duration, error), wantNext time.Duration) {
	t.Helper()
	next, err := run(t.Context())
	if err != nil || next != wantNext {
		t.Fatalf("tick: got next %s, want %s (%v)", next, wantNext, err)
	}
}

func yesNo(id string, volume float64) market.Market {
	return market.Market{ID: id, Source: "polymarket", Question: "Will " + id + "?", Title: id, Outcomes: []string{"Yes", "No"},
		Prices: []float64{0.25, 0.75}, Probability: ptr(0.25), Volume: ptr(volume), Active: true}
}

func post(id, community string, position int) news.Item {
	return news.Item{ID: id, Source: "reddit", Community: community, Title: id, URL: "https://example.org/" + id,
		Permalink: "https://example.org/p/" + id, PostedAt: noon.Add(-time.Hour), Position: position, ScoreKnown: true}
}

func predict(t *testing.T, db *database.DB, marketID string) {
	t.Helper()
	err := prediction.Add(t.Context(), db, &prediction.Prediction{ID: database.NewID(noon), AgentID: uuid.MustParse("00000000-0000-7000-8000-000000000001"),
		HorizonAt: noon, MarketID: marketID, BaselineState: prediction.Pending, Status: prediction.Open, CreatedAt: noon})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMarketsTick(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		closed := yesNo("closed", 99)
		closed.Closed, closed.Active = true, false
		nan := yesNo("nan", 5)
		nan.Volume = ptr(math.NaN())
		nul := yesNo("nul", 5)
		nul.Outcomes = []string{"Yes\x00", "No"}
		price := yesNo("price", 5)
		price.Prices = []float64{1.5, 0}
		crossed := yesNo("crossed", 5)
		crossed.BestBid, crossed.BestAsk = ptr(0.7), ptr(0.6)
		flood := yesNo("flood", 5)
		flood.Outcomes, flood.Prices = slices.Repeat([]string{"Yes"}, market.MaxOutcomes+1), nil
		n.up.top = []market.Market{yesNo("small", 1), yesNo("big", 9), closed, nan, nul, price, crossed, flood, yesNo("big", 3), {}, {ID: "x"}}
		var seen []string
		n.markets.After = []func(context.Context, []market.Market) error{
			func(context.Context, []market.Market) error { return errors.New("hook failed") },
			func(context.Context, []market.Market) error { panic("hook panicked") },
			func(ctx context.Context, observed []market.Market) error {
				for _, m := range observed {
					if _, found, err := (market.Store{}).ByID(ctx, db.Reader, m.ID); !found || err != nil {
						t.Errorf("%s is not stored yet: %v", m.ID, err)
					}
					seen = append(seen, m.ID)
				}
				return nil
			},
		}
		tick(t, n.markets.Tick, time.Minute)
		if got := n.shownMarkets(); !slices.Equal(got, []string{"big", "small"}) {
			t.Errorf("got markets %v", got)
		}
		if !slices.Equal(seen, []string{"small", "big", "closed"}) || !strings.Contains(n.log.String(), "hook failed") || !strings.Contains(n.log.String(), "hook panicked") {
			t.Errorf("hooks were called with %v, log %s", seen, n.log.String())
		}
		s := n.state(t, "markets")
		want := map[string]int{"no_id": 2, "unsound": 6, "many_outcomes": 1, "duplicate": 1}
		if s.Source != "polymarket" || s.Count != 2 || !maps.Equal(s.Dropped, want) || !s.SucceededAt.Equal(noon) || s.LastError != "" || s.Failures != 0 {
			t.Errorf("got state %+v", s)
		}
		prices, err := (market.Store{}).History(t.Context(), db.Reader, "big")
		if err != nil || len(prices) != 1 || !prices[0].ObservedAt.Equal(noon) || prices[0].Prices[1] != 0.75 {
			t.Errorf("got prices %+v, %v", prices, err)
		}
		n.markets.Planned(t.Context(), noon.Add(time.Minute))
		if s := n.state(t, "markets"); !s.NextAt.Equal(noon.Add(time.Minute)) {
			t.Errorf("got the next tick planned for %s", s.NextAt)
		}
	})
}

func TestMarketsWithOpenPredictionsAndForgottenOnesAreReadByID(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.up.top = []market.Market{yesNo("a", 1), yesNo("bet", 2), yesNo("lost", 3)}
		tick(t, n.markets.Tick, time.Minute)
		predict(t, db, "bet")
		closed := yesNo("bet", 2)
		closed.Closed, closed.Active, closed.Prices = true, false, []float64{1, 0}
		n.up.top, n.up.known = []market.Market{yesNo("a", 1)}, []market.Market{closed, yesNo("lost", 3)}
		n.later(2 * time.Hour)
		var observed []string
		n.markets.After = []func(context.Context, []market.Market) error{func(_ context.Context, got []market.Market) error {
			for _, m := range got {
				observed = append(observed, fmt.Sprint(m.ID, m.Closed))
			}
			return nil
		}}
		tick(t, n.markets.Tick, time.Minute)
		slices.Sort(n.up.asked)
		if !slices.Equal(n.up.asked, []string{"bet", "lost"}) || !slices.Equal(observed, []string{"afalse", "bettrue", "lostfalse"}) {
			t.Errorf("requested %v, observed %v", n.up.asked, observed)
		}
		if got := n.shownMarkets(); !slices.Equal(got, []string{"a"}) {
			t.Errorf("got markets %v", got)
		}
		n.later(time.Minute)
		n.up.byIDErr = &source.Error{Reason: "http_429", RetryAfter: 5 * time.Minute}
		tick(t, n.markets.Tick, 5*time.Minute)
		for i := range 2 {
			n.later(time.Minute)
			tick(t, n.markets.Tick, 5*time.Minute)
			if s := n.state(t, "markets"); s.LastError != "http_429" || !s.SucceededAt.Equal(n.at) || s.Failures != i+2 || !s.Partial() {
				t.Errorf("after %d partial readings: got state %+v", i+2, s)
			}
		}
		n.up.byIDErr = nil
		n.later(time.Minute)
		tick(t, n.markets.Tick, time.Minute)
		if s := n.state(t, "markets"); s.LastError != "" || s.Failures != 0 || s.Partial() {
			t.Errorf("after a whole reading: got state %+v", s)
		}
	})
}

// TestMissingMarkets checks that a market becomes inactive only after two answers without it, an hour apart, that a
// dropped record counts as dropped and not as missing, and that inactive markets are requested once a day.
func TestMissingMarkets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.up.top = []market.Market{yesNo("a", 1), yesNo("gone", 2), yesNo("here", 3), yesNo("odd", 4), yesNo("shy", 5)}
		tick(t, n.markets.Tick, time.Minute)
		shy, closed := yesNo("shy", 5), yesNo("gone", 2)
		shy.Active, closed.Active, closed.Closed = false, false, true
		n.up.top, n.up.unread = []market.Market{yesNo("a", 1)}, []string{"odd"}
		for _, step := range []struct {
			later  time.Duration
			known  []market.Market
			asked  string
			active string
		}{
			{2 * time.Hour, []market.Market{yesNo("here", 3), shy}, "gone here odd shy", "a gone here odd"},
			{time.Minute, []market.Market{yesNo("here", 3)}, "odd", "a gone here odd"},
			{time.Hour, nil, "gone here odd", "a gone here odd"}, // an answer without any market proves nothing
			{time.Minute, []market.Market{yesNo("here", 3)}, "gone here odd", "a here odd"},
			{2 * time.Minute, []market.Market{yesNo("here", 3)}, "odd", "a here odd"},
			{24 * time.Hour, []market.Market{yesNo("here", 3), yesNo("shy", 5)}, "gone here odd shy", "a here odd shy"},
			{24 * time.Hour, []market.Market{yesNo("here", 3), yesNo("shy", 5), closed}, "gone here odd shy", "a here odd shy"},
			{24 * time.Hour, []market.Market{yesNo("here", 3), yesNo("shy", 5)}, "here odd shy", "a here odd shy"},
		} {
			n.later(step.later)
			n.up.known = step.known
			tick(t, n.markets.Tick, time.Minute)
			var active []string
			if err := db.Reader.NewSelect().Model((*market.Market)(nil)).Column("id").Where("active").Order("id").Scan(t.Context(), &active); err != nil {
				t.Fatal(err)
			}
			slices.Sort(n.up.asked)
			if got := strings.Join(n.up.asked, " "); got != step.asked || strings.Join(active, " ") != step.active {
				t.Errorf("%s later: requested %s, then active %v", step.later, got, active)
			}
			if dropped := n.state(t, "markets").Dropped; !maps.Equal(dropped, map[string]int{"no_id": 2, "few_outcomes": 1}) {
				t.Errorf("dropped %v", dropped)
			}
		}
		if m, _, err := (market.Store{}).ByID(t.Context(), db.Reader, "gone"); err != nil || !m.Closed {
			t.Errorf("a market that closed while it was inactive: got %+v, %v", m, err)
		}
	})
}

// TestMarketsReadPartlyByIDAreStored checks that a tick stores what it has read by id before the source failed, and
// takes no market for gone. The next tick first requests the markets that weren't read.
func TestMarketsReadPartlyByIDAreStored(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.up.top = []market.Market{yesNo("a", 1), yesNo("bet1", 2), yesNo("bet2", 3), yesNo("gone", 4)}
		tick(t, n.markets.Tick, time.Minute)
		predict(t, db, "bet1")
		predict(t, db, "bet2")
		closed := yesNo("bet1", 2)
		closed.Closed, closed.Active, closed.Prices = true, false, []float64{1, 0}
		n.up.top, n.up.known = []market.Market{yesNo("a", 1)}, []market.Market{closed}
		n.up.byIDErr = context.DeadlineExceeded
		n.later(2 * time.Hour)
		tick(t, n.markets.Tick, time.Minute)
		if m, _, err := (market.Store{}).ByID(t.Context(), db.Reader, "bet1"); err != nil || !m.Closed {
			t.Errorf("a market that was read: got %+v, %v", m, err)
		}
		if m, _, err := (market.Store{}).ByID(t.Context(), db.Reader, "gone"); err != nil || !m.Active {
			t.Errorf("a market that wasn't read: got %+v, %v", m, err)
		}
		n.later(time.Minute)
		tick(t, n.markets.Tick, time.Minute)
		if !slices.Equal(n.up.asked[:2], []string{"bet2", "bet1"}) {
			t.Errorf("requested %v, want bet2 first", n.up.asked)
		}
	})
}

// TestScalarIsKept checks that a scalar market stays scalar if a reading leaves that out.
func TestScalarIsKept(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		m := yesNo("a", 1)
		m.Scalar = true
		n.up.top = []market.Market{m}
		tick(t, n.markets.Tick, time.Minute)
		m.Scalar, m.ScalarUnknown, m.Volume = false, true, ptr(2.0)
		n.up.top = []market.Market{m}
		n.later(time.Minute)
		tick(t, n.markets.Tick, time.Minute)
		if m, _, err := (market.Store{}).ByID(t.Context(), db.Reader, "a"); err != nil || *m.Volume != 2 || !m.Scalar {
			t.Errorf("got %+v, %v", m, err)
		}
	})
}

// TestOutcomesKeepTheirOrder checks that what is stored, shown and passed on has the stored order of outcomes if a
// reading has another.
func TestOutcomesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		var passedOn []market.Market
		n.markets.After = []func(context.Context, []market.Market) error{func(_ context.Context, observed []market.Market) error {
			passedOn = observed
			return nil
		}}
		m := yesNo("a", 1)
		m.Prices, m.TokenIDs = []float64{0.25, 0.75}, []string{"y", "n"}
		n.up.top = []market.Market{m}
		tick(t, n.markets.Tick, time.Minute)
		m.Outcomes, m.Prices, m.TokenIDs = []string{"No", "Yes"}, []float64{0.625, 0.375}, []string{"n", "y"}
		n.up.top = []market.Market{m}
		n.later(time.Minute)
		tick(t, n.markets.Tick, time.Minute)
		stored, _, err := market.Store{}.ByID(t.Context(), db.Reader, "a")
		if err != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]*market.Market{"stored": stored, "shown": &n.markets.Replicator.Feed().Current().Records[0], "passed on": &passedOn[0]} {
			if !slices.Equal(got.Outcomes, []string{"Yes", "No"}) || !slices.Equal(got.Prices, []float64{0.375, 0.625}) {
				t.Errorf("%s: %v %v", what, got.Outcomes, got.Prices)
			}
		}
		var history []market.Price
		if err := db.NewSelect().Model(&history).Order("observed_at").Scan(t.Context()); err != nil || len(history) != 2 || !slices.Equal(history[1].Prices, []float64{0.375, 0.625}) {
			t.Errorf("history: %+v, %v", history, err)
		}
	})
}

// TestSnapshotKeepsFacts checks that the snapshot has the facts that the database keeps when a reading leaves them out,
// because a filtered list begins in the snapshot and goes on in the database.
func TestSnapshotKeepsFacts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		m, item := grouped("a", "e1"), post("p", "science", 0)
		m.Category, m.Tags, m.ClosesAt, m.URL, m.Description = "politics", []string{"us"}, noon.Add(time.Hour), "https://example.org/a", "How it settles."
		item.Score, item.Comments, item.Summary = 7, 3, "A summary."
		n.up.top, n.up.items = []market.Market{m}, []news.Item{item}
		tick(t, n.markets.Tick, time.Minute)
		tick(t, n.news.Tick, 2*time.Minute)
		n.later(2 * time.Minute)
		short, atom := yesNo("a", 20), post("p", "science", 0)
		short.Prices, short.Probability, atom.ScoreKnown, atom.Title = []float64{0.5, 0.5}, ptr(0.5), false, "New"
		n.up.top, n.up.items = []market.Market{short, yesNo("b", 10)}, []news.Item{atom}
		tick(t, n.markets.Tick, time.Minute)
		tick(t, n.news.Tick, 2*time.Minute)
		open := n.markets.Replicator.Feed().Current().Records
		if got := n.shownMarkets(); !slices.Equal(got, []string{"a", "b"}) {
			t.Fatalf("got markets %v", got)
		}
		if got := open[0]; got.Category != "politics" || !slices.Equal(got.Tags, m.Tags) || !got.ClosesAt.Equal(m.ClosesAt) || got.URL != m.URL ||
			got.Description != m.Description || got.EventID != "e1" || *got.Volume != 20 || got.Prices[0] != 0.5 || *got.Probability != 0.5 || !got.ObservedAt.Equal(n.at) {
			t.Errorf("got market %+v", got)
		}
		if got := n.news.Replicator.Feed().Current().Records[0]; got.Score != 7 || got.Comments != 3 || !got.ScoreKnown || got.Summary != item.Summary || got.Title != "New" {
			t.Errorf("got item %+v", got)
		}
	})
}

func TestAFailingSourceLeavesTheLastGoodSnapshot(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.up.top, n.up.items = []market.Market{yesNo("a", 1)}, []news.Item{post("x", "science", 0)}
		tick(t, n.markets.Tick, time.Minute)
		tick(t, n.news.Tick, 2*time.Minute)
		failures := []struct {
			err    error
			reason string
			next   time.Duration
		}{
			{&source.Error{Reason: "http_503", RetryAfter: time.Hour}, "http_503", time.Hour},
			{context.DeadlineExceeded, "timeout", 0},
			{errors.New("odd"), "error", 0},
			{nil, "empty", 0},
		}
		n.up.top, n.up.items = nil, nil
		for i, f := range failures {
			n.later(2 * time.Minute)
			n.up.err = f.err
			for feed, run := range map[string]func(context.Context) (time.Duration, error){"markets": n.markets.Tick, "news": n.news.Tick} {
				next, err := run(t.Context())
				if err == nil || next != f.next {
					t.Errorf("%s, %s: got next %s, %v", feed, f.reason, next, err)
				}
				if s := n.state(t, feed); s.LastError != f.reason || s.Failures != i+1 || !s.FailedAt.Equal(n.at) || !s.SucceededAt.Equal(noon) || s.Count != 1 {
					t.Errorf("%s, %s: got state %+v", feed, f.reason, s)
				}
			}
			if !slices.Equal(n.shownMarkets(), []string{"a"}) || !slices.Equal(n.shownNews(), []string{"x"}) {
				t.Errorf("after %s: got markets %v and news %v", f.reason, n.shownMarkets(), n.shownNews())
			}
		}
		if !n.markets.Replicator.Feed().Stale() || !n.news.Replicator.Feed().Stale() {
			t.Error("not stale after eight minutes")
		}
		n.up.err, n.up.top = nil, []market.Market{yesNo("b", 1)}
		tick(t, n.markets.Tick, time.Minute)
		if s := n.state(t, "markets"); s.LastError != "" || s.Failures != 0 || n.markets.Replicator.Feed().Stale() {
			t.Errorf("after the recovery: got state %+v", s)
		}
	})
}

// TestWorkGoesOnWithoutTopMarkets checks that a tick which can't read the top markets still reads those with open
// predictions by id, unless the source asked for a pause, and still calls After.
func TestWorkGoesOnWithoutTopMarkets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		n.up.top = []market.Market{yesNo("a", 1), yesNo("bet", 2)}
		tick(t, n.markets.Tick, time.Minute)
		predict(t, db, "bet")
		closed := yesNo("bet", 2)
		closed.Closed, closed.Active, closed.Prices = true, false, []float64{1, 0}
		for _, step := range []struct {
			err    error
			known  market.Market
			asked  []string
			after  string
			closed bool
		}{
			{&source.Error{Reason: "http_429", RetryAfter: time.Minute}, closed, nil, "[]", false},
			{&source.Error{Reason: "parse"}, yesNo("bet", 2), []string{"bet"}, "[bet false]", false},
			{context.DeadlineExceeded, closed, []string{"bet"}, "[bet true]", true},
		} {
			n.later(time.Minute)
			n.up.err, n.up.known, n.up.asked = step.err, []market.Market{step.known}, nil
			var after []string
			n.markets.After = []func(context.Context, []market.Market) error{func(_ context.Context, observed []market.Market) error {
				got := []any{}
				for _, m := range observed {
					got = append(got, m.ID, m.Closed)
				}
				after = append(after, fmt.Sprint(got))
				return nil
			}}
			if _, err := n.markets.Tick(t.Context()); !errors.Is(err, step.err) {
				t.Errorf("%v: got error %v", step.err, err)
			}
			if !slices.Equal(n.up.asked, step.asked) || !slices.Equal(after, []string{step.after}) {
				t.Errorf("%v: requested %v, called After with %v", step.err, n.up.asked, after)
			}
			if m, _, err := (market.Store{}).ByID(t.Context(), db.Reader, "bet"); err != nil || m.Closed != step.closed {
				t.Errorf("%v: got %+v, %v", step.err, m, err)
			}
		}
		if s := n.state(t, "markets"); s.Failures != 3 || s.LastError != "timeout" || !slices.Equal(n.shownMarkets(), []string{"bet", "a"}) {
			t.Errorf("got state %+v, markets %v", s, n.shownMarkets())
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		n.up.asked = nil
		n.markets.After = []func(context.Context, []market.Market) error{func(context.Context, []market.Market) error {
			t.Error("called although the node stops")
			return nil
		}}
		if _, err := n.markets.Tick(ctx); err == nil || n.up.asked != nil {
			t.Errorf("when the node stops: requested %v, %v", n.up.asked, err)
		}
	})
}

func TestCancelledTickIsNoFailureOfTheSource(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		n.up.err = &source.Error{Reason: "cancelled", Err: ctx.Err()}
		if _, err := n.markets.Tick(ctx); err == nil {
			t.Error("no error")
		}
		if _, found, err := ingest.State(t.Context(), db.Reader, "markets"); found || err != nil {
			t.Errorf("got state found %v, %v", found, err)
		}
	})
}

func TestARestartWithoutAnUpstreamServesAtOnce(t *testing.T) {
	t.Parallel()
	for _, kind := range cachetest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, db *database.DB) {
				c := cachetest.Open(t, kind)
				n := newNode(db, c)
				n.up.top, n.up.items = []market.Market{yesNo("a", 1)}, []news.Item{post("x", "science", 0)}
				tick(t, n.markets.Tick, time.Minute)
				tick(t, n.news.Tick, 2*time.Minute)
				again := newNode(db, c)
				again.up.err = &source.Error{Reason: "unreachable"}
				for _, restore := range []func(context.Context) (bool, error){again.markets.Replicator.Restore, again.news.Replicator.Restore} {
					if found, err := restore(t.Context()); !found || err != nil {
						t.Fatal(found, err)
					}
				}
				if _, err := again.markets.Tick(t.Context()); err == nil {
					t.Error("no error")
				}
				if !slices.Equal(again.shownMarkets(), []string{"a"}) || !slices.Equal(again.shownNews(), []string{"x"}) || again.markets.Replicator.Feed().Stale() {
					t.Errorf("got markets %v and news %v", again.shownMarkets(), again.shownNews())
				}
			})
		})
	}
}

func TestNewsTickCarriesCommunitiesTheReadingLeavesOut(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		sample := post("sample", "politics", 0)
		sample.Sample, sample.ObservedAt = true, noon
		n.news.Replicator.Feed().Publish(signal.Reading[news.Item]{Records: []news.Item{sample}, AsOf: noon.Add(-time.Minute), Sample: true})
		bad := post("bad", "science", 9)
		bad.Title = "\xff"
		n.up.items = []news.Item{post("s1", "science", 1), post("s0", "science", 0), post("w0", "worldnews", 0), bad, post("other", "sports", 0)}
		n.up.interval = 6 * time.Minute
		tick(t, n.news.Tick, 6*time.Minute)
		if got := n.shownNews(); !slices.Equal(got, []string{"w0", "s0", "s1"}) {
			t.Errorf("got news %v", got)
		}
		if s := n.state(t, "news"); s.Dropped["unsound"] != 2 || s.Count != 3 || s.Source != "reddit" {
			t.Errorf("got state %+v", s)
		}
		n.later(time.Hour)
		n.up.items = []news.Item{post("s2", "science", 0), post("s3", "science", 1)}
		n.up.items[1].ObservedAt = n.at.Add(-5 * time.Minute) // a source that reads one community at a time
		tick(t, n.news.Tick, 6*time.Minute)
		item, _, err := news.Store{}.ByID(t.Context(), db.Reader, "s3")
		if err != nil || !item.ObservedAt.Equal(n.at.Add(-5*time.Minute)) {
			t.Errorf("got an item of %v, %v; want its own time", item.ObservedAt, err)
		}
		n.up.items = n.up.items[:1]
		n.later(time.Minute)
		tick(t, n.news.Tick, 6*time.Minute)
		if got := n.shownNews(); !slices.Equal(got, []string{"w0", "s2"}) {
			t.Errorf("got news %v, want carried items", got)
		}
		n.later(24 * time.Hour)
		tick(t, n.news.Tick, 6*time.Minute)
		if got := n.shownNews(); !slices.Equal(got, []string{"s2"}) {
			t.Errorf("a day later: got news %v", got)
		}
		if current := n.news.Replicator.Feed().Current(); current.Interval != 6*time.Minute || current.Sample {
			t.Errorf("got reading %+v", current.Reading)
		}
		n.up.fallback = &source.Error{Reason: "http_429", RetryAfter: time.Hour}
		tick(t, n.news.Tick, 6*time.Minute)
		if s := n.state(t, "news"); s.LastError != "http_429" || s.Failures != 0 {
			t.Errorf("with earlier items: got state %+v", s)
		}
		n.up.partial = &source.Error{Reason: "http_404"}
		tick(t, n.news.Tick, 6*time.Minute)
		if s := n.state(t, "news"); s.LastError != "http_404" || s.Failures != 1 || !s.Partial() {
			t.Errorf("without a community: got state %+v", s)
		}
	})
}

// TestErasedNews checks that an erased item leaves the snapshots of all nodes: although its source still lists it,
// while its community is carried, and while the source fails.
func TestErasedNews(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		c := cachetest.Open(t, cache.Memory)
		n, other := newNode(db, c), newNode(db, c)
		erase := func(id string) {
			t.Helper()
			if err := (news.Store{}).Erase(t.Context(), db, []string{id}); err != nil {
				t.Fatal(err)
			}
		}
		check := func(when, want string) {
			t.Helper()
			if _, err := other.news.Replicator.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if here, there := strings.Join(n.shownNews(), " "), strings.Join(other.shownNews(), " "); here != want || there != want {
				t.Errorf("%s: got %q, on the other node %q, want %q", when, here, there, want)
			}
		}
		science := []news.Item{post("s0", "science", 0), post("s1", "science", 1)}
		n.up.items = append([]news.Item{post("w0", "worldnews", 0), post("w1", "worldnews", 1)}, science...)
		tick(t, n.news.Tick, 2*time.Minute)
		check("before", "w0 s0 w1 s1")
		erase("s0")
		n.later(2 * time.Minute)
		tick(t, n.news.Tick, 2*time.Minute)
		check("still listed", "w0 s1 w1")
		erase("w0")
		n.up.items = science
		n.later(2 * time.Minute)
		tick(t, n.news.Tick, 2*time.Minute)
		check("carried", "w1 s1")
		erase("s1")
		n.up.err = &source.Error{Reason: "http_503"}
		n.later(2 * time.Minute)
		if _, err := n.news.Tick(t.Context()); err == nil {
			t.Fatal("no error")
		}
		for range 2 {
			if err := n.news.DropErased(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("the source fails", "w1")
		}
		if asOf, want := n.news.Replicator.Feed().Current().AsOf, noon.Add(4*time.Minute+time.Microsecond); !asOf.Equal(want) {
			t.Errorf("the snapshot is of %s, want %s", asOf, want)
		}
		erase("w1")
		if err := other.news.DropErased(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := n.news.Replicator.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		check("the last one", "")
	})
}

func TestADatabaseThatIsDownCostsNoSnapshot(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), dbtest.URL(t, database.SQLite))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	n := newNode(db, cachetest.Open(t, cache.Memory))
	n.up.top, n.up.items = []market.Market{yesNo("a", 1)}, []news.Item{post("x", "science", 0)}
	n.news.Replicator.Feed().Publish(signal.Reading[news.Item]{Records: []news.Item{post("last", "science", 0)}, AsOf: noon.Add(-time.Minute)})
	n.markets.After = []func(context.Context, []market.Market) error{func(_ context.Context, observed []market.Market) error {
		if len(observed) > 0 {
			t.Errorf("called with %d markets although nothing is stored", len(observed))
		}
		return nil
	}}
	for feed, run := range map[string]func(context.Context) (time.Duration, error){"markets": n.markets.Tick, "news": n.news.Tick} {
		if _, err := run(t.Context()); err == nil {
			t.Errorf("%s: got no error", feed)
		}
	}
	// Without the database, nothing says whether x is erased.
	if !slices.Equal(n.shownMarkets(), []string{"a"}) || !slices.Equal(n.shownNews(), []string{"last"}) {
		t.Errorf("got markets %v and news %v", n.shownMarkets(), n.shownNews())
	}
}

func TestAFloodIsCapped(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		for i := range 600 {
			n.up.top = append(n.up.top, yesNo(fmt.Sprint(i), float64(i)))
			n.up.items = append(n.up.items, post(fmt.Sprint(i), "science", i))
		}
		tick(t, n.markets.Tick, time.Minute)
		tick(t, n.news.Tick, 2*time.Minute)
		if len(n.shownMarkets()) != 500 || len(n.shownNews()) != 100 {
			t.Errorf("got %d markets and %d news items", len(n.shownMarkets()), len(n.shownNews()))
		}
	})
}

func TestTwoNodesTickingAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		c := cachetest.Open(t, cache.Memory)
		nodes := []*node{newNode(db, c), newNode(db, c)}
		var wg sync.WaitGroup
		for i, n := range nodes {
			for k := range 300 {
				n.up.top = append(n.up.top, yesNo(fmt.Sprint((k*7+i*150)%300), float64(k)))
			}
			n.later(time.Duration(i) * time.Second)
			wg.Go(func() {
				if _, err := n.markets.Tick(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		rows, err := db.Reader.NewSelect().Model((*market.Price)(nil)).Count(t.Context())
		if err != nil || rows != 600 {
			t.Errorf("got %d price rows, %v", rows, err)
		}
		late := newNode(db, c)
		if _, err := late.markets.Replicator.Restore(t.Context()); err != nil {
			t.Fatal(err)
		}
		if asOf := late.markets.Replicator.Feed().Current().AsOf; !asOf.Equal(noon.Add(time.Second)) {
			t.Errorf("the database kept the snapshot of %s", asOf)
		}
	})
}

// TestReadingThatWaited checks that a reading which waited for two hours before it is stored, for example because its
// machine was paused, doesn't replace a newer one.
func TestReadingThatWaited(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		c := cachetest.Open(t, cache.Memory)
		reads := func(n *node, title string) {
			t.Helper()
			m, item := grouped("a", "e1"), post("p", "science", 0)
			m.Title, item.Title = title, title
			n.up.top, n.up.items = []market.Market{m}, []news.Item{item}
			n.up.topEvents = []market.Event{{ID: "e1", Title: title, TagsKnown: true}}
			tick(t, n.markets.Tick, time.Minute)
			tick(t, n.news.Tick, 2*time.Minute)
		}
		awake, paused := newNode(db, c), newNode(db, c)
		awake.later(2 * time.Hour)
		reads(awake, "New")
		paused.at = awake.at
		reads(paused, "Old") // at noon
		m, _, err1 := market.Store{}.ByID(t.Context(), db.Reader, "a")
		e, _, err2 := market.Store{}.EventByID(t.Context(), db.Reader, "e1")
		item, _, err3 := news.Store{}.ByID(t.Context(), db.Reader, "p")
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if m.Title != "New" || e.Title != "New" || item.Title != "New" {
			t.Errorf("got market %q, event %q, item %q; want the newer ones", m.Title, e.Title, item.Title)
		}
		prices, err := market.Store{}.History(t.Context(), db.Reader, "a")
		if err != nil || len(prices) != 2 {
			t.Errorf("%d prices, %v; want those of both readings", len(prices), err)
		}
	})
}

// TestRecordsKeepTheirTime checks that a record which is older than its reading, because a cache sent it, is stored and
// published with its time. A time after the reading isn't believed.
func TestRecordsKeepTheirTime(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		n := newNode(db, cachetest.Open(t, cache.Memory))
		published := noon.Add(-time.Minute)
		fresh, kept, ahead, named := yesNo("fresh", 9), grouped("kept", "e1"), yesNo("ahead", 1), yesNo("named", 1)
		kept.ObservedAt, ahead.ObservedAt, named.ObservedAt = published.Add(-time.Minute), noon.Add(time.Hour), published.Add(-time.Second)
		n.up.top, n.up.known = []market.Market{fresh, kept, ahead}, []market.Market{named}
		n.up.topEvents = []market.Event{{ID: "e1", Title: "One", TagsKnown: true, UpdatedAt: kept.ObservedAt}}
		first := named
		first.ObservedAt = noon.Add(-2 * time.Hour)
		if err := (market.Store{}).Observe(t.Context(), db, []market.Market{first}); err != nil {
			t.Fatal(err)
		}
		tick(t, n.markets.Tick, time.Minute)
		for id, want := range map[string]time.Time{"fresh": noon, "kept": kept.ObservedAt, "ahead": noon, "named": named.ObservedAt} {
			prices, err := market.Store{}.History(t.Context(), db.Reader, id)
			if err != nil || !prices[len(prices)-1].ObservedAt.Equal(want) {
				t.Errorf("%s: got prices %+v, %v; want the last of %v", id, prices, err, want)
			}
		}
		if e, _, err := (market.Store{}).EventByID(t.Context(), db.Reader, "e1"); err != nil || !e.UpdatedAt.Equal(kept.ObservedAt) {
			t.Errorf("got the event of %v, %v", e.UpdatedAt, err)
		}
		if asOf := n.markets.Replicator.Feed().Current().AsOf; !asOf.Equal(noon) {
			t.Errorf("got the snapshot of %v", asOf)
		}
	})
}

// grouped returns an open market of an event, without tags.
func grouped(id, event string) market.Market {
	m := yesNo(id, 10)
	m.EventID, m.EventTitle = event, "Event "+event
	return m
}

func (n *node) tags() string {
	var out []string
	for _, m := range n.markets.Replicator.Feed().Current().Records {
		out = append(out, fmt.Sprint(m.ID, m.Tags, m.Category))
	}
	return strings.Join(out, " ")
}

// TestTagsOfEvents checks that an event whose markets have no tags is requested once, even if other nodes tick
// later.
func TestTagsOfEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		c := cachetest.Open(t, cache.Memory)
		n := newNode(db, c)
		tagged := grouped("t", "e3")
		tagged.Tags, tagged.Category = []string{"crypto"}, "crypto"
		n.up.top = []market.Market{grouped("a", "e1"), grouped("b", "e1"), grouped("c", "e2"), tagged, yesNo("alone", 1)}
		n.up.topEvents = []market.Event{{ID: "e1", Title: "One", URL: "https://example.org/one", Volume: ptr(7.0)}, {ID: "", Title: "none"}, {ID: "e9", Title: "NUL\x00"}, {ID: "e8", Volume: ptr(math.NaN())}}
		n.up.knownEvents = []market.Event{{ID: "e1", Tags: []string{"nba", "sports"}}}
		tick(t, n.markets.Tick, time.Minute)
		want := "a[nba sports]sports b[nba sports]sports c[] t[crypto]crypto alone[]"
		if got := n.tags(); got != want || fmt.Sprint(n.up.events) != "[[e1 e2]]" {
			t.Errorf("got %s with requests for %v", got, n.up.events)
		}
		next := newNode(db, c)
		next.up.top, next.at, next.up.at = n.up.top, noon.Add(time.Minute), noon.Add(time.Minute)
		tick(t, next.markets.Tick, time.Minute)
		if got := next.tags(); got != want || len(next.up.events) != 0 {
			t.Errorf("the next node: got %s with requests for %v", got, next.up.events)
		}
		// One answer without the event proves nothing, so it is requested again after an hour.
		next.later(2 * time.Hour)
		next.up.knownEvents = []market.Event{{ID: "e2", Tags: []string{"nba"}}}
		tick(t, next.markets.Tick, time.Minute)
		if got := next.tags(); !strings.Contains(got, "c[nba]sports") || fmt.Sprint(next.up.events) != "[[e2]]" {
			t.Errorf("after two hours: got %s with requests for %v", got, next.up.events)
		}
		e, found, err := market.Store{}.EventByID(t.Context(), db.Reader, "e1")
		if err != nil || !found || e.Title != "One" || *e.Volume != 7 || !slices.Equal(e.Tags, []string{"nba", "sports"}) {
			t.Errorf("got stored event %+v, %v", e, err)
		}
		if _, found, err := (market.Store{}).EventByID(t.Context(), db.Reader, "e8"); err != nil || found {
			t.Errorf("an invalid event was stored: %v, %v", found, err)
		}
	})
}

// TestTagsFailing checks a failed request for events: the rest of the tick succeeds, the state shows the error,
// and the request isn't repeated for an hour.
func TestTagsFailing(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		c := cachetest.Open(t, cache.Memory)
		n := newNode(db, c)
		n.up.top = []market.Market{grouped("a", "e1"), yesNo("b", 1)}
		n.up.eventsErr = &source.Error{Reason: "http_429", RetryAfter: 3 * time.Minute}
		tick(t, n.markets.Tick, 3*time.Minute)
		if got := n.shownMarkets(); !slices.Equal(got, []string{"a", "b"}) || n.state(t, "markets").LastError != "http_429" {
			t.Errorf("got markets %v with state %+v", got, n.state(t, "markets"))
		}
		n.later(time.Minute)
		tick(t, n.markets.Tick, time.Minute)
		if len(n.up.events) != 1 {
			t.Errorf("requested again at once: %v", n.up.events)
		}
		n.later(time.Hour)
		n.up.eventsErr, n.up.knownEvents = nil, []market.Event{{ID: "e1", Tags: []string{"nba"}}}
		tick(t, n.markets.Tick, time.Minute)
		if got := n.tags(); got != "a[nba]sports b[]" || len(n.up.events) != 2 {
			t.Errorf("after an hour: got %s with requests for %v", got, n.up.events)
		}
		n.later(2 * time.Hour)
		n.up.top, n.up.byIDErr = []market.Market{grouped("c", "e2")}, &source.Error{Reason: "http_400"}
		n.up.eventsErr = &source.Error{Reason: "http_429", RetryAfter: 3 * time.Minute}
		tick(t, n.markets.Tick, 3*time.Minute) // the pause counts, although another request failed before
	})
}

// TestTickMovesMarkets checks that a tick moves the topic, so that other nodes learn that market data has
// changed.
func TestTickMovesMarkets(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		c := cachetest.Open(t, cache.Memory)
		w := generation.NewWatcher(db.Reader, slog.New(slog.DiscardHandler))
		before := w.Stamp()
		n := newNode(db, c)
		n.up.top = []market.Market{yesNo("a", 1)}
		tick(t, n.markets.Tick, time.Minute)
		if err := w.Check(t.Context()); err != nil || w.Stamp().Same(before, []generation.Topic{generation.Markets}) {
			t.Errorf("the topic didn't move (%v)", err)
		}
	})
}
