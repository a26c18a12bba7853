package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

	"github.com/pulsecast/pulsecast/app/database"
)

// Job is something to do at intervals, on one node at a time. It must bear being cut
// off and being run twice.
type Job struct {
	Name     string // of the lease, too
	Interval time.Duration
	// Timeout bounds one run; zero is two intervals, at least 30 seconds, at most an hour.
	Timeout time.Duration
	// Run does it once. After a success, next above zero is the pause before the next
	// run instead of Interval. After a failure the pause doubles from Interval up to
	// five times, and is never below next.
	Run func(ctx context.Context) (next time.Duration, err error)
	// Planned, if set, is told after each run when the next is due.
	Planned func(ctx context.Context, at time.Time)
}

// Worker runs jobs between Start and Stop.
type Worker struct {
	db  *database.DB
	log *slog.Logger
	now func() time.Time
	// time is what leases are compared by. Nodes whose clocks differ must agree on it.
	time   func(db bun.IDB, now time.Time, ahead time.Duration) schema.QueryAppender
	holder string
	jobs   []Job
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New makes a worker; each is a holder of its own.
func New(db *database.DB, log *slog.Logger, now func() time.Time, jobs ...Job) *Worker {
	return &Worker{db: db, log: log, now: now, time: database.ServerTime, holder: uuid.NewString(), jobs: jobs}
}

// Start runs the jobs in the background until Stop, or until ctx ends.
func (w *Worker) Start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(ctx)
	for _, job := range w.jobs {
		w.done.Go(func() { w.compete(ctx, job) })
	}
}

// Stop cuts off what runs, gives the leases back and waits for both. It fails when
// ctx ends first; the leases then expire by themselves.
func (w *Worker) Stop(ctx context.Context) error {
	if w.cancel == nil {
		return nil
	}
	w.cancel()
	stopped := make(chan struct{})
	go func() { w.done.Wait(); close(stopped) }()
	select {
	case <-stopped:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop worker: %w", ctx.Err())
	}
}

// life is how long the lease of a job holds without being renewed.
func (j Job) life() time.Duration { return min(j.Interval*3/4, 20*time.Second) }

func (j Job) timeout() time.Duration {
	if j.Timeout > 0 {
		return j.Timeout
	}
	return min(max(2*j.Interval, 30*time.Second), time.Hour)
}

// compete tries for the lease of a job again and again, and runs the job while it
// has it.
func (w *Worker) compete(ctx context.Context, job Job) {
	failing, off := false, false
	for ctx.Err() == nil {
		if w.clockOff() != off {
			off = !off
			w.tellClock(ctx, job, off)
		}
		if off {
			pause(ctx, job.life()/4)
			continue
		}
		mine, err := w.acquire(ctx, job.Name, job.life())
		if ctx.Err() != nil {
			break
		}
		if (err != nil) != failing {
			failing = err != nil
			if failing {
				w.log.Warn("lease cannot be asked for; nobody may be running the job", "job", job.Name, "error", err)
			} else {
				w.log.Info("lease can be asked for again", "job", job.Name)
			}
		}
		if mine {
			w.hold(ctx, job)
		}
		pause(ctx, job.life()/4)
	}
	w.giveBack(ctx, job)
}

// giveBack releases the lease of a job. It may be ours also if the last answer did not reach us.
func (w *Worker) giveBack(ctx context.Context, job Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := release(ctx, w.db, job.Name, w.holder); err != nil {
		w.log.Warn("lease not released", "job", job.Name, "error", err)
	}
}

// clockOff reports whether this node's clock is too far from the database's to run jobs: what
// they write would be dated wrongly.
func (w *Worker) clockOff() bool { return w.db.Breaker.ClockOff() }

// tellClock says that the clock went off or right, and gives the lease back.
func (w *Worker) tellClock(ctx context.Context, job Job, off bool) {
	if !off {
		w.log.Info("the clock agrees with the database's again", "job", job.Name)
		return
	}
	w.log.Warn("the clock is off: this node runs no jobs", "job", job.Name, "database_ahead", w.db.Breaker.ClockOffset())
	w.giveBack(ctx, job)
}

// hold runs a job at its interval until the lease is lost or ctx ends.
func (w *Worker) hold(ctx context.Context, job Job) {
	ctx, lose := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() {
		defer lose()
		w.keep(ctx, job)
	})
	failures := 0
	for ctx.Err() == nil {
		next, err := w.run(ctx, job)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			failures++
			next = max(backoff(job.Interval, failures), next)
			w.log.Warn("job failed", "job", job.Name, "failures", failures, "again_in", next.Round(time.Millisecond), "error", err)
			if w.db.Breaker.Err() != nil && w.awaitDatabase(ctx, next) {
				continue
			}
		} else {
			failures = 0
			next = regular(job.Interval, next)
		}
		if job.Planned != nil {
			job.Planned(ctx, w.now().Add(next))
		}
		pause(ctx, next)
	}
	lose()
	keeper.Wait()
}

// awaitDatabase waits until the database can be used again, at most for as long as a failed job
// pauses. It reports whether it can.
func (w *Worker) awaitDatabase(ctx context.Context, most time.Duration) bool {
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.db.Breaker.Back():
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// keep renews the lease until ctx ends or the lease is no longer ours. While the
// database does not answer, the lease is ours until it expires.
func (w *Worker) keep(ctx context.Context, job Job) {
	expires := w.now().Add(job.life())
	for {
		pause(ctx, job.life()/3)
		if ctx.Err() != nil {
			return
		}
		at := w.now()
		if w.clockOff() {
			return
		}
		mine, err := w.prolong(ctx, job)
		switch {
		case ctx.Err() != nil:
			return
		case mine:
			expires = at.Add(job.life())
		case err == nil || !w.now().Before(expires):
			w.log.Warn("lease lost", "job", job.Name, "error", err)
			return
		}
	}
}

// prolong never hangs for longer than the lease lasts.
func (w *Worker) prolong(ctx context.Context, job Job) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, job.life()/3)
	defer cancel()
	return w.renew(ctx, job.Name, job.life())
}

// run does a job once. A panic is a failure like any other: it must not take the
// server down.
func (w *Worker) run(ctx context.Context, job Job) (next time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, job.timeout())
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			next, err = 0, fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	next, err = job.Run(ctx)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("not done within %s: %w", job.timeout(), err)
	}
	return next, err
}

// regular is the pause after a success, with a jitter of a twentieth so that nodes
// and feeds do not fall into step. It is never below what the job asked for.
func regular(interval, next time.Duration) time.Duration {
	if next > 0 {
		return next + jitter(next/20)
	}
	return interval - interval/40 + jitter(interval/20)
}

// backoff is the pause after so many failures in a row: the interval doubled each
// time, up to five intervals, of which the last quarter is left to chance.
func backoff(interval time.Duration, failures int) time.Duration {
	longest := 5 * interval
	wait := longest
	if failures < 4 {
		wait = min(interval<<(failures-1), longest)
	}
	return wait - jitter(wait/4)
}

func jitter(upTo time.Duration) time.Duration {
	if upTo <= 0 {
		return 0
	}
	return rand.N(upTo)
}

// pause waits, or returns at once when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
