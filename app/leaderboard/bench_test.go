package leaderboard_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
)

// sizes holds numbers of agents and predictions. BENCH_LARGE=1 adds the size that the service is
// designed for, which takes some minutes and 15 GB of disk.
func sizes() [][2]int {
	s := [][2]int{{1_000, 100_000}, {10_000, 1_000_000}}
	if os.Getenv("BENCH_LARGE") != "" {
		s = append(s, [2]int{100_000, 10_000_000})
	}
	return s
}

// BenchmarkBoard measures what a board costs at growing sizes: a full build, a build after a
// settlement, and reads of its pages. The p99 of the reads must not grow by more than half.
func BenchmarkBoard(b *testing.B) {
	for _, size := range sizes() {
		db := dbtest.Open(b, database.Postgres)
		at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		begin := time.Now()
		if err := load.Run(b.Context(), db, size[0], size[1], at); err != nil {
			b.Fatal(err)
		}
		b.Logf("loaded %d agents, %d predictions in %v", size[0], size[1], time.Since(begin).Round(time.Second))
		name := fmt.Sprintf("%dk", size[1]/1000)
		c := &clock{at: at}
		builder := leaderboard.NewBuilder(db, thresholds, c.now)
		b.Run("rebuild/"+name, func(b *testing.B) {
			for b.Loop() {
				if err := builder.Rebuild(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("settlement/"+name, func(b *testing.B) { benchSettlement(b, db, c, builder) })
		b.Run("page/"+name, func(b *testing.B) { benchPages(b, db, c) })
	}
}

// benchSettlement measures the build after the settlement of a market with a hundred agents.
func benchSettlement(b *testing.B, db *database.DB, c *clock, builder *leaderboard.Builder) {
	for b.Loop() {
		b.StopTimer()
		c.move(time.Hour / 100)
		for _, query := range []string{
			`INSERT INTO score_entries (id, prediction_id, seq, kind, agent_id, value, source, brier, category, rules_version, created_at)
				SELECT (lpad(to_hex((extract(epoch FROM ?0::timestamptz) * 1000)::bigint), 12, '0') || substr(md5(id::text), 13))::uuid, id, (SELECT COUNT(*) FROM score_entries), 'score', agent_id, 1, 'market', 0, 'category-0', '1', ?0
				FROM (SELECT id, agent_id FROM predictions WHERE market_id = 'load-7' LIMIT 100) AS p`,
			`UPDATE agent_days SET cluster_sum = cluster_sum + 1000, resolved = resolved + 0 * extract(epoch FROM ?::timestamptz)::bigint
				WHERE day = '2026-11-18' AND category = 'category-0' AND agent_id IN (SELECT agent_id FROM score_entries)`,
		} {
			if _, err := db.ExecContext(b.Context(), query, c.now()); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if built, err := builder.Tick(b.Context()); err != nil || !built {
			b.Fatalf("built %v, %v", built, err)
		}
	}
}

// benchPages reads first and later pages, and reports the p99 of each.
func benchPages(b *testing.B, db *database.DB, c *clock) {
	// Write out what building left in memory, so that the reads don't pay for it.
	if _, err := db.ExecContext(b.Context(), "CHECKPOINT"); err != nil {
		b.Fatal(err)
	}
	store := leaderboard.NewStore(thresholds, c.now)
	spans := map[string][]time.Duration{}
	read := func(kind string, f leaderboard.Filter) *leaderboard.Page {
		begin := time.Now()
		p, err := store.Read(b.Context(), db.Reader, f)
		if err != nil {
			b.Fatal(err)
		}
		spans[kind] = append(spans[kind], time.Since(begin))
		return p
	}
	for b.Loop() {
		first := read("first", leaderboard.Filter{Limit: 24})
		next := read("next", leaderboard.Filter{Limit: 24, Cursor: first.Next})
		read("next", leaderboard.Filter{Limit: 24, Cursor: next.Next})
		read("category", leaderboard.Filter{Limit: 24, Window: leaderboard.Days90, Category: "category-3"})
		read("model", leaderboard.Filter{Limit: 24, Model: "model-3"})
		c.move(50 * time.Millisecond)
	}
	for kind, list := range spans {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)*99/100].Microseconds()), kind+"-p99-µs")
	}
}
