package demo

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/source"
)

// understudy knows when the sample stands in for a live source: as long as that has
// never answered in this database.
type understudy struct {
	db   *database.DB
	now  func() time.Time
	log  *slog.Logger
	feed string // "markets" or "news"
	// hasLive tells whether a record of the feed is stored that is no sample.
	hasLive func(ctx context.Context, db bun.IDB) (bool, error)

	mu       sync.Mutex
	relieved bool
	failure  *source.Error // of the last time the live source was asked
	resumeAt time.Time     // the live source wants no question before
}

// isRelieved tells whether the live source has answered, on any node and before any
// restart: something of it is stored. Its failures are then failures.
func (u *understudy) isRelieved(ctx context.Context) (bool, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.relieved {
		return true, nil
	}
	// The state outlasts the records, which are pruned when they are old.
	state, _, err := ingest.State(ctx, u.db.Reader, u.feed)
	if err != nil {
		return false, err
	}
	if u.relieved = state.Source != "" && state.Source != Source; !u.relieved {
		u.relieved, err = u.hasLive(ctx, u.db.Reader)
	}
	return u.relieved, err
}

// ask lets read ask the live source, but not for longer than patience, and not before
// the time that the source named after an earlier question. The error is why there is
// no answer. It names no pause: the sample has its own pace.
func (u *understudy) ask(ctx context.Context, patience time.Duration, read func(ctx context.Context) error) error {
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

func (u *understudy) resting() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failure != nil && u.now().Before(u.resumeAt) {
		return u.failure
	}
	return nil
}

func (u *understudy) failed(err error) error {
	failure := &source.Error{Reason: source.Reason(err), Err: err}
	var pause time.Duration
	if asked, ok := errors.AsType[*source.Error](err); ok {
		pause = asked.RetryAfter
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failure == nil || u.failure.Reason != failure.Reason {
		u.log.Warn("no live source answers: the sample goes on", "feed", u.feed, "reason", failure.Reason, "error", err)
	}
	u.failure, u.resumeAt = failure, u.now().Add(pause)
	return failure
}
