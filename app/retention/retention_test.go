package retention_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/retention"
)

// TestRun checks that each table that grows with use keeps its recent rows and loses its old ones.
func TestRun(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			clock := func() time.Time { return now }
			db := dbtest.Open(t, kind)
			days := func(n int) time.Time { return now.AddDate(0, 0, -n) }
			const agent = "00000000-0000-7000-8000-000000000001" // created by the migrations
			const admin = "00000000-0000-7000-8000-0000000000aa"
			run := func(query string, args ...any) {
				t.Helper()
				if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
					t.Fatal(err)
				}
			}
			run("INSERT INTO admins (id, name, password, created_at) VALUES (?, 'eve', 'x', ?)", admin, now)
			tables := []struct {
				name, insert string
				young, old   time.Time
			}{
				{"agent_usage", "INSERT INTO agent_usage (agent_id, hour, requests, errors, limited) VALUES (?1, ?0, 1, 0, 0)", days(89), days(91)},
				{"agent_endpoints", "INSERT INTO agent_endpoints (agent_id, hour, method, route, ok, refused, limited, failed) VALUES (?1, ?0, 'GET', '/', 1, 0, 0, 0)", days(13), days(15)},
				{"agent_errors", "INSERT INTO agent_errors (id, agent_id, created_at, method, route, status, code, request_id) VALUES (?2, ?1, ?0, 'GET', '/', 404, 'not_found', 'r')", days(29), days(31)},
				{"sessions", "INSERT INTO sessions (hash, agent_id, credential, scope, created_at, expires_at) VALUES (?4, ?1, ?3, '', ?0, ?0)", now.Add(time.Minute), now.Add(-time.Minute)},
				{"admin_attempts", "INSERT INTO admin_attempts (subject, since, failures) VALUES (?3, ?0, 1)", now.Add(-10 * time.Minute), now.Add(-20 * time.Minute)},
				{"admin_sessions", "INSERT INTO admin_sessions (hash, admin_id, address, created_at, seen_at, expires_at) VALUES (?4, ?5, '', ?0, ?0, ?0)", now.Add(time.Minute), now.Add(-time.Minute)},
				{"server_errors", "INSERT INTO server_errors (minute, count) VALUES (?0, 1)", now.Add(-23 * time.Hour), now.Add(-25 * time.Hour)},
				{"idempotency_keys", "INSERT INTO idempotency_keys (agent_id, key, body_hash, response, created_at) VALUES (?1, ?3, ?4, ?4, ?0)", now.Add(-23 * time.Hour), now.Add(-25 * time.Hour)},
				{"prediction_parts", "INSERT INTO prediction_parts (agent_id, market_id, id, began_at) VALUES (?1, ?3, ?2, ?0)", now.Add(-23 * time.Hour), now.Add(-25 * time.Hour)},
				{"updates", "INSERT INTO updates (agent_id, seq, type, at, ref) VALUES (?1, (SELECT COUNT(*) FROM updates), 'prediction.settled', ?0, '{}')", days(29), days(31)},
				{"shared_updates", "INSERT INTO shared_updates (seq, type, at, ref) VALUES ((SELECT COUNT(*) FROM shared_updates), 'market.moved', ?0, '{}')", days(29), days(31)},
				{"update_chunks", "INSERT INTO update_chunks (last, first, at, content) VALUES ((SELECT COUNT(*) FROM update_chunks), 0, ?0, ?4)", now.Add(-23 * time.Hour), now.Add(-25 * time.Hour)},
			}
			for _, c := range tables {
				for _, at := range []time.Time{c.young, c.old} {
					id := database.NewID(at)
					run(c.insert, at, agent, id, id.String(), id[:], admin)
				}
			}
			if err := retention.Run(t.Context(), retention.Options{DB: db, Publisher: prediction.NewPublisher(db, clock, time.Minute, ""), Now: clock}); err != nil {
				t.Fatal(err)
			}
			for _, c := range tables {
				if n, err := db.NewSelect().Table(c.name).Count(t.Context()); err != nil || n != 1 {
					t.Errorf("%s: %d rows are left (error %v), want only the recent one", c.name, n, err)
				}
			}
		})
	}
}

// TestNothingIsPrunedBeforeItIsSealed checks that prices and news are kept until the archive has
// sealed their day.
func TestNothingIsPrunedBeforeItIsSealed(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
			clock := func() time.Time { return now }
			db := dbtest.Open(t, kind)
			old := now.AddDate(0, 0, -100).Truncate(6 * time.Hour)
			for i := range 3 {
				m := market.Market{ID: "m", Source: "x", Question: "q", Title: "q", Outcomes: []string{"Yes", "No"}, Prices: []float64{0.5, 0.5}, Active: true, ObservedAt: old.Add(time.Duration(i) * time.Minute)}
				if err := (market.Store{}).Observe(t.Context(), db, []market.Market{m}); err != nil {
					t.Fatal(err)
				}
			}
			item := news.Item{ID: "n", Source: "x", Community: "science", Title: "t", URL: "https://x.example/", Permalink: "https://x.example/", PostedAt: old, ObservedAt: old}
			if err := (news.Store{}).Observe(t.Context(), db, []news.Item{item}); err != nil {
				t.Fatal(err)
			}
			left := func(want string) {
				t.Helper()
				o := retention.Options{DB: db, Publisher: prediction.NewPublisher(db, clock, time.Minute, ""), Now: clock, Archived: true}
				if err := retention.Run(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				prices, err1 := db.NewSelect().Table("market_prices").Count(t.Context())
				items, err2 := db.NewSelect().Table("news_items").Count(t.Context())
				if got := fmt.Sprint(prices, items); got != want || err1 != nil || err2 != nil {
					t.Errorf("prices and news left: got %s, want %s (errors %v, %v)", got, want, err1, err2)
				}
			}
			left("3 1")
			storage := archive.OpenFolder(t.TempDir())
			record := func(day time.Time) {
				t.Helper()
				w := archive.NewDayWriter(storage, archive.DayOf(day), "")
				if err := w.Finish(t.Context()); err != nil {
					t.Fatal(err)
				}
				d, err := archive.OpenDay(t.Context(), storage, archive.DayOf(day))
				if err != nil {
					t.Fatal(err)
				}
				if err := archive.StoreDay(t.Context(), db, d, false, now); err != nil {
					t.Fatal(err)
				}
			}
			record(old.AddDate(0, 0, -1))
			left("3 1")
			record(old)
			left("1 0")
		})
	}
}
