package settlement

import (
	"context"
	"errors"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

const (
	// chunkSize is how many predictions one transaction moves. It is large enough to be fast, and small enough
	// that publishing and reading never wait long.
	chunkSize = 1000
	// chunkSizeSQLite is chunkSize on SQLite, where every publication waits for the transaction. 50 predictions
	// take about 10 ms, and a larger chunk would save no time.
	chunkSizeSQLite = 50
	// listedPending is how many predictions without a baseline one query lists.
	listedPending = 100_000
)

// Options configure a Service. Only DB is required.
type Options struct {
	DB *database.DB
	// Interval is the time between two readings of the markets (MARKETS_INTERVAL).
	Interval time.Duration
	// MinLiquidity is the liquidity below which a market gives no baseline (RANKED_MIN_LIQUIDITY),
	// in US dollars. 0 turns the check off.
	MinLiquidity float64
	Now          func() time.Time
	// Winner asks the order book which outcome of a closed market won, as
	// source.MarketSource.Winner does. If it is nil, markets without a clear result wait.
	Winner func(ctx context.Context, m *market.Market) (outcome int, ok bool, err error)
}

// Service fixes baselines and settles. It is safe for concurrent use, also by
// several processes on one database.
type Service struct {
	db           *database.DB
	interval     time.Duration
	minLiquidity float64
	now          func() time.Time
	winner       func(ctx context.Context, m *market.Market) (int, bool, error)
	chunk        int
	listed       int // see listedPending
	// afterChunk runs after each committed chunk. Tests stop the work with it.
	afterChunk func() error
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{
		db: o.DB, interval: o.Interval, minLiquidity: o.MinLiquidity, now: o.Now, winner: o.Winner,
		chunk: chunkSize, listed: listedPending, afterChunk: func() error { return nil },
	}
	if o.DB.Kind == database.SQLite {
		s.chunk = chunkSizeSQLite
	}
	if s.interval <= 0 {
		s.interval = time.Minute
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// cell is the category and day of one row of an agent's sums.
type cell struct{ Category, Day string }

// AfterMarkets is called by ingest after it has stored a reading of the markets and their prices.
// It fixes baselines, settles markets that have closed and reverses those that have reopened. An
// error on one market doesn't stop the others. The next call continues unfinished work. Baselines take at most half of
// the time left, so that many of them don't keep markets from being settled.
func (s *Service) AfterMarkets(ctx context.Context, observed []market.Market) error {
	fifty := s.addFifty(ctx, observed)
	var half time.Time
	if end, ok := ctx.Deadline(); ok {
		half = end.Add(-time.Until(end) / 2)
	}
	return errors.Join(fifty, s.fixBaselines(ctx, half), s.settleObserved(ctx, observed))
}
