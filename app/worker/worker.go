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

// Job is a task that runs at intervals, on one node at a time. It must tolerate being cancelled and
// being run twice.
type Job struct {
	Name     string // also the name of the lease
	Interval time.Duration
	// Timeout is the maximum duration of one run. Zero means two intervals, but at least 30 seconds
	// and at most an hour.
	Timeout time.Duration
	// Run runs the job once. After a success, next is the pause before the next run, or Interval if
	// next is zero. After a failure the pause is Interval, doubled for each further failure, up to
	// five times Interval. If the database can't be used then, the pause ends when it is available
	// again. The pause is never shorter than next.
	Run func(ctx context.Context) (next time.Duration, err error)
	// Outbound is true if the job needs a server other than the database, which another node may reach although this one
	// can't. Then the second failure in a row and each further one pass the job on: after the pause, another node runs
	// it. Only if no other node takes it does this one go on, a few seconds later.
	Outbound bool
	// Planned, if set, is called after each run with the time of the next one.
	Planned func(ctx context.Context, at time.Time)
}

// handOver is the error of HandOver.
type handOver struct{ error }

func (h handOver) Unwrap() error { return h.error }

// HandOver returns err for a run that failed for a reason of this node, such as a disk that hangs. The worker then gives
// the lease back, and tries for it again after the pause that follows a failure. Meanwhile another node may run the job.
func HandOver(err error) error { return handOver{err} }

// Worker runs jobs between Start and Stop.
type Worker struct {
	db  *database.DB
	log *slog.Logger
	now func() time.Time
	// time returns the time with which leases are compared. All nodes must agree on it, even if
	// their clocks differ.
	time   func(db bun.IDB, now time.Time, ahead time.Duration) schema.QueryAppender
	holder string
	jobs   []Job
	cancel context.CancelFunc
	done   sync.WaitGroup
}

// New returns a worker. Each worker holds leases under its own id.
func New(db *database.DB, log *slog.Logger, now func() time.Time, jobs ...Job) *Worker {
	return &Worker{db: db, log: log, now: now, time: database.ServerTime, holder: uuid.NewString(), jobs: jobs}
}

// Start runs the jobs in the background until Stop, or until ctx ends.
func (w *Worker) Start(ctx context.Context) {
	ctx, w.cancel = context.WithCancel(database.Patient(ctx))
	for _, job := range w.jobs {
		w.done.Go(func() { w.compete(ctx, job) })
	}
}

// Stop cancels running jobs and gives the leases back, and waits for both. It fails if ctx ends
// first. The leases then expire.
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

// life returns how long the lease of a job is valid without renewal.
func (j Job) life() time.Duration { return min(j.Interval*3/4, 20*time.Second) }

func (j Job) timeout() time.Duration {
	if j.Timeout > 0 {
		return j.Timeout
	}
	return min(max(2*j.Interval, 30*time.Second), time.Hour)
}

// compete tries to get the lease of a job repeatedly, and runs the job while it holds the lease.
func (w *Worker) compete(ctx context.Context, job Job) {
	failing, off := false, false
	for ctx.Err() == nil {
		if w.clockOff() != off {
			off = !off
			w.noteClock(ctx, job, off)
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
				w.log.Warn("can't request the lease; the job may not be running on any node", "job", job.Name, "error", err)
			} else {
				w.log.Info("the lease can be requested again", "job", job.Name)
			}
		}
		rest := job.life() / 4
		if mine {
			rest = max(rest, w.hold(ctx, job))
		}
		pause(ctx, rest)
	}
	w.giveBack(ctx, job)
}

// giveBack releases the lease of a job. It tries even if this worker seems not to hold it, because
// the last answer of the database may have been lost.
func (w *Worker) giveBack(ctx context.Context, job Job) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := release(ctx, w.db, job.Name, w.holder); err != nil {
		w.log.Warn("lease not released", "job", job.Name, "error", err)
	}
}

// clockOff reports whether this node's clock is too far from the database's. Then the node runs no
// jobs, because their rows would have wrong times.
func (w *Worker) clockOff() bool { return w.db.Breaker.ClockOff() }

