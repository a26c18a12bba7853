package generation

import (
	"context"

	"github.com/pulsecast/pulsecast/app/database"
)

// A Side is where a read finds its rows, and what it sees there at least.
type Side struct {
	// Stamp is where the topics stood when all was committed that the read sees at least.
	Stamp *Stamp
	// Primary is where they stood on the primary.
	Primary *Stamp
	// Exact means that the read sees all that was committed before the last look, so that Stamp
	// is Primary.
	Exact bool

	follower *follower // nil if there is no replica
	replica  bool
}

// Side returns where to read. A read that is current sees all that was committed before the
// last look, so call Check first; another may be as far behind as the replica may.
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
	switch {
	case current && !exact:
	case seen.stamp[Texts] < now.stamp[Texts]: // what was hidden doesn't come back
	case w.follower.late(seen, w.now()):
	case exact:
		side.replica = true
	default:
		side.replica, side.Exact, side.Stamp = true, false, &seen.stamp
	}
	return side
}

// Read calls read with a context whose queries go to the side. If that is the replica and it
// fails, or read finds something missing that the primary may have, Read calls it once more for
// the primary and s is that side from then on.
func (s *Side) Read(ctx context.Context, read func(context.Context) error) error {
	if s.replica {
		s.follower.counts[1].Add(1)
		err := read(database.OnReplica(ctx, s.follower.replica))
		lost := database.Unavailable(err)
		if err == nil || s.Exact && !lost {
			return err
		}
		if lost {
			s.follower.sight.Store(nil) // until the next look
		}
		*s = Side{Stamp: s.Primary, Primary: s.Primary, Exact: true, follower: s.follower}
	}
	if s.follower != nil {
		s.follower.counts[0].Add(1)
	}
	return read(ctx)
}
