package settlement

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

// TestCrashDuringSettlement kills Postgres between two chunks, when most commits are not on disk
// yet, so the crash loses them. Settling again afterwards must settle every prediction exactly
// once.
func TestCrashDuringSettlement(t *testing.T) {
	t.Parallel()
	// Data committed without waiting stays in the buffers of the log until a writer writes it.
	server := dbtest.StartPostgres(t, "wal_buffers=16MB")
	db := openServer(t, server)
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, db)
	m := w.market("1", "e1", "politics", start)
	m.Prices = []float64{.5, .5}
	const agents, chunk = 40, 4
	s := w.service(chunk)
	w.tick(s, m)
	w.clock = w.clock.Add(10 * time.Second)
	for n := range agents {
		w.publish(w.agent(n+1), m, n%2, float64(n)/agents)
	}
	w.clock = w.clock.Add(50 * time.Second)
	w.tick(s, m)
	w.clock = w.clock.Add(time.Minute)
	closeWith(m, w.clock, 1, 0)
	observed := w.observe(m)

	lost := 0
	for _, chunks := range []int{9, 5} {
		lost += w.crash(server, observed, chunk, chunks)
	}
	if lost == 0 {
		t.Error("no crash lost a commit, so the test checked nothing")
	}
	w.must(w.service(chunk).AfterMarkets(context.Background(), observed))
	if n := w.settled(); n != agents {
		t.Errorf("settled %d predictions, want %d", n, agents)
	}
	var entries int
	w.must(w.db.NewRaw("SELECT count(*) FROM score_entries").Scan(context.Background(), &entries))
	if entries != agents {
		t.Errorf("got %d ledger entries, want %d", entries, agents)
	}
	report, err := w.service(0).Rebuild(context.Background(), false)
	if err != nil || len(report.Differences) > 0 {
		t.Errorf("rebuild: differences %v, error %v", report.Differences, err)
	}
}

// crash settles the given number of chunks, kills the database and starts it again. It returns how
// many settled predictions the crash lost.
func (w *world) crash(server *dbtest.Postgres, observed []market.Market, chunk, chunks int) (lost int) {
	w.t.Helper()
	killed := errors.New("killed")
	before, s := 0, w.service(chunk)
	server.SuspendWriters()
	s.afterChunk = func() error {
		if chunks--; chunks > 0 {
			return nil
		}
		before = w.settled()
		server.Stop(dbtest.Kill)
		return killed
	}
	if err := s.AfterMarkets(context.Background(), observed); !errors.Is(err, killed) {
		w.t.Fatal("not killed:", err)
	}
	w.must(w.db.Close())
	server.Start()
	w.db = openServer(w.t, server)
	return before - w.settled()
}

func (w *world) settled() (n int) {
	w.t.Helper()
	w.must(w.db.NewRaw("SELECT count(*) FROM prediction_records WHERE status = 'resolved'").Scan(context.Background(), &n))
	return n
}

func openServer(t testing.TB, server *dbtest.Postgres) *database.DB {
	t.Helper()
	db, err := database.Open(context.Background(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // may be closed already by crash
	return db
}
