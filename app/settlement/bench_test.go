package settlement

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/market"
)

// BenchmarkSettle100k settles a market with 100,000 predictions of as many agents
// that hold earlier records, on Postgres, while a reader leafs through a board of
// 100,000 rows. It reports the seconds to settle and the 99th percentiles of all reads
// meanwhile, and of the first page and those behind it, before and during.
func BenchmarkSettle100k(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		w := newWorld(b, dbtest.Open(b, database.Postgres))
		m := crowd(w, 100_000)
		quiet := readBoards(b, w, make(chan struct{}), 500)
		done := make(chan struct{})
		busy := make(chan reads)
		go func() { busy <- readBoards(b, w, done, 0) }()
		closeWith(m, w.clock, 1, 0)
		observed := w.observe(m)
		b.StartTimer()
		begin := time.Now()
		if err := w.service(0).AfterMarkets(b.Context(), observed); err != nil {
			b.Fatal(err)
		}
		seconds := time.Since(begin).Seconds()
		b.StopTimer()
		close(done)
		during := <-busy
		var resolved int
		w.must(w.db.NewRaw("SELECT count(*) FROM score_entries").Scan(b.Context(), &resolved))
		if resolved != 100_000 {
			b.Fatalf("%d of 100,000 settled", resolved)
		}
		b.ReportMetric(seconds, "s/100k")
		b.ReportMetric(percentile(slices.Concat(during.first, during.next)), "busy-p99-ms")
		b.ReportMetric(percentile(quiet.next), "quiet-next-p99-ms")
		b.ReportMetric(percentile(during.first), "busy-first-p99-ms")
		b.ReportMetric(percentile(during.next), "busy-next-p99-ms")
		b.ReportMetric(float64(len(during.first)+len(during.next))/seconds, "reads/s")
		b.StartTimer()
	}
}

// crowd makes a market with a prediction with a baseline from each of n agents.
func crowd(w *world, n int) *market.Market {
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
		"VACUUM ANALYZE",
	} {
		_, err := w.db.ExecContext(context.Background(), sql, n)
		w.must(err)
	}
	w.clock = start.Add(time.Hour)
	return m
}

// reads are what reading pages took.
type reads struct{ first, next []time.Duration }

// readBoards reads the first page of the leaderboard and the next of the others, in
// turns, until told to stop or the count is reached.
func readBoards(b *testing.B, w *world, done chan struct{}, count int) (took reads) {
	store := leaderboard.NewStore(leaderboard.Thresholds{}, time.Now)
	read := func(cursor string) (next string, span time.Duration) {
		begin := time.Now()
		page, err := store.Page(context.Background(), w.db.Reader, leaderboard.Filter{Limit: 24, Cursor: cursor})
		if err != nil || len(page.Entries) == 0 {
			b.Errorf("no page after %q: %v", cursor, err)
			return "", 0
		}
		return page.Next, time.Since(begin)
	}
	cursor := ""
	for i := 0; count == 0 || i < count; i++ {
		select {
		case <-done:
			return took
		case <-time.After(4 * time.Millisecond):
		}
		second, span := read("")
		took.first = append(took.first, span)
		cursor, span = read(cmp.Or(cursor, second))
		took.next = append(took.next, span)
	}
	return took
}

// percentile is the 99th, in milliseconds.
func percentile(took []time.Duration) float64 {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return float64(took[len(took)*99/100].Microseconds()) / 1000
}
