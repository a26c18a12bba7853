package demo

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/source"
)

const (
	// probePatience is how long a tick waits for the first page of live markets, so that a network that drops
	// everything hardly slows the sample. readPatience limits a whole reading once the source answers, and a
	// reading of news. It may be longer because no price waits for it, but it must leave time for the next
	// source.
	probePatience = 5 * time.Second
	readPatience  = 20 * time.Second
)

// MarketSource reads the live source. Until that has answered for the first time, a reading that it doesn't
// answer returns the sample's current markets, with the reason in Fallback. After the first answer, only the
// live source is used.
type MarketSource struct {
	live source.MarketSource
	standIn
	aside atomic.Bool // StepAside has retired the sample
}

// NewsSource reads the live source in the same way as MarketSource. The sample's news doesn't change.
type NewsSource struct {
	live source.NewsSource
	standIn
}

var (
	_ source.MarketSource = (*MarketSource)(nil)
	_ source.NewsSource   = (*NewsSource)(nil)
)

// NewMarketSource returns a source that stands in for live on a database with the sample world.
func NewMarketSource(live source.MarketSource, db *database.DB, now func() time.Time, log *slog.Logger) *MarketSource {
	return &MarketSource{live: live, standIn: standIn{
		db: db, now: now, log: log, feed: "markets", hasLive: market.Store{}.HasLive,
	}}
}

// NewNewsSource returns a source that stands in for live on a database with the sample world.
func NewNewsSource(live source.NewsSource, db *database.DB, now func() time.Time, log *slog.Logger) *NewsSource {
	return &NewsSource{
		live: live, standIn: standIn{db: db, now: now, log: log, feed: "news", hasLive: news.Store{}.HasLive},
	}
}

// Top returns the live source's markets. If there is no answer, it returns the sample's open markets, and the
// closed ones that aren't yet observed as closed or settled.
func (s *MarketSource) Top(ctx context.Context, n int) (source.Markets, error) {
	answered, err := s.liveAnswered(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	if answered {
		return s.live.Top(ctx, n)
	}
	var got source.Markets
	failure := s.ask(ctx, probePatience, func(ctx context.Context) error {
		_, err := s.live.Top(ctx, 1)
		return err
	})
	if failure == nil {
		failure = s.ask(ctx, readPatience, func(ctx context.Context) (err error) {
			got, err = s.live.Top(ctx, n)
			return err
		})
	}
	if failure == nil {
		return got, nil
	}
	all, err := s.world(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	open := market.OpenByVolume(all)
	closed := slices.DeleteFunc(all, func(m market.Market) bool { return !m.Closed })
	return source.Markets{
		Markets: append(open[:min(len(open), n)], closed...), ObservedAt: database.Stored(s.now()), Fallback: failure,
	}, nil
}

// ByID returns the live source's markets, or those of the sample that Top may return.
func (s *MarketSource) ByID(ctx context.Context, ids []string) (source.Markets, error) {
	answered, err := s.liveAnswered(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	if answered {
		return s.live.ByID(ctx, ids)
	}
	all, err := s.world(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	named := slices.DeleteFunc(all, func(m market.Market) bool { return !slices.Contains(ids, m.ID) })
	return source.Markets{Markets: named, ObservedAt: database.Stored(s.now())}, nil
}

// Events returns the live source's events once it has answered. The sample's events have no further tags.
func (s *MarketSource) Events(ctx context.Context, ids []string) ([]market.Event, error) {
	answered, err := s.liveAnswered(ctx)
	if err != nil {
		return nil, err
	}
	if answered {
		return s.live.Events(ctx, ids)
	}
	return nil, nil
}

// Winner asks the live source about its own markets. A sample's closing prices show the winner.
func (s *MarketSource) Winner(ctx context.Context, m *market.Market) (outcome int, ok bool, err error) {
	if !m.Sample {
		return s.live.Winner(ctx, m)
	}
	v := m.Verdict()
	return v.Winner, v.Winner >= 0, nil
}

// StepAside takes the sample's open markets out of the lists once a live market is stored, because no reading updates
// them any more. It is for ingest.Markets.After.
func (s *MarketSource) StepAside(ctx context.Context, observed []market.Market) error {
	if s.aside.Load() || !slices.ContainsFunc(observed, func(m market.Market) bool { return !m.Sample }) {
		return nil
	}
	err := s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := (market.Store{}).RetireSamples(ctx, tx); err != nil {
			return err
		}
		return generation.Move(ctx, tx, generation.Markets)
	})
	s.aside.Store(err == nil)
	return err
}

// world returns the current state of the sample's markets: those stored as open, and closed ones with
// predictions left to settle.
func (s *MarketSource) world(ctx context.Context) ([]market.Market, error) {
	var ids []string
	db := s.db.Reader
	err := market.Select(db).Column("m.id").Where("m.sample AND m.active").
		Where("NOT m.closed OR EXISTS (?) OR EXISTS (?)", prediction.OpenOn(db, "m.id"), settlement.SelectOpenReferences(db, "m.id")).Scan(ctx, &ids)
	if err != nil {
		return nil, fmt.Errorf("list sample markets: %w", err)
	}
	stored, err := market.Store{}.ByIDs(ctx, s.db.Reader, ids)
	if err != nil {
		return nil, err
	}
	var all []market.Market
	events := map[string][]market.Market{}
	now := database.Stored(s.now())
	for _, m := range stored {
		if m.Closed {
			m.ObservedAt = now
			all = append(all, m)
		} else {
			events[m.EventKey()] = append(events[m.EventKey()], m)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(events)) {
		all = append(all, livedOn(events[key], now)...)
	}
	return all, nil
}

// Read returns the live source's news, or the sample's.
func (s *NewsSource) Read(ctx context.Context) (source.News, error) {
	answered, err := s.liveAnswered(ctx)
	if err != nil {
		return source.News{}, err
	}
	if answered {
		return s.live.Read(ctx)
	}
	var got source.News
	failure := s.ask(ctx, readPatience, func(ctx context.Context) (err error) {
		got, err = s.live.Read(ctx)
		return err
	})
	if failure == nil {
		return got, nil
	}
	posts, err := news.Store{}.Samples(ctx, s.db.Reader)
	if err != nil {
		return source.News{}, err
	}
	now := database.Stored(s.now())
	for i := range posts {
		posts[i].ObservedAt = now
	}
	return source.News{Items: posts, Source: Source, ObservedAt: now, Fallback: failure}, nil
}

// Interval returns the live source's interval.
func (s *NewsSource) Interval() time.Duration { return s.live.Interval() }
