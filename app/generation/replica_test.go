package generation_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/generation"
)

// patience is a time that only a hang exceeds.
const patience = 20 * time.Second

// pair is a primary and a replica, with a Watcher of both.
type pair struct {
	*generation.Watcher
	t                *testing.T
	db               *database.DB
	primary, replica *dbtest.Postgres
	maxLag           time.Duration
	ahead            *atomic.Int64              // nanoseconds by which the Watcher's clock is ahead
	frozen           *atomic.Pointer[time.Time] // what the Watcher's clock shows while it stands still
}

func newPair(t *testing.T, maxLag time.Duration) *pair {
	t.Helper()
	p := &pair{t: t, primary: dbtest.StartPostgres(t), maxLag: maxLag}
	db, err := database.Open(t.Context(), p.primary.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.replica = p.primary.StartReplica(t)
	if err := db.AddReplica(p.replica.URL("postgres")); err != nil {
		t.Fatal(err)
	}
	if err := db.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	p.db, p.Watcher, p.ahead, p.frozen = db, watcher(t, db), new(atomic.Int64), new(atomic.Pointer[time.Time])
	p.SetClock(p.clock)
	p.AddReplica(db, maxLag)
	p.Start()
	t.Cleanup(func() {
		p.Stop()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func (p *pair) clock() time.Time {
	if at := p.frozen.Load(); at != nil {
		return *at
	}
	return time.Now().Add(time.Duration(p.ahead.Load()))
}

// freeze moves the Watcher's clock ahead and stops it.
func (p *pair) freeze(ahead time.Duration) {
	at := p.clock().Add(ahead)
	p.frozen.Store(&at)
}

// thaw lets the clock go on from where it stands.
func (p *pair) thaw() {
	p.ahead.Store(int64(time.Until(p.clock())))
	p.frozen.Store(nil)
}

// write stores a value and moves topics.
func (p *pair) write(value string, topics ...generation.Topic) {
	p.t.Helper()
	err := p.db.InTx(p.t.Context(), func(ctx context.Context, tx bun.Tx) error {
		return errors.Join(database.SetSetting(ctx, tx, "name", value), generation.Move(ctx, tx, topics...))
	})
	if err != nil {
		p.t.Fatal(err)
	}
}

// read returns the value on a side, and whether the replica gave the final answer.
func (p *pair) read(side generation.Side) (value string, replica bool, err error) {
	err = side.Read(p.t.Context(), func(ctx context.Context) error {
		if value, _, err = database.Setting(ctx, p.db.Reader, "name"); err != nil {
			return err
		}
		return p.db.Reader.NewRaw("SELECT pg_is_in_recovery()").Scan(ctx, &replica)
	})
	return value, replica, err
}

// until waits until public reads go to the replica, or to the primary.
func (p *pair) until(replica bool) {
	p.t.Helper()
	var got bool
	var err error
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, got, err = p.read(p.Side(false)); err == nil && got == replica && (p.Replica().Cause == nil) == replica {
			return
		}
	}
	p.t.Fatalf("reads go to the replica: %t, %v; state %+v", got, err, p.Replica())
}

// untilRead waits until the replica has a value.
func (p *pair) untilRead(want string) {
	p.t.Helper()
	value, replica := "", false
	for deadline := time.Now().Add(patience); value != want || !replica; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("read %q, from the replica: %t", value, replica)
		}
		value, replica, _ = p.read(p.Side(false))
	}
}

// pause stops or continues the replay of the replica.
func (p *pair) pause(stop bool) {
	p.t.Helper()
	statement := "SELECT pg_wal_replay_resume()"
	if stop {
		statement = "SELECT pg_wal_replay_pause()"
	}
	if _, err := p.db.Replica.ExecContext(p.t.Context(), statement); err != nil {
		p.t.Fatal(err)
	}
	for state, want := "", map[bool]string{true: "paused", false: "not paused"}[stop]; state != want; {
		if err := p.db.Replica.QueryRowContext(p.t.Context(), "SELECT pg_get_wal_replay_pause_state()").Scan(&state); err != nil {
			p.t.Fatal(err)
		}
	}
}

// current checks the topics and reads as the author of the last write.
func (p *pair) current() (value string, replica bool) {
	p.t.Helper()
	if err := p.Check(p.t.Context()); err != nil {
		p.t.Fatal(err)
	}
	value, replica, err := p.read(p.Side(true))
	if err != nil {
		p.t.Fatal(err)
	}
	return value, replica
}

// TestReplica checks what reads see while a replica follows, lags and is lost. The parts share the
// servers, so they run one after another.
func TestReplica(t *testing.T) {
	t.Parallel()
	const maxLag = 2 * time.Second
	p := newPair(t, maxLag)
	for _, part := range []struct {
		name string
		test func(t *testing.T, p *pair)
	}{{"own writes", ownWrites}, {"lag", lagging}, {"five seconds of lag", fiveSeconds}, {"lost servers", lostServers}} {
		t.Run(part.name, func(t *testing.T) {
			one := *p
			one.t = t
			part.test(t, &one)
		})
	}
}

// ownWrites checks that an author reads its own writes while public reads go to the replica.
func ownWrites(t *testing.T, p *pair) {
	p.until(true)
	reads := map[bool]int{}
	for i := range 100 {
		want := fmt.Sprint(i)
		p.write(want, generation.Predictions)
		got, _ := p.current()
		if got != want {
			t.Fatalf("the author reads %q after writing %q", got, want)
		}
		_, replica, err := p.read(p.Side(false))
		if err != nil {
			t.Fatal(err)
		}
		reads[replica]++
	}
	if reads[true] < 50 {
		t.Errorf("%v: hardly any public reads went to the replica", reads)
	}
	// When no one writes, authors read from the replica too.
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		if value, replica := p.current(); value != "99" {
			t.Fatalf("read %q", value)
		} else if replica {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("reads of authors stay on the primary")
		}
	}
	if s := p.Replica(); s.Replica < 50 || s.Primary == 0 || s.Lag > time.Minute || s.Warning() != "" {
		t.Errorf("state %+v", s)
	}
}

