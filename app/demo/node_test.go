package demo

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/cache"
	"github.com/pulsecast/pulsecast/app/cache/cachetest"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
)

// upstream is a live market and news source that answers as a test sets it.
type upstream struct {
	markets []market.Market
	items   []news.Item
	err     error
	asked   []time.Duration // the timeout of each request
}

func (u *upstream) note(ctx context.Context) {
	deadline, _ := ctx.Deadline()
	u.asked = append(u.asked, time.Until(deadline))
}

func (u *upstream) Top(ctx context.Context, n int) (source.Markets, error) {
	u.note(ctx)
	return source.Markets{Markets: u.markets[:min(n, len(u.markets))]}, u.err
}

func (u *upstream) ByID(context.Context, []string) (source.Markets, error) {
	return source.Markets{}, u.err
}

func (u *upstream) Events(context.Context, []string) ([]market.Event, error) {
	return nil, nil
}

func (u *upstream) Winner(context.Context, *market.Market) (int, bool, error) { return 1, true, nil }

func (u *upstream) Read(ctx context.Context) (source.News, error) {
	u.note(ctx)
	return source.News{Items: u.items, Source: "reddit"}, u.err
}

func (u *upstream) Interval() time.Duration { return time.Minute }

// node is a node of a demo whose live sources fail, with a clock.
type node struct {
	t       *testing.T
	db      *database.DB
	clock   time.Time
	up      *upstream
	markets *ingest.Markets
	news    *ingest.News
}

func newNode(t *testing.T, db *database.DB) *node {
	t.Helper()
	n := &node{t: t, db: db, clock: firstLook, up: &upstream{err: &source.Error{Reason: "unreachable", Err: errors.New("no such host")}}}
	now, log, c := func() time.Time { return n.clock }, slog.New(slog.DiscardHandler), cachetest.Open(t, cache.Memory)
	settle := settlement.New(settlement.Options{DB: db, Interval: time.Minute, MinLiquidity: 1000, Now: now})
	markets := NewMarketSource(n.up, db, now, log)
	n.markets = &ingest.Markets{
		Source: markets, DB: db, Interval: time.Minute, Now: now, Log: log,
		Replicator: signal.NewReplicator(signal.NewFeed(signal.Codec[market.Market]{Name: "markets",
			Encode: func(dst []byte, m *market.Market) []byte { return append(dst, `"`+m.ID+`"`...) },
			Text:   func(m *market.Market) string { return m.Question }}, now), db, c, log),
		Watch: settle.Unsettled, Ended: settle.Ended,
		After: []func(context.Context, []market.Market) error{func(ctx context.Context, observed []market.Market) error {
			err := settle.AfterMarkets(ctx, observed)
			if err != nil {
				t.Error(err)
			}
			return err
		}, markets.StepAside},
	}
	n.news = &ingest.News{
		Source: NewNewsSource(n.up, db, now, log), DB: db, Interval: 2 * time.Minute, Now: now, Log: log,
		Replicator: signal.NewReplicator(signal.NewFeed(signal.Codec[news.Item]{Name: "news",
			Encode: func(dst []byte, n *news.Item) []byte { return append(dst, `"`+n.ID+`"`...) },
			Text:   func(n *news.Item) string { return n.Title }}, now), db, c, log),
	}
	return n
}

var seededURL = dbtest.Filled(func(ctx context.Context, db *database.DB) error { return Seed(ctx, db, firstLook) })

// seeded returns a node of a demo that has just started.
func seeded(t *testing.T, kind database.Kind) *node {
	t.Helper()
	return newNode(t, dbtest.OpenAt(t, seededURL(t, kind)))
}

// eachSeeded runs test once per engine, in parallel, each with a node of a demo that has just started.
func eachSeeded(t *testing.T, test func(t *testing.T, n *node)) {
	t.Helper()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, seeded(t, kind))
		})
	}
}

// tick moves the clock and reads both feeds.
func (n *node) tick(after time.Duration) (markets, items error) {
	n.clock = n.clock.Add(after)
	_, markets = n.markets.Tick(n.t.Context())
	_, items = n.news.Tick(n.t.Context())
	return markets, items
}

func (n *node) mustTick(after time.Duration) {
	n.t.Helper()
	if err := errors.Join(n.tick(after)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *node) state(feed string) ingest.FeedState {
	n.t.Helper()
	s, _, err := ingest.State(n.t.Context(), n.db.Reader, feed)
	if err != nil {
		n.t.Fatal(err)
	}
	return s
}

func (n *node) market(id string) *market.Market {
	n.t.Helper()
	m, found, err := market.Store{}.ByID(n.t.Context(), n.db.Reader, id)
	if err != nil || !found {
		n.t.Fatalf("market %s: got found %v, %v", id, found, err)
	}
	return m
}

// publish stores a visitor's prediction on a sample market.
func (n *node) publish(marketID string) prediction.Prediction {
	n.t.Helper()
	m, outcome := n.market(marketID), 0
	p := prediction.Prediction{ID: database.NewID(n.clock), Title: "t", Thesis: "t", Confidence: 0.9, HorizonAt: m.ClosesAt, Category: "general",
		Evidence: []prediction.Evidence{}, MarketID: m.ID, Outcome: m.Outcomes[0], OutcomeIndex: &outcome, EventKey: m.EventKey(), MarketCategory: m.Category,
		ScheduledCloseAt: m.ClosesAt, BaselineState: prediction.Pending, Status: prediction.Open, CreatedAt: n.clock}
	err := n.db.InTx(n.t.Context(), func(ctx context.Context, tx bun.Tx) error {
		visitor, err := agent.Store{}.Create(ctx, tx, agent.New{Profile: agent.Profile{Name: "Visitor"}, At: n.clock})
		if err != nil {
			return err
		}
		p.AgentID = visitor.ID
		return prediction.Store{}.Insert(ctx, tx, &p)
	})
	if err != nil {
		n.t.Fatal(err)
	}
	return p
}

func (n *node) prediction(of prediction.Prediction) prediction.Prediction {
	n.t.Helper()
	p := prediction.Prediction{ID: of.ID}
	if err := n.db.NewSelect().Model(&p).WherePK().Scan(n.t.Context()); err != nil {
		n.t.Fatal(err)
	}
	return p
}
