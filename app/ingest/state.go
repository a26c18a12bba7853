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

// FeedState tells how the readings of a feed go, for the health of the service.
type FeedState struct {
	bun.BaseModel `bun:"table:feed_states,alias:f"`

	Feed    string         `bun:",pk"` // "markets" or "news"
	Source  string         // which source answered last; empty before the first answer
	Count   int            // records of its last good reading
	Dropped map[string]int `bun:"type:json"` // malformed ones it left out, by reason

	SucceededAt time.Time `bun:",nullzero"`
	// LastError is the fixed word for the last failure since then; empty when the last
	// reading was good.
	LastError string    `bun:",nullzero"`
	FailedAt  time.Time `bun:",nullzero"` // of the last failure ever
	Failures  int       // in a row
	NextAt    time.Time `bun:",nullzero"` // when the next reading is due
}

// State reads the state of a feed; found is false before its first tick anywhere.
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

// recordSuccess keeps what a good reading was like. partly, when not nil, is what
// went wrong beside it.
func recordSuccess(ctx context.Context, db bun.IDB, s FeedState, partly error) error {
	s.SucceededAt = database.Now(s.SucceededAt)
	if s.Dropped == nil {
		s.Dropped = map[string]int{}
	}
	columns := []string{"source", "count", "dropped", "succeeded_at", "last_error", "failures"}
	if partly != nil {
		s.LastError, s.FailedAt = source.Reason(partly), s.SucceededAt
		columns = append(columns, "failed_at")
	}
	q := db.NewInsert().Model(&s).On("CONFLICT (feed) DO UPDATE")
	for _, column := range columns {
		q = q.Set("? = EXCLUDED.?", bun.Ident(column), bun.Ident(column))
	}
	if _, err := q.Exec(ctx); err != nil {
		return fmt.Errorf("keep state of %s: %w", s.Feed, err)
	}
	return nil
}

// failed keeps a failure and hands it on. A tick that was cut off because we stop is
// no failure of the source.
func failed(ctx context.Context, db bun.IDB, feed string, at time.Time, cause error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return cause
	}
	return errors.Join(cause, recordFailure(context.WithoutCancel(ctx), db, feed, at, cause))
}

// recordFailure keeps why a reading failed, beside what the last good one was like.
func recordFailure(ctx context.Context, db bun.IDB, feed string, at time.Time, cause error) error {
	s := FeedState{
		Feed: feed, Dropped: map[string]int{}, LastError: source.Reason(cause), FailedAt: database.Now(at), Failures: 1,
	}
	_, err := db.NewInsert().Model(&s).On("CONFLICT (feed) DO UPDATE").
		Set("last_error = EXCLUDED.last_error").Set("failed_at = EXCLUDED.failed_at").
		Set("failures = f.failures + 1").Exec(ctx)
	if err != nil {
		return fmt.Errorf("keep state of %s: %w", feed, err)
	}
	return nil
}

func recordPlan(ctx context.Context, db bun.IDB, feed string, at time.Time) error {
	_, err := db.NewUpdate().Model((*FeedState)(nil)).Set("next_at = ?", database.Now(at)).Where("feed = ?", feed).Exec(ctx)
	if err != nil {
		return fmt.Errorf("keep plan of %s: %w", feed, err)
	}
	return nil
}
