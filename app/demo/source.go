package demo

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
	"github.com/pulsecast/pulsecast/app/source"
)

const (
	// probePatience is how long a tick waits for the first page of live markets, so
	// that a network that swallows everything hardly slows the sample; readPatience
	// bounds a whole reading once the source is known to answer, and that of the news:
	// no price waits for it, and a source that hangs must leave the next one time.
	probePatience = 5 * time.Second
	readPatience  = 20 * time.Second
)

// MarketSource is a live source, and the sample world until that has answered once:
// then it is the live source alone. Each reading asks the live source first. When that
// fails, the sample's markets answer as they stand now, and Fallback says why.
type MarketSource struct {
	live source.MarketSource
	understudy
}

// NewsSource does the same for the news, which stays as it is.
type NewsSource struct {
	live source.NewsSource
	understudy
}

var (
	_ source.MarketSource = (*MarketSource)(nil)
	_ source.NewsSource   = (*NewsSource)(nil)
)

// NewMarketSource stands in for live on a database that holds the sample world.
func NewMarketSource(live source.MarketSource, db *database.DB, now func() time.Time, log *slog.Logger) *MarketSource {
	return &MarketSource{live: live, understudy: understudy{
		db: db, now: now, log: log, feed: "markets", hasLive: market.Store{}.HasLive,
	}}
}

// NewNewsSource stands in for live on a database that holds the sample world.
func NewNewsSource(live source.NewsSource, db *database.DB, now func() time.Time, log *slog.Logger) *NewsSource {
	return &NewsSource{
		live: live, understudy: understudy{db: db, now: now, log: log, feed: "news", hasLive: news.Store{}.HasLive},
	}
}

// Top is the live source's; or else all of the sample's open markets, with those that
// have closed since they were last observed or are not settled yet.
func (s *MarketSource) Top(ctx context.Context, n int) (source.Markets, error) {
	relieved, err := s.isRelieved(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	if relieved {
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
		Markets: append(open[:min(len(open), n)], closed...), ObservedAt: database.Now(s.now()), Fallback: failure,
	}, nil
}

// ByID is the live source's, or else the named ones of the sample that Top may show.
func (s *MarketSource) ByID(ctx context.Context, ids []string) (source.Markets, error) {
	relieved, err := s.isRelieved(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	if relieved {
		return s.live.ByID(ctx, ids)
	}
	all, err := s.world(ctx)
	if err != nil {
		return source.Markets{}, err
	}
	named := slices.DeleteFunc(all, func(m market.Market) bool { return !slices.Contains(ids, m.ID) })
	return source.Markets{Markets: named, ObservedAt: database.Now(s.now())}, nil
}

// Events is the live source's once it has answered; the sample's events have no tags to ask
// for.
func (s *MarketSource) Events(ctx context.Context, ids []string) (source.Events, error) {
	relieved, err := s.isRelieved(ctx)
	if err != nil {
		return source.Events{}, err
	}
	if relieved {
		return s.live.Events(ctx, ids)
	}
	return source.Events{Asked: ids}, nil
}

// Winner is the live source's for its markets. A sample's closing prices say it all.
func (s *MarketSource) Winner(ctx context.Context, m *market.Market) (outcome int, ok bool, err error) {
	if !m.Sample {
		return s.live.Winner(ctx, m)
	}
	v := m.Verdict()
	return v.Winner, v.Winner >= 0, nil
}

// world is how the sample's markets stand now: those that are open as far as is
// stored, and those that closed with something left to settle.
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
	for _, m := range stored {
		if m.Closed {
			all = append(all, m)
		} else {
			events[m.EventKey()] = append(events[m.EventKey()], m)
		}
	}
	now := database.Now(s.now())
	for _, key := range slices.Sorted(maps.Keys(events)) {
		all = append(all, livedOn(events[key], now)...)
	}
	return all, nil
}

// Read is the live source's, or else the sample's posts.
func (s *NewsSource) Read(ctx context.Context) (source.News, error) {
	relieved, err := s.isRelieved(ctx)
	if err != nil {
		return source.News{}, err
	}
	if relieved {
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
	return source.News{Items: posts, Source: Source, ObservedAt: database.Now(s.now()), Fallback: failure}, nil
}

// Interval is the live source's.
func (s *NewsSource) Interval() time.Duration { return s.live.Interval() }
