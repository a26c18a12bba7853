package agent_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestUsageByEndpoint checks that Endpoints adds up written counts and counts in memory.
func TestUsageByEndpoint(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		now := time.Date(2026, 11, 21, 12, 10, 0, 0, time.UTC)
		usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return now })
		a, b := create(t, db, "Ada"), create(t, db, "Bob")
		count := func(id uuid.UUID, method, route string, statuses ...int) {
			for _, s := range statuses {
				usage.Count(id, agent.Request{Method: method, Route: route, Status: s})
			}
		}
		count(a.ID, "GET", "/api/stats", 200, 304, 429, 503)
		count(a.ID, "POST", "/api/predictions", 200, 422)
		count(b.ID, "GET", "/api/stats", 200)
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		now = now.Add(2 * time.Hour)
		count(a.ID, "GET", "/api/stats", 200)
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		count(a.ID, "GET", "/api/stats", 404)
		count(a.ID, "BREW", "", 405, 405)
		got, err := usage.Endpoints(t.Context(), db.Reader, a.ID, 3)
		if err != nil {
			t.Fatal(err)
		}
		want := "[{GET /api/stats {3 1 1 1} [4 0 2]} {other  {0 2 0 0} [0 0 2]} {POST /api/predictions {1 1 0 0} [2 0 0]}]"
		if fmt.Sprint(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
		if got, err = usage.Endpoints(t.Context(), db.Reader, a.ID, 1); err != nil || len(got) != 2 || got[0].Total() != 2 {
			t.Errorf("the current hour: %v, %v", got, err)
		}
	})
}

// TestRecentErrors checks that RecentErrors returns the latest errors of each agent, from memory and
// from the database, however many there were.
func TestRecentErrors(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return now })
		a, b := create(t, db, "Ada"), create(t, db, "Bob")
		n := 0
		fail := func(id uuid.UUID, times int) {
			for range times {
				n++
				now = now.Add(time.Millisecond)
				usage.Count(id, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction", ID: fmt.Append(nil, "r", n)})
			}
		}
		ids := func(id uuid.UUID) string {
			t.Helper()
			list, err := usage.RecentErrors(t.Context(), db.Reader, id)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range list {
				got = append(got, f.RequestID)
			}
			return strings.Join(got, " ")
		}
		newest := func(n int) string {
			var want []string
			for i := range agent.MaxErrors {
				want = append(want, fmt.Sprint("r", n-i))
			}
			return strings.Join(want, " ")
		}
		flush := func(ctx context.Context) error { return usage.Flush(ctx) }
		fail(b.ID, 2)
		fail(a.ID, 1)
		usage.Count(a.ID, agent.Request{Method: "GET", Route: "/api/stats", Status: 200})
		if got := ids(a.ID); got != "r3" {
			t.Errorf("in memory: %s", got)
		}
		if err := flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		fail(a.ID, 1)
		if got := ids(a.ID); got != "r4 r3" {
			t.Errorf("in both: %s", got)
		}
		// A failed flush loses no errors, and the errors since then are newer.
		failing, cancel := context.WithCancel(t.Context())
		cancel()
		if flush(failing) == nil {
			t.Fatal("a flush without a database succeeded")
		}
		fail(a.ID, 1)
		if got := ids(a.ID); got != "r5 r4 r3" {
			t.Errorf("after a failed flush: %s", got)
		}
		for range 2 { // many errors in memory, first alone and then beside written ones
			fail(a.ID, 3*agent.MaxErrors)
			if got := ids(a.ID); got != newest(n) {
				t.Errorf("many errors in memory: %s", got)
			}
			if err := flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := ids(a.ID); got != newest(n) {
				t.Errorf("many errors written: %s", got)
			}
		}
		if got := ids(b.ID); got != "r2 r1" {
			t.Errorf("of the other agent: %s", got)
		}
		if rows, err := db.NewSelect().Table("agent_errors").Count(t.Context()); err != nil || rows != agent.MaxErrors+2 {
			t.Errorf("%d rows, %v", rows, err)
		}
		all, err := usage.Last24h(t.Context(), db.Reader, a.ID)
		if err != nil || all.Errors != int64(n-2) {
			t.Errorf("the counts aren't exact: %+v, %v", all, err)
		}
	})
}

// TestErrorBetweenTwoFlushes checks that a flush writes an error even if it has nothing else to
// write, because the flush before wrote the error's count but not the error.
func TestErrorBetweenTwoFlushes(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		var usage *agent.Usage
		between := true
		usage = agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time {
			if between { // Count reads the clock after it has counted
				between = false
				if err := usage.Flush(t.Context()); err != nil {
					t.Error(err)
				}
			}
			return at
		})
		usage.Count(a.ID, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction", ID: []byte("r1")})
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list, err := usage.RecentErrors(t.Context(), db.Reader, a.ID); err != nil || len(list) != 1 || list[0].RequestID != "r1" {
			t.Errorf("%+v, %v", list, err)
		}
		if sum, err := usage.Last24h(t.Context(), db.Reader, a.ID); err != nil || sum.Requests != 1 {
			t.Errorf("counted %+v, %v", sum, err)
		}
	})
}

