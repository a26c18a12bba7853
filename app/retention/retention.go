// Package retention deletes data whose retention period is over. docs/operations.md lists the periods.
package retention

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/moderation"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// Options are the options of Run.
type Options struct {
	DB        *database.DB
	Publisher *prediction.Publisher
	Now       func() time.Time
	// Archived reports whether there is an archive. If so, prices and news are deleted only after
	// their day is sealed.
	Archived bool
}

// Run deletes all data past its retention period, in batches small enough that other writers don't
// wait. An error with one kind of data doesn't stop the deletion of others.
func Run(ctx context.Context, o Options) error {
	db, now := o.DB, o.Now
	var failed []error
	for _, batch := range []func(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error){
		agent.Store{}.Prune,
		admin.Store{}.Prune,
		alert.Prune,
		oauth.Prune,
		func(ctx context.Context, _ bun.IDB, _ time.Time) (bool, error) { return o.Publisher.ForgetAnswers(ctx) },
		func(ctx context.Context, _ bun.IDB, _ time.Time) (bool, error) { return o.Publisher.ForgetParts(ctx) },
		func(ctx context.Context, _ bun.IDB, now time.Time) (bool, error) {
			return moderation.EraseClosed(ctx, db, now)
		},
		func(ctx context.Context, db bun.IDB, now time.Time) (bool, error) {
			sealed, err := o.sealed(ctx, now)
			if err != nil {
				return false, err
			}
			_, more, err := market.Store{}.Thin(ctx, db, now, sealed)
			return more, err
		},
		func(ctx context.Context, db bun.IDB, now time.Time) (bool, error) {
			sealed, err := o.sealed(ctx, now)
			if err != nil {
				return false, err
			}
			_, more, err := news.Store{}.Prune(ctx, db, now, sealed)
			return more, err
		},
		update.Store{}.Prune,
	} {
		failed = append(failed, inBatches(ctx, func() (bool, error) { return batch(ctx, db, now()) }))
	}
	return errors.Join(failed...)
}

// sealed returns the time up to which prices and news may be deleted: the end of the last sealed
// day, or now without an archive.
func (o *Options) sealed(ctx context.Context, now time.Time) (time.Time, error) {
	if !o.Archived {
		return now, nil
	}
	return archive.SealedUntil(ctx, o.DB)
}

func inBatches(ctx context.Context, batch func() (more bool, err error)) error {
	for more := true; more; {
		var err error
		if more, err = batch(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}
