package generation

import (
	"context"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// A Side is the database that a read uses, with the oldest state that the read can see.
type Side struct {
	// Stamp holds the values of the topics in that state.
	Stamp *Stamp
	// Primary holds their values on the primary at the last check.
	Primary *Stamp
	// Exact is true if the read sees everything that was committed before the last check. Stamp is
	// then equal to Primary.
	Exact bool
	// StaleSince is the time up to which the read surely sees everything, if it may see less than the allowed lag permits:
	// the primary can't be asked how far it is. It is zero for any other read.
	StaleSince time.Time

	follower *follower // nil if there is no replica
	replica  bool
}

// Side returns the database for a read. If current is true, the read sees everything that was
// committed before the last check, so call Check first. Otherwise it may see a state of the replica
// that is up to the allowed lag behind.
func (w *Watcher) Side(current bool) Side {
	now := w.last.Load()
	side := Side{Stamp: &now.stamp, Primary: &now.stamp, Exact: true, follower: w.follower}
	if w.follower == nil {
		return side
	}
	seen := w.follower.sight.Load()
	if seen == nil {
		return side
	}
	exact := seen.position >= now.server.Position
	at := w.now()
	switch {
	case current && !exact:
	case seen.stamp[Texts] < now.stamp[Texts]: // hidden texts must not show again
	case w.follower.late(seen, at):
	case exact:
		side.replica = true
	default:
		side.replica, side.Exact, side.Stamp = true, false, &seen.stamp
	}
	if side.replica && at.Sub(seen.freshAt) > w.follower.maxLag {
		side.StaleSince = seen.freshAt
	}
	return side
}

// Moves returns a number that changes when a topic moves on the primary or on its replica, as of the
// last check. It serves as the Epoch of a memo.Cache.
func (w *Watcher) Moves(topic Topic) uint64 {
	side := w.Side(false)
	return uint64(side.Primary[topic] + side.Stamp[topic])
}

// Read calls read with a context whose queries go to the side's database. If that is the replica,
// and it is unavailable or a read that isn't Exact returns an error, Read calls read again for the
// primary and sets s to the primary's Side. If read makes no query, it sets StaleSince to zero.
func (s *Side) Read(ctx context.Context, read func(context.Context) error) error {
	if s.replica {
		s.follower.counts[1].Add(1)
		replica, used := database.OnReplica(ctx, s.follower.replica)
		err := read(replica)
		if !used() {
			s.StaleSince = time.Time{}
		}
		lost := database.Unavailable(err)
		if err == nil || s.Exact && !lost {
			return err
		}
		if lost {
			s.follower.sight.Store(nil) // until the next check
		}
		*s = Side{Stamp: s.Primary, Primary: s.Primary, Exact: true, follower: s.follower}
	}
	if s.follower != nil {
		s.follower.counts[0].Add(1)
	}
	return read(ctx)
}
