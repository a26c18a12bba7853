package ingest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/source"
)

// FeedState is the result of a feed's latest readings, for the health of the service.
type FeedState struct {
	bun.BaseModel `bun:"table:feed_states,alias:f"`

	Feed    string         `bun:",pk"` // "markets" or "news"
	Source  string         // the source that answered last; empty before the first answer
	Count   int            // number of records of the last good reading
	Dropped map[string]int `bun:"type:json"` // records that the last good reading left out, by reason

	SucceededAt time.Time `bun:",nullzero"`
	// LastError is the fixed word for the latest failure since the last good reading, or else for a failure of a part
	// of that reading or of a source that another one replaced. It is empty if there was none.
	LastError string    `bun:",nullzero"`
	FailedAt  time.Time `bun:",nullzero"` // time of the latest failure ever
	// Failures counts the readings in a row that failed, or of which a part failed.
	Failures int
	NextAt   time.Time `bun:",nullzero"` // when the next reading is due
}

// Partial reports whether the latest reading was good, except for the failure in LastError.
func (s *FeedState) Partial() bool { return s.LastError != "" && s.FailedAt.Equal(s.SucceededAt) }

// State reads the state of a feed. found is false before the feed's first tick on any node.
func State(ctx context.Context, db bun.IDB, feed string) (s FeedState, found bool, err error) {
	err = db.NewSelect().Model(&s).Where("f.feed = ?", feed).Scan(ctx)
	if errors.Is(err, sql.ErrNoRows) {
		return FeedState{}, false, nil
	}
	if err != nil {
		return FeedState{}, false, fmt.Errorf("read state of %s: %w", feed, err)
	}
	s.SucceededAt, s.FailedAt, s.NextAt = s.SucceededAt.UTC(), s.FailedAt.UTC(), s.NextAt.UTC()
	return s, true, nil
}

// recordSuccess stores the result of a good reading. If partly isn't nil, it is an error that affected only a
// part of the reading, and counts as a failure. replaced is the error of sources that another one replaced, or nil. It
// doesn't count, because the reading lacks nothing.
func recordSuccess(ctx context.Context, db bun.IDB, s FeedState, partly, replaced error) error {
	s.SucceededAt = database.Stored(s.SucceededAt)
	if s.Dropped == nil {
		s.Dropped = map[string]int{}
	}
	columns := []string{"source", "count", "dropped", "succeeded_at", "last_error"}
	if failure := errors.Join(partly, replaced); failure != nil {
		s.LastError, s.FailedAt = source.Reason(failure), s.SucceededAt
		columns = append(columns, "failed_at")
	}
	failures := "failures = 0"
	if partly != nil {
		s.Failures, failures = 1, "failures = f.failures + 1"
	}
	q := db.NewInsert().Model(&s).On("CONFLICT (feed) DO UPDATE").Set(failures)
	for _, column := range columns {
		q = q.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("store state of %s: %w", s.Feed, err)
	}
	return nil
}

// failed records a failure and returns it. A tick that is cancelled because the node stops isn't a failure of
// the source.
func failed(ctx context.Context, db bun.IDB, feed string, at time.Time, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	return errors.Join(cause, recordFailure(context.WithoutCancel(ctx), db, feed, at, cause))
}

// recordFailure stores why a reading failed. It keeps the result of the last good reading.
func recordFailure(ctx context.Context, db bun.IDB, feed string, at time.Time, cause error) error {
	s := FeedState{
		Feed: feed, Dropped: map[string]int{}, LastError: source.Reason(cause), FailedAt: database.Stored(at), Failures: 1,
	}
	_, err := db.NewInsert().Model(&s).On("CONFLICT (feed) DO UPDATE").
		Set("last_error = EXCLUDED.last_error").Set("failed_at = EXCLUDED.failed_at").
		Set("failures = f.failures + 1").Exec(ctx)
	if err != nil {
		return fmt.Errorf("store state of %s: %w", feed, err)
	}
	return nil
}

func recordPlan(ctx context.Context, db bun.IDB, feed string, at time.Time) error {
	_, err := db.NewUpdate().Model((*FeedState)(nil)).Set("next_at = ?", database.Stored(at)).Where("feed = ?", feed).Exec(ctx)
	if err != nil {
		return fmt.Errorf("store the next tick of %s: %w", feed, err)
	}
	return nil
}
