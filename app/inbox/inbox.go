// Package inbox returns what an agent reads when it wakes: the updates since its last read, and the agent's
// current state. The updates are about the agent's predictions, about markets on which it has published,
// and about new assignments. They come in the order of the log.
package inbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/leaderboard"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/score"
	"github.com/pulsecast/pulsecast/app/update"
)

const (
	// maxShared is the most updates of markets and assignments that one read examines.
	maxShared = 1000
	// maxQuiet bounds how many shared updates a cursor may lag behind if none of them concerned the agent.
	maxQuiet = 500
	// baselineWithin is about how long a baseline takes if the market is read on schedule.
	baselineWithin = score.AfterDelayMost + time.Minute
	// storedWithin is far more than the usual time from the stamp of a market's update to its commit. A prediction in
	// between was made without knowing of the update.
	storedWithin = 30 * time.Second
)

// Page is the result of one read.
type Page struct {
	Updates []update.Update // in the order of their numbers
	// Cursor is the position after this page. It doesn't change while there is nothing new, so that the
	// answer keeps its ETag.
	Cursor int64
	More   bool // there may be more after Cursor
	Now    Now
	// NextCheckAt is the next time at which something is expected: an open prediction's market closes, a
	// baseline is due, an assignment is due, or the assignments of the next day are chosen. It is zero if
	// nothing is expected, and while More is true. It changes only if one of these times changes.
	NextCheckAt time.Time
}

// Now is the agent's current state.
type Now struct {
	Stats       *leaderboard.Stats // as returned by leaderboard.Store.Summary
	Assignments int                // open assignments that the agent has not answered
}

// Reader reads the updates of agents.
type Reader struct {
	Leaderboard *leaderboard.Store
	Now         func() time.Time

	log         update.Store
	predictions prediction.Store
	assignments assignment.Store
}

// ExpiredError refuses a cursor after which updates were deleted. It also refuses a cursor beyond the last
// number, which occurs after a backup was restored. Fresh is the cursor at the end of the log.
type ExpiredError struct{ Fresh int64 }

func (*ExpiredError) Error() string { return "the cursor of the updates has expired" }

// Read returns at most limit updates of an agent after the number since. If since is nil, it returns no
// updates and the cursor at the end of the log. Refusal: *ExpiredError.
func (r *Reader) Read(ctx context.Context, db bun.IDB, agentID uuid.UUID, since *int64, limit int) (*Page, error) {
	head, err := r.log.Head(ctx, db)
	if err != nil {
		return nil, err
	}
	p := &Page{Cursor: head.Last}
	if since != nil {
		if *since < head.Deleted || *since > head.Last {
			return nil, &ExpiredError{head.Last}
		}
		if err := r.readUpdates(ctx, db, agentID, p, head, *since, limit); err != nil {
			return nil, err
		}
	}
	return p, r.readNow(ctx, db, agentID, p)
}

// readUpdates merges an agent's own updates with the shared ones that concern it.
func (r *Reader) readUpdates(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, p *Page, head update.Head, since int64, limit int,
) error {
	span := update.Span{After: since, UpTo: head.Last}
	shared, err := r.log.Shared(ctx, db, span, maxShared)
	if err != nil {
		return err
	}
	looked := len(shared)
	if looked == maxShared { // updates after the last one are unknown
		span.UpTo, p.More = shared[looked-1].Seq, true
	}
	if shared, err = r.concerning(ctx, db, agentID, shared); err != nil {
		return err
	}
	own, err := r.log.Own(ctx, db, agentID, span, limit+1)
	if err != nil {
		return err
	}
	p.Updates = append(own, shared...)
	slices.SortFunc(p.Updates, func(a, b update.Update) int { return int(a.Seq - b.Seq) })
	p.Cursor = span.UpTo
	switch {
	case len(p.Updates) > limit:
		p.Updates, p.More = p.Updates[:limit], true
		p.Cursor = p.Updates[limit-1].Seq
	case len(p.Updates) == 0 && looked < maxQuiet && since >= (head.Deleted+head.Last)/2:
		p.Cursor = since
	}
	return nil
}

// concerning keeps the updates of assignments, and the updates of markets on which the agent had an open
// prediction when the update was committed. Predictions on a market are open as long as the market is, so the
// agent's first prediction decides. An update shortly before that may be kept too.
func (r *Reader) concerning(
	ctx context.Context, db bun.IDB, agentID uuid.UUID, shared []update.Update,
) ([]update.Update, error) {
	var ids []string
	for i := range shared {
		if m := shared[i].Ref.Market; m != nil && shared[i].Ref.Assignment == nil {
			ids = append(ids, m.ID)
		}
	}
	slices.Sort(ids)
	first, err := r.predictions.FirstOn(ctx, db, agentID, slices.Compact(ids))
	return slices.DeleteFunc(shared, func(u update.Update) bool {
		if u.Ref.Assignment != nil {
			return false
		}
		at, published := first[u.Ref.Market.ID]
		return !published || at.After(u.At.Add(storedWithin))
	}), err
}

func (r *Reader) readNow(ctx context.Context, db bun.IDB, agentID uuid.UUID, p *Page) (err error) {
	if p.Now.Stats, err = r.Leaderboard.Summary(ctx, db, agentID); err != nil {
		return err
	}
	now := r.Now()
	waiting, err := r.assignments.WaitingFor(ctx, db, agentID, now)
	if err != nil {
		return fmt.Errorf("read an agent's open assignments: %w", err)
	}
	p.Now.Assignments = waiting.Open
	if !p.More {
		p.NextCheckAt = nextOf(now, p.Now.Stats, waiting)
	}
	return nil
}

// nextOf returns the first future time at which something is expected.
func nextOf(now time.Time, st *leaderboard.Stats, w assignment.Waiting) (next time.Time) {
	moments := []time.Time{st.NextCloseAt, w.NextDueAt}
	if !w.ChosenFor.IsZero() {
		moments = append(moments, w.ChosenFor.AddDate(0, 0, 1))
	}
	if !st.LastPublishedAt.IsZero() && st.Open > 0 {
		moments = append(moments, st.LastPublishedAt.Add(baselineWithin))
	}
	for _, at := range moments {
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
