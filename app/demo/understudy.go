package demo

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/source"
)

// standIn decides when the sample stands in for a live source: until that source has answered for the first
// time in this database.
type standIn struct {
	db   *database.DB
	now  func() time.Time
	log  *slog.Logger
	feed string // "markets" or "news"
	// hasLive reports whether a record of the feed is stored that isn't a sample.
	hasLive func(ctx context.Context, db bun.IDB) (bool, error)

	mu       sync.Mutex
	answered bool
	failure  *source.Error // of the latest request to the live source
	resumeAt time.Time     // the live source accepts no request before this time
}

// liveAnswered reports whether the live source has ever answered, on any node and before any restart. It looks
// for stored data of that source. After that, its failures are errors.
func (u *standIn) liveAnswered(ctx context.Context) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.answered {
		return true, nil
	}
	// The state outlasts the records, which are pruned with age.
	state, _, err := ingest.State(ctx, u.db.Reader, u.feed)
	if err != nil {
		return false, err
	}
	if u.answered = state.Source != "" && state.Source != Source; !u.answered {
		u.answered, err = u.hasLive(ctx, u.db.Reader)
	}
	return u.answered, err
}

// ask calls read, which asks the live source, and waits at most patience. It doesn't ask before the time that
// the source named after an earlier request. It returns the reason why there is no answer, without a
// RetryAfter, because the sample has no pause.
func (u *standIn) ask(ctx context.Context, patience time.Duration, read func(ctx context.Context) error) error {
	if failure := u.resting(); failure != nil {
		return failure
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := read(patient)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return u.failed(err)
}

func (u *standIn) resting() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failure != nil && u.now().Before(u.resumeAt) {
		return u.failure
	}
	return nil
}

func (u *standIn) failed(err error) error {
	failure := &source.Error{Reason: source.Reason(err), Err: err}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failure == nil || u.failure.Reason != failure.Reason {
		u.log.Warn("the live source doesn't answer: using the sample", "feed", u.feed, "reason", failure.Reason, "error", err)
	}
	u.failure, u.resumeAt = failure, u.now().Add(source.RetryAfter(err))
	return failure
}
