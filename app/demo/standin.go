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
func (s *standIn) liveAnswered(ctx context.Context) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.answered {
		return true, nil
	}
	// The state outlasts the records, which are pruned with age.
	state, _, err := ingest.State(ctx, s.db.Reader, s.feed)
	if err != nil {
		return false, err
	}
	if s.answered = state.Source != "" && state.Source != Source; !s.answered {
		s.answered, err = s.hasLive(ctx, s.db.Reader)
	}
	return s.answered, err
}

// ask calls read, which asks the live source, and waits at most patience. It doesn't ask before the time that
// the source named after an earlier request. It returns the reason why there is no answer, without a
// RetryAfter, because the sample has no pause.
func (s *standIn) ask(ctx context.Context, patience time.Duration, read func(ctx context.Context) error) error {
	if failure := s.resting(); failure != nil {
		return failure
	}
	patient, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := read(patient)
	if err == nil || ctx.Err() != nil {
		return err
	}
	return s.failed(err)
}

func (s *standIn) resting() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure != nil && s.now().Before(s.resumeAt) {
		return s.failure
	}
	return nil
}

func (s *standIn) failed(err error) error {
	failure := &source.Error{Reason: source.Reason(err), Err: err}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure == nil || s.failure.Reason != failure.Reason {
		s.log.Warn("the live source doesn't answer: using the sample", "feed", s.feed, "reason", failure.Reason, "error", err)
	}
	s.failure, s.resumeAt = failure, s.now().Add(source.RetryAfter(err))
	return failure
}
