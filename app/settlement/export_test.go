package settlement

import (
	"context"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
)

// Crowd creates a market with a prediction with a baseline from each of n agents, and a board of
// these agents. It returns a function that settles the market. It needs Postgres.
func Crowd(t testing.TB, db *database.DB, n int) (settle func(context.Context) error) {
	w := newWorld(t, db)
	observed := w.crowd(n)
	_, err := db.ExecContext(context.Background(), "VACUUM ANALYZE")
	w.must(err)
	return func(ctx context.Context) error { return w.service(0).AfterMarkets(ctx, observed) }
}

// crowd does the work of Crowd. It returns the market as observed after its close.
func (w *world) crowd(n int) []market.Market {
	m := w.market("1", "e1", "politics", start)
	m.Prices = []float64{.5, .5}
	w.clock = start.Add(time.Minute)
	w.observe(m)
	const agent = "('01000000-0000-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid"
	for _, sql := range []string{
		"INSERT INTO agents (id, handle, name, kind, status, sample, created_at) SELECT " + agent + ", 'a' || i, 'A', 'local', 'active', FALSE, now() FROM generate_series(1, ?0) AS i",
		"INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days) SELECT " + agent + ", 1, 1, 0, 0, 1 FROM generate_series(1, ?0) AS i",
		"INSERT INTO clusters (agent_id, event_key, category, day, next_index, settled, disagreements, value) SELECT " + agent + ", 'e:e1', 'politics', '2026-11-20', 1, 0, 0, 0 FROM generate_series(1, ?0) AS i",
		`INSERT INTO predictions (id, agent_id, title, thesis, confidence, horizon_at, category, model, evidence, market_id, outcome, outcome_index, event_key, scheduled_close_at, hidden, sample, created_at)
			SELECT ('01999999-9999-7000-8000-' || lpad(to_hex(i), 12, '0'))::uuid, ` + agent + `, 'Will it happen by the end of the year?', repeat('Because of what was said on the news today. ', 10),
			(i % 10001) / 10000.0, '2026-12-01', 'politics', 'model', '[]', '1', 'Yes', 0, 'e:e1', '2026-11-20 08:00:00+00',
			FALSE, FALSE, '2026-11-20 08:00:30+00' FROM generate_series(1, ?0) AS i`,
		`INSERT INTO results (id, agent_id, market_id, horizon_at, scheduled_close_at, sample, created_at, baseline_state, baseline, baseline_before, baseline_after, baseline_observed_at, weight_index, status)
			SELECT id, agent_id, market_id, horizon_at, scheduled_close_at, sample, created_at, 'fixed', .5, .5, .5, '2026-11-20 08:01:00+00', 0, 'open' FROM predictions`,
		"INSERT INTO boards (span, category, as_of, kappa, sigma2, ranked) VALUES ('all', '', '2026-11-20', 100, 100, ?0)",
		`INSERT INTO board_rows (span, category, agent_id, position, model, reference, provisional, rank, rank_low, rank_high,
			skill, skill_low, skill_high, events, cluster_sum, cluster_squares, disagreements, resolved)
			SELECT 'all', '', ` + agent + `, decode(lpad(to_hex(i), 66, '0'), 'hex'), '', FALSE, FALSE, i, i, i, 1.0 / i, 0, 1, 30, 1, 1, 10, 30 FROM generate_series(1, ?0) AS i`,
	} {
		_, err := w.db.ExecContext(context.Background(), sql, n)
		w.must(err)
	}
	w.clock = start.Add(time.Hour)
	closeWith(m, w.clock, 1, 0)
	return w.observe(m)
}