// transactions counts the rows that each transaction writes. If ended isn't nil, it is called after a commit.
type transactions struct {
	rows  []int64
	ended func()
}

func (c *transactions) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context {
	return ctx
}

func (c *transactions) AfterQuery(_ context.Context, e *bun.QueryEvent) {
	switch {
	case e.Query == "BEGIN":
		c.rows = append(c.rows, 0)
	case e.Query == "COMMIT" && c.ended != nil:
		c.ended()
	case e.Result != nil && e.Operation() != "SELECT" && len(c.rows) > 0:
		n, _ := e.Result.RowsAffected()
		c.rows[len(c.rows)-1] += n
	}
}

// TestFlushIsShort checks that a flush writes many rows in transactions of a bounded size, and that a flush
// which fails in between counts nothing twice and loses nothing.
func TestFlushIsShort(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		const agents, routes, keys, most = 30, 40, 150, 250
		usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return at })
		var ids []uuid.UUID
		for i := range agents {
			ids = append(ids, create(t, db, fmt.Sprint("Agent ", i)).ID)
			for r := range routes {
				usage.Count(ids[i], agent.Request{Method: "GET", Route: fmt.Sprint("/", r), Status: 404})
			}
		}
		for range keys {
			_, key := issue(t, db, ids[0], "")
			usage.KeyUsed(key.ID)
		}
		seen := &transactions{}
		db.Watch(seen)
		failing, cancel := context.WithCancel(t.Context())
		seen.ended = cancel // so that the second transaction fails
		if usage.Flush(failing) == nil {
			t.Fatal("a flush that was cancelled after its first transaction succeeded")
		}
		if slices.Max(seen.rows) == 0 {
			t.Fatal("the first transaction wrote nothing")
		}
		seen.ended = nil
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, n := range seen.rows {
			if n > most {
				t.Errorf("a transaction wrote %d rows, want at most %d", n, most)
			}
			sum += n
		}
		// Each agent has a row of counts, is touched, and has its counts by route and its errors.
		if want := int64(agents*(2+2*routes) + keys); sum != want {
			t.Errorf("wrote %d rows, want %d", sum, want)
		}
		all, err := usage.Last24hAll(t.Context(), db.Reader, ids)
		for _, id := range ids {
			if err != nil || all[id].Requests != routes {
				t.Errorf("counted %+v, %v; want %d", all[id], err, routes)
			}
		}
		if _, errors := usage.Waiting(); errors != 0 {
			t.Errorf("%d errors wait after a flush", errors)
		}
	})
}

// TestUsageOfClosedAccounts checks that a flush leaves out what it holds of a closed account, and
// that a failed flush keeps the rest unchanged.
func TestUsageOfClosedAccounts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return at })
		ada, bob := create(t, db, "Ada"), create(t, db, "Bob")
		for _, a := range []*agent.Agent{ada, bob} {
			usage.Count(a.ID, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction", ID: []byte(a.Handle)})
		}
		closeAccount(t, db, ada.ID)
		rename := func(from, to string) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		rename("agent_errors", "agent_errors_gone")
		if usage.Flush(t.Context()) == nil {
			t.Fatal("a flush without a table succeeded")
		}
		rename("agent_errors_gone", "agent_errors")
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatalf("the flush after a failed one: %v", err)
		}
		for id, want := range map[uuid.UUID]int64{ada.ID: 0, bob.ID: 1} {
			sum, err := usage.Last24h(t.Context(), db.Reader, id)
			if err != nil || sum.Requests != want || sum.Errors != want {
				t.Errorf("counted %+v, %v; want %d", sum, err, want)
			}
			list, err := usage.RecentErrors(t.Context(), db.Reader, id)
			if err != nil || len(list) != int(want) {
				t.Errorf("errors: %+v, %v; want %d", list, err, want)
			}
		}
	})
}

// TestLateErrorOfClosedAccount checks that a flush doesn't write an error of a closed account if the
// flush before has written its count.
func TestLateErrorOfClosedAccount(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		var usage *agent.Usage
		between := true
		usage = agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time {
			if between { // Count reads the clock after it has counted
				between = false
				if err := usage.Flush(t.Context()); err != nil {
					t.Error(err)
				}
				closeAccount(t, db, a.ID)
			}
			return at
		})
		usage.Count(a.ID, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction"})
		if err := usage.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rows, err := db.NewSelect().Table("agent_errors").Count(t.Context()); err != nil || rows != 0 {
			t.Errorf("%d errors of a closed account, %v", rows, err)
		}
	})
}

