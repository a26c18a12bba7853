package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// bubble runs a test in fake time on each engine. It opens the database inside the bubble.
func bubble(t *testing.T, test func(t *testing.T, db *database.DB)) {
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, kind)
			synctest.Test(t, func(t *testing.T) {
				db, err := database.Open(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				test(t, db)
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func worker(db *database.DB, jobs ...Job) *Worker {
	w := New(db, slog.New(slog.DiscardHandler), time.Now, jobs...)
	w.time = ownTime
	return w
}

// ownTime returns the fake time of the bubble, which the database doesn't know.
func ownTime(_ bun.IDB, now time.Time, ahead time.Duration) schema.QueryAppender {
	return bun.SafeQuery("?", database.Stored(now).Add(ahead))
}

func stop(t *testing.T, w *Worker) {
	t.Helper()
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
}

// stopIdle stops a worker of a bubble between two of its queries. If it ended one, the driver would wait in fake time for
// its request to cancel, and fake time doesn't pass while another goroutine waits for the driver.
func stopIdle(t *testing.T, w *Worker) {
	t.Helper()
	synctest.Wait()
	stop(t, w)
}

// counted returns a job that sends the time of each run.
func counted(interval time.Duration, runs chan time.Time, result func() (time.Duration, error)) Job {
	return Job{Name: "job", Interval: interval, Run: func(ctx context.Context) (time.Duration, error) {
		select {
		case runs <- time.Now():
		case <-ctx.Done():
		}
		return result()
	}}
}

func fine() (time.Duration, error) { return 0, nil }

func TestRunsAtItsInterval(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		runs := make(chan time.Time)
		w := worker(db, counted(time.Minute, runs, fine))
		start := time.Now()
		w.Start(t.Context())
		last := <-runs
		if last.Sub(start) > time.Second {
			t.Errorf("the first run started after %s", last.Sub(start))
		}
		for range 5 {
			at := <-runs
			if gap := at.Sub(last); gap < 58*time.Second || gap > 62*time.Second {
				t.Errorf("gap %s", gap)
			}
			last = at
		}
		stopIdle(t, w)
	})
}

// TestALeaseOfTheFutureIsTaken checks that the jobs of a node run after its clock was set back. Before, it was a year
// ahead, and the node was killed then.
func TestALeaseOfTheFutureIsTaken(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		runs := make(chan time.Time)
		job := counted(10*time.Second, runs, fine)
		killed := worker(db)
		killed.now = func() time.Time { return time.Now().AddDate(1, 0, 0) }
		if mine, err := killed.acquire(t.Context(), job.Name, job.life()); !mine || err != nil {
			t.Fatal(mine, err)
		}
		w := worker(db, job)
		w.Start(t.Context())
		select {
		case <-runs:
		case <-time.After(2 * job.Interval):
			t.Error("the job doesn't run")
		}
		stopIdle(t, w)
	})
}

func TestADeadHolderIsReplacedWithinTwoIntervals(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		job := counted(10*time.Second, make(chan time.Time), fine)
		died := time.Now()
		if mine, err := worker(db).acquire(t.Context(), job.Name, job.life()); !mine || err != nil {
			t.Fatal(mine, err)
		}
		runs := make(chan time.Time)
		job = counted(10*time.Second, runs, fine)
		a, b := worker(db, job), worker(db, job)
		a.Start(t.Context())
		b.Start(t.Context())
		if took := (<-runs).Sub(died); took < job.life() || took > 2*job.Interval {
			t.Errorf("the lease was taken over after %s", took)
		}
		stopIdle(t, a)
		stopIdle(t, b)
	})
}