// lagging checks that a replica that is behind by less than the bound serves public reads, with a
// stamp that names the state of the replica, and that it serves no reads beyond the bound.
func lagging(t *testing.T, p *pair) {
	p.freeze(0)
	defer p.thaw()
	p.write("before", generation.Predictions)
	for deadline := time.Now().Add(patience); p.Replica().Lag != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the replica doesn't follow: %+v", p.Replica())
		}
	}
	p.untilRead("before")
	p.pause(true)
	p.write("after", generation.Predictions)
	if value, replica := p.current(); value != "after" || replica {
		t.Errorf("the author reads %q, from the replica: %t", value, replica)
	}
	var side generation.Side
	for _, lag := range []time.Duration{0, p.maxLag} {
		p.freeze(lag)
		p.until(true)
		side = p.Side(false)
		if value, replica, err := p.read(side); value != "before" || !replica || err != nil || side.Exact || side.Stamp.Same(side.Primary, []generation.Topic{generation.Predictions}) {
			t.Errorf("%s behind: %q, replica %t, %v, side %+v", lag, value, replica, err, side)
		}
	}
	// A read that misses something on the replica is repeated on the primary.
	calls := 0
	err := side.Read(t.Context(), func(ctx context.Context) error {
		calls++
		if value, _, err := database.Setting(ctx, p.db.Reader, "name"); err != nil || value == "before" {
			return errors.Join(errors.New("not found"), err)
		}
		return nil
	})
	if err != nil || calls != 2 || !side.Exact || !side.Stamp.Same(side.Primary, []generation.Topic{generation.Predictions}) {
		t.Errorf("not found on the replica: %v, %d calls, side %+v", err, calls, side)
	}
	p.freeze(1)
	p.until(false)
	if s := p.Replica(); s.Lag != p.maxLag+1 || s.Warning() == "" {
		t.Errorf("state %+v", s)
	}
	p.pause(false)
	p.until(true)
	// A replica that doesn't know that a text was hidden must not serve reads.
	p.pause(true)
	p.write("hidden", generation.Texts)
	if err := p.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	if value, replica, err := p.read(p.Side(false)); value != "hidden" || replica || err != nil {
		t.Errorf("after a text was hidden: %q, replica %t, %v", value, replica, err)
	}
	p.pause(false)
	p.until(true)
}

// fiveSeconds checks that a replica that is five seconds behind serves no reads if the bound is two
// seconds.
func fiveSeconds(t *testing.T, p *pair) {
	p.write("old", generation.Predictions)
	p.until(true)
	p.untilRead("old")
	p.pause(true)
	p.write("new", generation.Predictions)
	if value, _ := p.current(); value != "new" {
		t.Errorf("the author reads %q", value)
	}
	p.ahead.Add(int64(5 * time.Second))
	if value, replica, err := p.read(p.Side(false)); value != "new" || replica || err != nil {
		t.Errorf("the public reads %q, from the replica: %t, %v", value, replica, err)
	}
	p.until(false)
	if s := p.Replica(); s.Lag < 5*time.Second || s.Lag > time.Minute || !strings.HasSuffix(s.Warning(), "s behind; reads go to the primary") {
		t.Errorf("state %+v, %q", s, s.Warning())
	}
	p.pause(false)
	p.until(true)
	p.untilRead("new")
}