// TestFlushWaitsForClosing checks that a flush that begins while an account is being closed writes nothing of it, and
// that the two can't deadlock.
func TestFlushWaitsForClosing(t *testing.T) {
	t.Parallel()
	lock := func(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
		_, err := store.Lock(ctx, tx, id)
		return err
	}
	closing := func(ctx context.Context, tx bun.Tx, id uuid.UUID) error {
		_, _, err := store.Close(ctx, tx, id, at)
		return err
	}
	nothing := func(context.Context, bun.Tx, uuid.UUID) error { return nil }
	for name, c := range map[string]struct {
		before, after func(ctx context.Context, tx bun.Tx, id uuid.UUID) error
	}{
		"locked": {lock, closing}, "closed": {closing, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := dbtest.Open(t, database.Postgres)
			ada, bob := create(t, db, "Ada"), create(t, db, "Bob")
			usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return at })
			for _, a := range []*agent.Agent{ada, bob} {
				usage.Count(a.ID, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction"})
			}
			flushed := make(chan error, 1)
			inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
				if err := c.before(ctx, tx, ada.ID); err != nil {
					return err
				}
				go func() { flushed <- usage.Flush(t.Context()) }()
				waits, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				for waiting := 0; waiting == 0; {
					err := db.Reader.NewRaw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(waits, &waiting)
					if err != nil {
						return err
					}
				}
				return c.after(ctx, tx, ada.ID)
			})
			if err := <-flushed; err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{"agent_usage", "agent_endpoints", "agent_errors"} {
				var of []uuid.UUID
				if err := db.NewSelect().Table(table).Column("agent_id").Scan(t.Context(), &of); err != nil || len(of) != 1 || of[0] != bob.ID {
					t.Errorf("%s has rows of %v, %v; want only those of %v", table, of, err, bob.ID)
				}
			}
		})
	}
}

// TestReadsDoNotWaitForAFlush checks that usage can be read while a flush waits for its transaction, and that the counts
// are complete after it.
func TestReadsDoNotWaitForAFlush(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		a := create(t, db, "Ada")
		usage := agent.NewUsage(db, slog.New(slog.DiscardHandler), func() time.Time { return at })
		fail := func() {
			usage.Count(a.ID, agent.Request{Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction"})
		}
		read := func(want int64) {
			t.Helper()
			sum, err := usage.Last24h(t.Context(), db.Reader, a.ID)
			hours, err2 := usage.ByHour(t.Context(), db.Reader, []uuid.UUID{a.ID}, 1)
			list, err3 := usage.Endpoints(t.Context(), db.Reader, a.ID, 1)
			recent, err4 := usage.RecentErrors(t.Context(), db.Reader, a.ID)
			if err := errors.Join(err, err2, err3, err4); err != nil {
				t.Fatal(err)
			}
			if sum.Requests != want || len(hours[a.ID]) != 1 || hours[a.ID][0].Requests != want || len(list) != 1 || list[0].Total() != want || int64(len(recent)) != want {
				t.Errorf("got %+v, %+v, %+v and %d errors; want %d", sum, hours, list, len(recent), want)
			}
		}
		fail()
		read(1)
		flushed := make(chan error, 1)
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			if _, err := store.Lock(ctx, tx, a.ID); err != nil {
				return err
			}
			go func() { flushed <- usage.Flush(context.WithoutCancel(t.Context())) }()
			for waiting := 1; waiting > 0; runtime.Gosched() { // until the flush has taken what it writes
				_, waiting = usage.Waiting()
			}
			fail()
			read(1)
			return nil
		})
		if err := <-flushed; err != nil {
			t.Fatal(err)
		}
		read(2)
	})
}

func closeAccount(t *testing.T, db *database.DB, id uuid.UUID) {
	t.Helper()
	inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
		_, _, err := store.Close(ctx, tx, id, at)
		return err
	})
}

// TestErrorFloodIsBounded checks that errors of many agents at once take bounded memory.
func TestErrorFloodIsBounded(t *testing.T) {
	t.Parallel()
	u := agent.NewUsage(nil, slog.New(slog.DiscardHandler), time.Now)
	for range 10_000 {
		u.Count(uuid.New(), agent.Request{Status: 500, Code: "internal"})
	}
	if agents, errors := u.Waiting(); agents != 10_000 || errors != 4096 {
		t.Errorf("%d agents, %d errors", agents, errors)
	}
}

// BenchmarkUsageCount compares Count with a reference: an atomic counter in a locked map, which is
// the least that counting by agent can cost.
func BenchmarkUsageCount(b *testing.B) {
	id := uuid.New()
	b.Run("reference", func(b *testing.B) {
		var mu sync.RWMutex
		counts := map[uuid.UUID]*atomic.Int64{id: {}}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				mu.RLock()
				counts[id].Add(1)
				mu.RUnlock()
			}
		})
	})
	for name, r := range map[string]agent.Request{
		"success": {Method: "GET", Route: "/api/intelligence/markets", Status: 200},
		"error":   {Method: "POST", Route: "/api/predictions", Status: 422, Code: "invalid_prediction", ID: []byte("0123456789abcdef01234567")},
	} {
		b.Run(name, func(b *testing.B) {
			u := agent.NewUsage(nil, slog.New(slog.DiscardHandler), time.Now)
			for range agent.MaxErrors {
				u.Count(id, r)
			}
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					u.Count(id, r)
				}
			})
		})
	}
}