// noteClock logs that the clock went off or is right again. If it went off, noteClock also gives
// the lease back.
func (w *Worker) noteClock(ctx context.Context, job Job, off bool) {
	if !off {
		w.log.Info("the clock agrees with the database's again", "job", job.Name)
		return
	}
	w.log.Warn("the clock is off, so this node runs no jobs", "job", job.Name, "database_ahead", w.db.Breaker.ClockOffset())
	w.giveBack(ctx, job)
}

// passAfter is the number of failures in a row, on whichever nodes, from which an outbound job is passed on. The first may
// be due to a moment of the source. The pauses before the second and after it are one and two intervals, so another node
// reads the markets early enough for a prediction that needs a price within settlement.BaselineWithin.
const passAfter = 2

// hold runs a job at its interval until the lease is lost or ctx ends. If a run hands the job over, or an outbound job has
// failed passAfter times, hold ends the lease and returns how long this worker must not try for it.
func (w *Worker) hold(ctx context.Context, job Job) (rest time.Duration) {
	ctx, lose := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() {
		defer lose()
		w.keep(ctx, job)
	})
	failures, pass := w.inherited(ctx, job), false // pass: the lease ends with the failures
	for ctx.Err() == nil {
		next, err := w.run(ctx, job)
		if ctx.Err() != nil {
			break
		}
		outage := false
		if err != nil {
			failures++
			least := next
			outage = w.db.Breaker.Err() != nil
			next = max(backoff(job.Interval, failures), next)
			w.log.Warn("job failed", "job", job.Name, "failures", failures, "again_in", next.Round(time.Millisecond), "error", err)
			if outage {
				next = max(least-w.awaitDatabase(ctx, next), 0)
			}
		} else {
			failures = 0
			next = regular(job.Interval, next)
		}
		if job.Planned != nil {
			job.Planned(ctx, w.now().Add(next))
		}
		if _, over := errors.AsType[handOver](err); over {
			rest, pass = next, true
			break
		}
		pause(ctx, next)
		if job.Outbound && failures >= passAfter && !outage && ctx.Err() == nil {
			rest, pass = job.life()/2, true // others try twice in this time
			break
		}
	}
	lose()
	keeper.Wait()
	if pass {
		w.passOn(ctx, job, failures)
	}
	return rest
}

// inherited returns how many failures in a row the job had when its last holder passed it on, so that several nodes don't
// try more often than one node would.
func (w *Worker) inherited(ctx context.Context, job Job) int {
	n, err := w.failures(ctx, job.Name)
	if err != nil {
		w.log.Warn("earlier failures not read", "job", job.Name, "error", err)
	}
	return n
}

// passOn ends the lease of a job, and keeps the number of failures for the next holder.
func (w *Worker) passOn(ctx context.Context, job Job, failures int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := w.end(ctx, job.Name, failures); err != nil {
		w.log.Warn("lease not passed on", "job", job.Name, "error", err)
	}
}

// awaitDatabase waits until the database is available again, but no longer than most. It returns how
// long it waited.
func (w *Worker) awaitDatabase(ctx context.Context, most time.Duration) time.Duration {
	began, timer := time.Now(), time.NewTimer(most)
	defer timer.Stop()
	select {
	case <-w.db.Breaker.Back():
	case <-timer.C:
	case <-ctx.Done():
	}
	return time.Since(began)
}

// keep renews the lease until ctx ends or another worker holds it. While the database doesn't
// answer, this worker keeps the lease until it expires.
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

// prolong renews the lease. It returns in time to try again before the lease expires.
func (w *Worker) prolong(ctx context.Context, job Job) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, job.life()/3)
	defer cancel()
	return w.renew(ctx, job.Name, job.life())
}

// run runs a job once. It returns a panic as an error, so that a panic doesn't stop the server.
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
		err = fmt.Errorf("timed out after %s: %w", job.timeout(), err)
	}
	return next, err
}

// regular returns the pause after a success. A jitter of 5 % keeps nodes and feeds from running in
// step. The pause is never shorter than next.
func regular(interval, next time.Duration) time.Duration {
	if next > 0 {
		return next + jitter(next/20)
	}
	return interval - interval/40 + jitter(interval/20)
}

// backoff returns the pause after a number of consecutive failures: the interval, doubled for each
// failure after the first, up to five intervals. A random part of up to a quarter is subtracted.
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

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