func TestOnlyOneWorkerRunsAJobAndStoppingHandsOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		var running, aRuns, bRuns atomic.Int32
		job := func(mine *atomic.Int32) Job {
			return Job{Name: "job", Interval: 10 * time.Second, Run: func(ctx context.Context) (time.Duration, error) {
				if running.Add(1) > 1 {
					t.Error("two workers run the job at once")
				}
				pause(ctx, 25*time.Second) // longer than the life of a lease
				running.Add(-1)
				mine.Add(1)
				return 0, ctx.Err()
			}}
		}
		a, b := worker(db, job(&aRuns)), worker(db, job(&bRuns))
		a.Start(t.Context())
		time.Sleep(time.Second)
		b.Start(t.Context())
		time.Sleep(10 * time.Minute)
		if aRuns.Load() < 10 || bRuns.Load() != 0 {
			t.Errorf("a ran %d times and b %d times, want at least 10 and 0", aRuns.Load(), bRuns.Load())
		}
		stopIdle(t, a)
		time.Sleep(2 * time.Second)
		if running.Load() != 1 {
			t.Error("b didn't take over at once")
		}
		stopIdle(t, b)
		n, err := db.NewSelect().Model((*lease)(nil)).Count(t.Context())
		if n != 0 || err != nil {
			t.Errorf("%d leases are left (error %v), want 0", n, err)
		}
	})
}

// TestAJobIsHandedOver checks that a node whose run hands the job over gives the lease back, so that another node runs
// the job, and that it tries again later if there is no other node.
func TestAJobIsHandedOver(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		runs := make(chan time.Time)
		unable := counted(10*time.Second, runs, func() (time.Duration, error) {
			return 0, HandOver(errors.New("the disk hangs"))
		})
		a := worker(db, unable)
		a.Start(t.Context())
		last := <-runs
		for _, most := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} { // alone
			at := <-runs
			if gap := at.Sub(last); gap < most*3/4 || gap > most+3*time.Second {
				t.Errorf("without another node, the job ran again after %s, want up to %s", gap, most)
			}
			last = at
		}
		var others atomic.Int32
		b := worker(db, Job{Name: "job", Interval: 10 * time.Second, Run: func(context.Context) (time.Duration, error) {
			others.Add(1)
			return 0, nil
		}})
		b.Start(t.Context())
		select {
		case <-runs:
			t.Error("the node that handed the job over runs it again, although another one can")
		case <-time.After(10 * time.Minute):
		}
		if n := others.Load(); n < 50 {
			t.Errorf("the other node ran the job %d times within 10 minutes", n)
		}
		stopIdle(t, b)
		select {
		case <-runs:
		case <-time.After(time.Minute):
			t.Error("the job doesn't run on the node that is left")
		}
		stopIdle(t, a)
	})
}

// TestAFailingJobPassesToAnotherNode checks that a node that can't reach the server of a job leaves the job to a node that
// can.
func TestAFailingJobPassesToAnotherNode(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		runs, others := make(chan time.Time, 100), make(chan time.Time)
		lost := counted(10*time.Second, runs, func() (time.Duration, error) { return 0, errors.New("no route to host") })
		connected := counted(10*time.Second, others, fine)
		lost.Outbound, connected.Outbound = true, true
		a, b := worker(db, lost), worker(db, connected)
		a.Start(t.Context())
		began := <-runs
		b.Start(t.Context())
		defer stopIdle(t, a)
		defer stopIdle(t, b)
		select {
		case at := <-others:
			if took := at.Sub(began); took < 20*time.Second {
				t.Errorf("the other node ran the job %s after the first failure, before the pauses after two were over", took)
			}
		case <-time.After(time.Minute):
			t.Error("the job stays on the node that can't run it")
			return
		}
		failed := len(runs)
		for range 50 {
			<-others
		}
		if failed != 1 || len(runs) != failed {
			t.Errorf("the node without a route ran the job %d more times, and %d times after it had passed it on; want 1 and 0", failed, len(runs)-failed)
		}
	})
}

