package moderation_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// BenchmarkAgents reads the first page and one later page of a table of 100,000 agents, with every
// sort and filter. Every p99 must stay below 50 ms on an idle machine.
func BenchmarkAgents(b *testing.B) {
	db := dbtest.Open(b, database.Postgres)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if err := load.Run(b.Context(), db, 100_000, 500_000, at); err != nil {
		b.Fatal(err)
	}
	now := func() time.Time { return at }
	if err := leaderboard.NewBuilder(db, leaderboard.Thresholds{Events: 2, CategoryEvents: 2, Days: 1}, now).Rebuild(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, query := range []string{
		`INSERT INTO agent_usage (agent_id, hour, requests, errors, limited) SELECT a.id, ?::timestamptz - h * interval '1 hour', 10 + h, h % 3, 0
			FROM agents AS a, generate_series(1, 24) AS h WHERE a.kind = 'agent'`,
		`UPDATE agents SET last_seen_at = ?::timestamptz - ('x' || right(id::text, 4))::bit(16)::int * interval '1 second' WHERE right(handle, 1) <> '7'`,
		`UPDATE agents SET status = 'disabled', disabled_at = ? WHERE handle LIKE '%77'`,
	} {
		if _, err := db.ExecContext(b.Context(), query, at); err != nil {
			b.Fatal(err)
		}
	}
	begin := time.Now()
	if err := prediction.CountActivity(b.Context(), db, at, true); err != nil {
		b.Fatal(err)
	}
	b.Logf("counted the activity of 100,000 agents in %v", time.Since(begin).Round(time.Millisecond))
	if _, err := db.ExecContext(b.Context(), "ANALYZE"); err != nil {
		b.Fatal(err)
	}
	filters := []moderation.AgentFilter{{Q: "load 4242"}, {Q: "77", Sort: "skill"}, {Status: agent.Disabled}, {Status: agent.Disabled, Sort: "requests"}, {Q: "nothing like it", Sort: "total"}, {Q: "7"}, {Q: "load"}, {Q: "zq"}, {Q: "load 9999", Sort: "skill"}}
	for _, sort := range moderation.Sorts() {
		filters = append(filters, moderation.AgentFilter{Sort: sort})
	}
	for _, f := range filters {
		f.Limit = 50
		b.Run(fmt.Sprintf("sort=%s,status=%s,q=%s", f.Sort, f.Status, f.Q), func(b *testing.B) {
			var spans []time.Duration
			read := func(f moderation.AgentFilter) string {
				begin := time.Now()
				_, next, err := service(db).Agents(b.Context(), f)
				if err != nil {
					b.Fatal(err)
				}
				spans = append(spans, time.Since(begin))
				return next
			}
			for b.Loop() {
				if f.Cursor = read(f); f.Cursor != "" {
					read(f)
				}
				f.Cursor = ""
			}
			slices.Sort(spans)
			b.ReportMetric(float64(spans[len(spans)/2].Microseconds()), "p50-µs")
			b.ReportMetric(float64(spans[len(spans)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// BenchmarkFindAgents searches a table of 100,000 agents on each database. It uses rare and common
// texts, long and short. Every p99 must stay below 50 ms on an idle machine.
func BenchmarkFindAgents(b *testing.B) {
	first := []string{"Harbor", "Quiet", "Delta", "Copper", "Signal", "Amber", "North", "Vector", "Paper", "Lunar"}
	second := []string{"Pilot", "Oracle", "Fox", "Engine", "Scout", "Ledger", "Prophet", "Weaver", "Lantern", "Ömür"}
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for _, kind := range dbtest.Kinds {
		db := dbtest.Open(b, kind)
		begin := time.Now()
		for batch := range 200 { // triggers update the search labels, so insert in batches
			agents := make([]agent.Agent, 500)
			for i := range agents {
				n := batch*500 + i
				name := fmt.Sprintf("%s %s %d", first[n%10], second[n/10%10], n)
				agents[i] = agent.Agent{ID: database.NewID(at.Add(time.Duration(n) * time.Millisecond)), Handle: agent.HandleFrom(name), Kind: agent.Ordinary,
					Profile: agent.Profile{Name: name}, Status: agent.Active, CreatedAt: at}
			}
			if _, err := db.NewInsert().Model(&agents).Exec(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.Logf("%s: added 100,000 agents in %v", kind, time.Since(begin).Round(time.Millisecond))
		if _, err := db.ExecContext(b.Context(), "ANALYZE"); err != nil {
			b.Fatal(err)
		}
		for _, words := range []string{"harbor pilot 4200", "99997", "pilot", "ömür 9", "7", "zq", "no such agent"} {
			b.Run(fmt.Sprintf("%s/%s", kind, words), func(b *testing.B) {
				var spans []time.Duration
				for b.Loop() {
					begin := time.Now()
					if _, _, err := service(db).Agents(b.Context(), moderation.AgentFilter{Q: words, Limit: 50}); err != nil {
						b.Fatal(err)
					}
					spans = append(spans, time.Since(begin))
				}
				slices.Sort(spans)
				b.ReportMetric(float64(spans[len(spans)/2].Microseconds()), "p50-µs")
				b.ReportMetric(float64(spans[len(spans)*99/100].Microseconds()), "p99-µs")
			})
		}
	}
}