// lostServers checks that reads survive the loss of the replica, that public reads survive the loss
// of the primary, and that a promoted replica serves no reads.
func lostServers(t *testing.T, p *pair) {
	p.write("first", generation.Predictions)
	p.until(true)
	for _, outage := range []struct {
		name       string
		begin, end func()
	}{
		{"killed", func() { p.replica.Stop(dbtest.Kill) }, p.replica.Start},
		{"frozen", p.replica.Freeze, p.replica.Thaw},
	} {
		name := outage.name
		outage.begin()
		for range 20 {
			if value, replica, err := p.read(p.Side(false)); value != "first" || replica || err != nil {
				t.Errorf("%s replica: %q, from it: %t, %v", name, value, replica, err)
			}
		}
		p.until(false)
		if s := p.Replica(); s.Warning() != "the replica can't be reached; reads go to the primary" {
			t.Errorf("%s replica: %+v, %q", name, s, s.Warning())
		}
		outage.end()
		p.until(true)
	}
	p.write("second", generation.Predictions)
	p.untilRead("second")
	if since := p.Side(false).StaleSince; !since.IsZero() {
		t.Errorf("with a primary, reads are stale since %s", since)
	}
	p.primary.Stop(dbtest.Kill)
	for p.db.Breaker.Err() == nil { // the breaker opens within a second
		time.Sleep(10 * time.Millisecond)
	}
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if value, replica, err := p.read(p.Side(false)); value != "second" || !replica || err != nil {
			t.Fatalf("without a primary: %q, replica %t, %v", value, replica, err)
		}
	}
	if err := p.Check(t.Context()); !database.Unavailable(err) {
		t.Errorf("a check without the primary: got %v, want unavailable", err)
	}
	// The primary may go on for others, so what is read is stale after the allowed lag.
	side := p.Side(false)
	stale := p.clock().Sub(side.StaleSince)
	if _, replica, err := p.read(side); !replica || err != nil || stale < p.maxLag || stale > time.Minute {
		t.Errorf("without a primary: replica %t, %v, stale for %s", replica, err, stale)
	}
	if err := side.Read(t.Context(), func(context.Context) error { return nil }); err != nil || !side.StaleSince.IsZero() {
		t.Errorf("a read without a query is stale since %s, %v", side.StaleSince, err)
	}
	p.primary.Start()
	p.until(true)
	for deadline := time.Now().Add(patience); !p.Side(false).StaleSince.IsZero(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("with the primary back, reads stay stale")
		}
	}
	if _, err := p.db.Replica.ExecContext(t.Context(), "SELECT pg_promote()"); err != nil {
		t.Fatal(err)
	}
	p.until(false)
	p.write("third", generation.Predictions)
	if value, replica, err := p.read(p.Side(false)); value != "third" || replica || err != nil {
		t.Errorf("promoted: %q, replica %t, %v", value, replica, err)
	}
	// On a busy machine the first check may find a replica that is behind and not yet promoted.
	const promoted = "DATABASE_REPLICA_URL is not a replica: it was promoted, or never was one; reads go to the primary"
	for until := time.Now().Add(30 * time.Second); p.Replica().Warning() != promoted; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("warning %q", p.Replica().Warning())
		}
	}
}

// TestNoReplica sets the primary as its own replica. It checks that the operator gets a warning, and
// that only a replica of the primary passes the check.
func TestNoReplica(t *testing.T) {
	t.Parallel()
	address := dbtest.URL(t, database.Postgres)
	db, err := database.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if err := db.AddReplica(address); err != nil {
		t.Fatal(err)
	}
	w := watcher(t, db)
	w.AddReplica(db, time.Minute)
	w.Start()
	t.Cleanup(func() {
		w.Stop()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	const want = "DATABASE_REPLICA_URL is not a replica: it was promoted, or never was one; reads go to the primary"
	for deadline := time.Now().Add(patience); w.Replica().Warning() != want; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("state %+v", w.Replica())
		}
	}
	primary := database.Server{Identity: 1}
	if err := (&database.Server{Identity: 2, Replaying: true}).Check(&primary); err == nil {
		t.Error("a replica of another server may serve")
	}
	if err := (&database.Server{Identity: 1, Replaying: true}).Check(&primary); err != nil {
		t.Error(err)
	}
}