// TestPassingKeepsTheBackoff checks that nodes that all fail don't ask a source more often than one node would, and that a
// single node goes on.
func TestPassingKeepsTheBackoff(t *testing.T) {
	t.Parallel()
	for nodes := 1; nodes <= 3; nodes += 2 {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, db *database.DB) {
				runs := make(chan time.Time)
				var ran [3]atomic.Int32
				var workers []*Worker
				for i := range nodes {
					job := counted(10*time.Second, runs, func() (time.Duration, error) {
						ran[i].Add(1)
						return 0, errors.New("down for everyone")
					})
					job.Outbound = true
					workers = append(workers, worker(db, job))
					workers[i].Start(t.Context())
				}
				last := <-runs
				for failures := range 10 {
					at, want := <-runs, min(10*time.Second<<failures, 50*time.Second)
					if gap := at.Sub(last); gap < want*3/4 || gap > want+7*time.Second {
						t.Errorf("after %d failures the job ran again after %s, want about %s", failures+1, gap, want)
					}
					last = at
				}
				took := 0
				for i := range ran {
					if ran[i].Load() > 0 {
						took++
					}
				}
				if took < min(nodes, 2) {
					t.Errorf("only %d of %d nodes tried", took, nodes)
				}
				for _, w := range workers {
					stopIdle(t, w)
				}
			})
		})
	}
}

func TestALostLeaseCutsTheRunOff(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		started, ended := make(chan struct{}, 2), make(chan error, 2)
		w := worker(db, Job{Name: "job", Interval: 10 * time.Second, Run: func(ctx context.Context) (time.Duration, error) {
			started <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return 0, ctx.Err()
		}})
		w.Start(t.Context())
		<-started
		if _, err := db.NewUpdate().Model((*lease)(nil)).Set("holder = 'other'").Set("expires_at = ?", time.Now().Add(time.Minute).UTC()).
			Where("name = 'job'").Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		lostAt := time.Now()
		<-ended
		if took := time.Since(lostAt); took > 10*time.Second {
			t.Errorf("the run was cancelled after %s, want at most 10s", took)
		}
		<-started // again, after the other's lease has expired
		if took := time.Since(lostAt); took < 50*time.Second {
			t.Errorf("the job ran again after %s, want at least 50s", took)
		}
		stopIdle(t, w)
	})
}

func TestFailuresBackOffAndRecover(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		runs, plans := make(chan time.Time), make(chan time.Time, 1)
		results := []func() (time.Duration, error){
			func() (time.Duration, error) { return 0, errors.New("1") },
			func() (time.Duration, error) { panic("2") },
			func() (time.Duration, error) { return 0, errors.New("3") },
			func() (time.Duration, error) { return 0, errors.New("4") },
			func() (time.Duration, error) { return time.Hour, errors.New("asked to stay away for an hour") },
			func() (time.Duration, error) { return 3 * time.Minute, nil },
			fine, fine,
		}
		i := -1
		job := counted(time.Minute, runs, func() (time.Duration, error) { i++; return results[i]() })
		job.Planned = func(_ context.Context, at time.Time) { plans <- at }
		w := worker(db, job)
		w.Start(t.Context())
		last := <-runs
		bounds := []struct{ low, high time.Duration }{
			{45 * time.Second, time.Minute}, {90 * time.Second, 2 * time.Minute}, {3 * time.Minute, 4 * time.Minute},
			{225 * time.Second, 5 * time.Minute}, {time.Hour, time.Hour + time.Minute}, {3 * time.Minute, 190 * time.Second},
			{58 * time.Second, 62 * time.Second},
		}
		for n, b := range bounds {
			planned := <-plans
			at := <-runs
			if gap := at.Sub(last); gap < b.low || gap > b.high+time.Second || at.Sub(planned).Abs() > time.Second {
				t.Errorf("pause %d: got %s, planned %s", n, gap, planned.Sub(last))
			}
			last = at
		}
		stopIdle(t, w)
	})
}

func TestATimeoutEndsARun(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, db *database.DB) {
		took := make(chan time.Duration, 1)
		w := worker(db, Job{Name: "job", Interval: time.Hour, Timeout: 5 * time.Second, Run: func(ctx context.Context) (time.Duration, error) {
			start := time.Now()
			<-ctx.Done()
			took <- time.Since(start)
			return 0, ctx.Err()
		}})
		w.Start(t.Context())
		if d := <-took; d != 5*time.Second {
			t.Errorf("took %s", d)
		}
		stopIdle(t, w)
	})
}

