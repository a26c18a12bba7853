package load_test

import (
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/leaderboard/load"
	"github.com/pulsecast/pulsecast/app/prediction"
)

func TestRun(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	indexes := func() (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM pg_indexes WHERE schemaname = current_schema()").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := indexes()
	if err := load.Run(t.Context(), db, 30, 3000, at); err != nil {
		t.Fatal(err)
	}
	if after := indexes(); after != before {
		t.Errorf("%d indexes after the load, %d before", after, before)
	}
	if err := load.Run(t.Context(), db, 1, 1, at); err == nil {
		t.Error("a second load was not refused")
	}
	now := func() time.Time { return at }
	rules := leaderboard.Thresholds{Events: 30, CategoryEvents: 15, Days: 14}
	if err := leaderboard.NewBuilder(db, rules, now).Rebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	p, err := leaderboard.NewStore(rules, now).Read(t.Context(), db, leaderboard.Filter{Limit: 100})
	if err != nil || p.Board.Ranked != 30 {
		t.Fatalf("got board %+v, %v; want 30 ranked", p.Board, err)
	}
	var resolved int64
	for _, e := range p.Entries {
		resolved += e.Resolved
	}
	if first, last := p.Entries[0], p.Entries[30]; resolved != 2700 || first.Skill <= last.Skill {
		t.Errorf("%d resolved, want 2700; skills from %v to %v", resolved, first.Skill, last.Skill)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	if err := load.Run(t.Context(), dbtest.Open(t, database.SQLite), 1, 1, time.Now()); err == nil {
		t.Error("SQLite was not refused")
	}
	db := dbtest.Open(t, database.Postgres)
	for _, n := range [][2]int{{0, 10}, {10, 9}} {
		if err := load.Run(t.Context(), db, n[0], n[1], time.Now()); err == nil {
			t.Errorf("%d agents with %d predictions were not refused", n[0], n[1])
		}
	}
}

// TestCopy checks that a search on the SQLite copy finds the same predictions as on Postgres.
func TestCopy(t *testing.T) {
	t.Parallel()
	from, to := dbtest.Open(t, database.Postgres), dbtest.Open(t, database.SQLite)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if err := load.Run(t.Context(), from, 20, 200, at); err != nil {
		t.Fatal(err)
	}
	indexes := func() (n int) {
		t.Helper()
		if err := to.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM sqlite_master WHERE type = 'index'").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := indexes()
	if err := load.Copy(t.Context(), from, to); err != nil {
		t.Fatal(err)
	}
	if after := indexes(); after != before {
		t.Errorf("%d indexes after the copy, %d before", after, before)
	}
	var lists [2][]prediction.Record
	for i, db := range []*database.DB{from, to} {
		if err := load.IndexWords(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		var err error
		if lists[i], _, err = (prediction.Store{}).List(t.Context(), db, prediction.Filter{Words: load.Word(0), Limit: 500}); err != nil {
			t.Fatal(err)
		}
	}
	if len(lists[0]) == 0 || len(lists[0]) != len(lists[1]) {
		t.Fatalf("found %d predictions on Postgres and %d on SQLite", len(lists[0]), len(lists[1]))
	}
	for i := range lists[0] {
		want, got := lists[0][i], lists[1][i]
		if got.ID != want.ID || !got.CreatedAt.Equal(want.CreatedAt) || got.Confidence != want.Confidence ||
			got.Status != want.Status || !got.ResolvedAt.Equal(want.ResolvedAt) || got.Agent.Handle != want.Agent.Handle ||
			got.Market == nil || got.Market.ID != want.Market.ID || len(got.Market.Outcomes) != 2 {
			t.Fatalf("prediction %d is %+v on SQLite and %+v on Postgres", i, got, want)
		}
	}
	if err := load.Copy(t.Context(), to, from); err == nil {
		t.Error("a copy to Postgres was not refused")
	}
}

// TestReviewOfLoaded checks that a loaded agent has a ledger and prices, and that its review covers its newest 1,000
// settled predictions.
func TestReviewOfLoaded(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	if err := load.Run(t.Context(), db, 1, 1500, at); err != nil {
		t.Fatal(err)
	}
	store := leaderboard.NewStore(leaderboard.Thresholds{Events: 30, CategoryEvents: 15, Days: 14}, func() time.Time { return at })
	r, err := store.Review(t.Context(), db.Reader, load.AgentID(1), agent.Viewer{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Settled != 1350 || r.All.Predictions != 1000 {
		t.Errorf("%d settled, %d reviewed; want 1350 and the newest 1000", r.Settled, r.All.Predictions)
	}
	events, next, err := store.EventsOf(t.Context(), db.Reader, load.AgentID(1), 50, "")
	if err != nil || len(events) != 50 || next == "" || len(events[0].Predictions) != 1 || events[0].Title == "" {
		t.Errorf("%d events, next %q, %v", len(events), next, err)
	}
	for table, want := range map[string]int{"clusters": 1350, "score_entries": 1350, "market_prices": 400 * 150} {
		var n int
		if err := db.NewSelect().Table(table).ColumnExpr("COUNT(*)").Scan(t.Context(), &n); err != nil || n != want {
			t.Errorf("%d rows of %s, want %d: %v", n, table, want, err)
		}
	}
}
