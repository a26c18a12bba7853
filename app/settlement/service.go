package settlement

import (
	"context"
	"errors"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

// chunkSize is how many predictions one transaction moves: large enough to be fast,
// small enough that publishing and reading never wait long.
const chunkSize = 1000

// Options configure a Service. Only DB is required.
type Options struct {
	DB *database.DB
	// Interval is the time between two readings of the markets (MARKETS_INTERVAL).
	Interval time.Duration
	// MinLiquidity is the liquidity below which a market gives no baseline
	// (RANKED_MIN_LIQUIDITY), in the market's currency; 0: none.
	MinLiquidity float64
	Now          func() time.Time
	// Winner asks the order book which outcome of a closed market won, as
	// source.MarketSource.Winner; nil: such markets wait.
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
	// afterChunk runs after each committed chunk; tests stop the work there.
	afterChunk func() error
}

// New makes a Service.
func New(o Options) *Service {
	s := &Service{
		db: o.DB, interval: o.Interval, minLiquidity: o.MinLiquidity, now: o.Now, winner: o.Winner,
		chunk: chunkSize, afterChunk: func() error { return nil },
	}
	if s.interval <= 0 {
		s.interval = time.Minute
	}
	if s.now == nil {
		s.now = time.Now
	}
	return s
}

// cell is one part of an agent's sums.
type cell struct{ Category, Day string }

// AfterMarkets is the hook that ingest calls once a reading of the markets and its
// prices are stored. It fixes baselines, settles what has closed and reverses what has
// reopened. A market that fails does not hold up the others; what is left undone is
// taken up by the next call.
func (s *Service) AfterMarkets(ctx context.Context, observed []market.Market) error {
	return errors.Join(
		s.meetMarkets(ctx, observed),
		s.FixBaselines(ctx),
		s.settleObserved(ctx, observed),
	)
}