func TestStopWithoutStart(t *testing.T) {
	t.Parallel()
	stop(t, worker(nil))
}

func TestLeaseOfAnotherIsNotReleased(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx, start := t.Context(), time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
		at := func(holder string, after time.Duration) *Worker {
			w := New(db, slog.New(slog.DiscardHandler), func() time.Time { return start.Add(after) })
			w.holder, w.time = holder, ownTime
			return w
		}
		steps := []struct {
			name string
			do   func() (bool, error)
			want bool
		}{
			{"free", func() (bool, error) { return at("a", 0).acquire(ctx, "j", time.Minute) }, true},
			{"held", func() (bool, error) { return at("b", 59*time.Second).acquire(ctx, "j", time.Minute) }, false},
			{"again", func() (bool, error) { return at("a", time.Second).acquire(ctx, "j", time.Minute) }, true},
			{"not ours", func() (bool, error) { return at("b", 0).renew(ctx, "j", time.Hour) }, false},
			{"released by another", func() (bool, error) { return true, release(ctx, db, "j", "b") }, true},
			{"still held", func() (bool, error) { return at("b", time.Minute).acquire(ctx, "j", time.Minute) }, false},
			{"expired", func() (bool, error) { return at("b", 61*time.Second).acquire(ctx, "j", time.Minute) }, true},
			{"lost", func() (bool, error) { return at("a", 0).renew(ctx, "j", time.Hour) }, false},
		}
		for _, s := range steps {
			if got, err := s.do(); got != s.want || err != nil {
				t.Errorf("%s: got %t, error %v", s.name, got, err)
			}
		}
	})
}

// TestLeasesFollowTheClockOfTheDatabase checks that nodes agree on who holds a lease even if their
// clocks differ by hours.
func TestLeasesFollowTheClockOfTheDatabase(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	node := func(holder string, ahead time.Duration) *Worker {
		w := New(db, slog.New(slog.DiscardHandler), func() time.Time { return time.Now().Add(ahead) })
		w.holder = holder
		return w
	}
	slow, fast := node("slow", -3*time.Hour), node("fast", 3*time.Hour)
	take := func(w *Worker, want bool) {
		t.Helper()
		if mine, err := w.acquire(t.Context(), "job", time.Hour); mine != want || err != nil {
			t.Errorf("%s: acquired %t, error %v", w.holder, mine, err)
		}
	}
	take(slow, true)
	take(fast, false) // expired by the fast node's own clock
	if _, err := db.ExecContext(t.Context(), "UPDATE leases SET expires_at = clock_timestamp()"); err != nil {
		t.Fatal(err)
	}
	list, err := Leases(t.Context(), db, slow.now())
	if err != nil || len(list) != 1 || !list[0].Expired || list[0].Holder != "slow" {
		t.Errorf("%+v, %v", list, err)
	}
	take(fast, true)
	take(slow, false)
	if mine, err := fast.renew(t.Context(), "job", time.Hour); !mine || err != nil {
		t.Errorf("renew: got %t, error %v", mine, err)
	}
}

