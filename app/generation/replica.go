package generation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// maxMarks is the most marks that a follower keeps while its replica doesn't move.
const maxMarks = 1024

// follower measures how far a replica is behind the primary. See docs/decisions/0008-replica.md.
type follower struct {
	replica *database.Replica
	primary *database.Breaker
	maxLag  time.Duration
	log     *slog.Logger
	now     func() time.Time

	known  atomic.Pointer[database.Server] // the primary at the last check; nil before the first
	sight  atomic.Pointer[sight]           // the last check of the replica; nil while it can't be used
	counts [2]atomic.Int64                 // number of reads begun on the primary and on the replica

	mu      sync.Mutex
	marks   []mark    // checks of the primary that the replica hasn't reached, oldest first
	freshAt time.Time // the replica has everything committed before; zero if unknown
	cause   error     // why reads go to the primary; nil if they don't
}

// mark is a position that the primary had reached at a moment.
type mark struct {
	at       time.Time
	position database.Position
}

// sight is the result of a check of the replica. Later queries on the replica see at least this
// state.
type sight struct {
	stamp    Stamp
	position database.Position
	freshAt  time.Time
}

// errBehind is the cause if reads go to the primary because the replica lags.
var errBehind = errors.New("the replica is further behind than REPLICA_MAX_LAG")

// errUnknown is the cause if reads go to the primary because the replica hasn't been checked yet.
var errUnknown = errors.New("the replica hasn't been checked yet")

// AddReplica lets reads go to the replica of db while it is at most maxLag behind. Call it before
// the first check.
func (w *Watcher) AddReplica(db *database.DB, maxLag time.Duration) {
	w.follower = &follower{replica: db.Replica, primary: db.Breaker, maxLag: maxLag, log: w.log, now: w.now, cause: errUnknown}
}

// note adds a mark for the primary's present position.
func (f *follower) note(primary *moment) {
	f.known.Store(&primary.server)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.marks) == maxMarks {
		f.marks = f.marks[1:] // freshAt may then be too early, which is safe
	}
	f.marks = append(f.marks, mark{primary.at, primary.server.Position})
}

// watch checks the replica every Interval until ctx ends.
func (f *follower) watch(ctx context.Context) {
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for {
		err := f.look(ctx)
		if ctx.Err() != nil {
			return
		}
		f.tell(err)
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// look checks the replica. It returns the reason why the replica can't serve reads, or nil if it
// can.
func (f *follower) look(ctx context.Context) error {
	primary := f.known.Load()
	if primary == nil {
		return errUnknown
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	now, err := readMoment(ctx, f.replica.DB, f.now(), true)
	if err == nil {
		err = now.server.Check(primary)
	}
	if err != nil {
		f.sight.Store(nil)
		return err
	}
	seen := &sight{now.stamp, now.server.Position, f.reached(now.server.Position)}
	f.sight.Store(seen)
	if f.late(seen, f.now()) {
		return errBehind
	}
	return nil
}

// reached removes the marks up to a position and returns the time of the last mark ever removed.
func (f *follower) reached(p database.Position) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.marks) > 0 && f.marks[0].position <= p {
		f.freshAt, f.marks = f.marks[0].at, f.marks[1:]
	}
	return f.freshAt
}

// late reports whether the replica may lack a commit of the primary that is older than maxLag. While the primary can't be
// asked, only the commits that it is known to have count. Reads that may lack later ones have a Side.StaleSince.
func (f *follower) late(seen *sight, now time.Time) bool {
	if now.Sub(seen.freshAt) <= f.maxLag {
		return false
	}
	if f.primary.Err() == nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.marks) == 0 {
		return false
	}
	return f.marks[len(f.marks)-1].at.Sub(seen.freshAt) > f.maxLag
}

// tell stores the cause and logs when reads begin to go to the other database.
func (f *follower) tell(cause error) {
	f.mu.Lock()
	before := f.cause
	f.cause = cause
	f.mu.Unlock()
	switch {
	case cause == nil && before != nil:
		f.log.Info("reads go to the replica")
	case cause != nil && before == nil:
		f.log.Warn("reads go to the primary", "cause", cause)
	}
}

// FindReplica checks the replica of db until it can serve reads, for at most maxLag, and returns
// its state. It is for a process without a Watcher.
func FindReplica(ctx context.Context, db *database.DB, maxLag time.Duration) (*ReplicaState, error) {
	w := NewWatcher(db.DB, slog.New(slog.DiscardHandler))
	w.AddReplica(db, maxLag)
	tick := time.NewTicker(Interval)
	defer tick.Stop()
	for deadline := time.Now().Add(maxLag); ; {
		if err := w.Check(ctx); err != nil {
			return nil, err
		}
		w.follower.tell(w.follower.look(ctx))
		state := w.Replica()
		if state.Cause == nil || time.Now().After(deadline) {
			return state, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return state, nil
		}
	}
}

// ReplicaState is the state of the replica as this process sees it.
type ReplicaState struct {
	// Lag is the time since the moment up to which the replica surely has all commits. It is
	// negative if that is unknown.
	Lag time.Duration
	// Cause is the reason why reads go to the primary. It is nil if they go to the replica.
	Cause error
	// Primary and Replica count the reads begun on each. A read that fails on the replica is
	// counted for both.
	Primary, Replica int64
}

// Warning returns a sentence for operators, or "" if reads go to the replica.
func (s *ReplicaState) Warning() string {
	switch {
	case s.Cause == nil:
		return ""
	case errors.Is(s.Cause, errBehind) && s.Lag >= 0:
		return fmt.Sprintf("the replica is %s behind; reads go to the primary", s.Lag.Round(100*time.Millisecond))
	case database.Unavailable(s.Cause):
		return "the replica can't be reached; reads go to the primary"
	}
	return s.Cause.Error() + "; reads go to the primary"
}

// Replica returns the state of the replica, or nil if there is none.
func (w *Watcher) Replica() *ReplicaState {
	f := w.follower
	if f == nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	state := ReplicaState{Lag: -1, Cause: f.cause, Primary: f.counts[0].Load(), Replica: f.counts[1].Load()}
	if !f.freshAt.IsZero() {
		state.Lag = f.now().Sub(f.freshAt)
	}
	return &state
}