// TestNoLeaseWithAClockThatIsOff checks that a node gives its leases back if its clock differs from
// the database's by more than 5 s, and takes them again when the clock is right.
func TestNoLeaseWithAClockThatIsOff(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	var ahead atomic.Int64
	db.Breaker.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
	if err := db.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	runs := make(chan struct{}, 1000)
	w := New(db, slog.New(slog.DiscardHandler), time.Now, Job{Name: "job", Interval: 100 * time.Millisecond, Run: func(context.Context) (time.Duration, error) {
		runs <- struct{}{}
		return 0, nil
	}})
	w.Start(t.Context())
	defer stop(t, w)
	await := func(what string, done func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("not within 20 s: %s", what)
			}
		}
	}
	leases := func() int {
		list, err := Leases(t.Context(), db, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	<-runs
	ahead.Store(int64(6 * time.Second))
	await("the lease is given back", func() bool { return leases() == 0 })
	if offset := db.Breaker.ClockOffset(); offset > -3*time.Second || offset < -9*time.Second {
		t.Errorf("offset %s", offset)
	}
	for len(runs) > 0 {
		<-runs
	}
	ahead.Store(int64(4 * time.Second))
	<-runs
	if leases() != 1 {
		t.Error("the job ran without a lease")
	}
}

// fragile is a database that can fail.
type fragile struct {
	*database.DB
	begin, end func() // of an outage
}

func openFragile(t *testing.T, kind database.Kind) *fragile {
	t.Helper()
	f := new(fragile)
	if kind == database.SQLite {
		address := dbtest.URL(t, kind)
		other := dbtest.OpenAt(t, address)
		f.DB = dbtest.OpenAt(t, address)
		var lock bun.Tx
		f.begin = func() {
			var err error
			if lock, err = other.BeginTx(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		f.end = func() {
			if err := lock.Rollback(); err != nil {
				t.Fatal(err)
			}
		}
	} else {
		server := dbtest.StartPostgres(t)
		f.DB = dbtest.OpenAt(t, server.URL("postgres"))
		if _, err := f.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.begin, f.end = func() { server.Stop(dbtest.Kill) }, server.Start
	}
	if err := f.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return f
}

// fail begins an outage and returns when the breaker knows.
func (f *fragile) fail(t *testing.T) {
	t.Helper()
	f.begin()
	for f.Breaker.Err() == nil {
		if err := f.InTx(t.Context(), func(context.Context, bun.Tx) error { return nil }); err == nil {
			t.Fatal("a transaction succeeds during the outage")
		}
	}
}

// failed is a log that sends a value for each failed run.
type failed struct {
	slog.Handler
	runs chan<- struct{}
}

func (failed) Enabled(context.Context, slog.Level) bool { return true }

func (f failed) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "job failed" {
		f.runs <- struct{}{}
	}
	return nil
}

// TestTheEndOfAnOutage checks that a job that failed in an outage runs again when the database is
// back, but not sooner than its source allows.
func TestTheEndOfAnOutage(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			db := openFragile(t, kind)
			runs, failures := make(chan struct{}), make(chan struct{}, 10)
			asked, plans := make(chan time.Duration), make(chan time.Time, 10)
			w := New(db.DB, slog.New(failed{slog.DiscardHandler, failures}), time.Now, Job{
				Name: "job", Interval: time.Hour,
				Run: func(ctx context.Context) (time.Duration, error) {
					select {
					case runs <- struct{}{}:
					case <-ctx.Done():
						return 0, ctx.Err()
					}
					select {
					case next := <-asked:
						return next, errors.New("the database doesn't answer")
					case <-ctx.Done():
						return 0, ctx.Err()
					}
				},
				Planned: func(_ context.Context, at time.Time) { plans <- at },
			})
			w.Start(t.Context())
			defer stop(t, w)
			outage := func(next time.Duration) {
				db.fail(t)
				asked <- next
				<-failures // the pause begins
				db.end()
			}
			hang := time.After(time.Minute)
			<-runs
			outage(0)
			select {
			case <-runs:
			case <-hang:
				t.Fatal("the job doesn't run when the database is back")
			}
			for len(plans) > 0 {
				<-plans
			}
			outage(10 * time.Minute)
			select {
			case <-runs:
				t.Error("the job runs when the database is back, although the source asked to wait")
				asked <- 0
			case at := <-plans:
				if wait := time.Until(at); wait < 9*time.Minute || wait > 10*time.Minute {
					t.Errorf("the next run is in %s, want 10 minutes after the failure", wait)
				}
			case <-hang:
				t.Fatal("no run is planned")
			}
		})
	}
}
