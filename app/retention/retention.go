// Package retention deletes what has outlived its use. docs/operations.md says how
// long each thing is kept.
package retention

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/news"
	"github.com/pulsecast/pulsecast/app/oauth"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
)

// Run deletes everything that is too old at now, in batches small enough that other
// writers don't wait. One kind that fails doesn't stop the others.
func Run(ctx context.Context, db *database.DB, publisher *prediction.Publisher, now func() time.Time) error {
	var failed []error
	for _, batch := range []func(ctx context.Context, db bun.IDB, now time.Time) (more bool, err error){
		agent.Store{}.Prune,
		admin.Store{}.Prune,
		alert.Prune,
		oauth.Prune,
		func(ctx context.Context, _ bun.IDB, _ time.Time) (bool, error) { return publisher.ForgetAnswers(ctx) },
		func(ctx context.Context, _ bun.IDB, _ time.Time) (bool, error) { return publisher.ForgetParts(ctx) },
		func(ctx context.Context, _ bun.IDB, now time.Time) (bool, error) {
			return prediction.EraseClosed(ctx, db, now)
		},
		func(ctx context.Context, db bun.IDB, now time.Time) (bool, error) {
			_, more, err := market.Store{}.Thin(ctx, db, now)
			return more, err
		},
		func(ctx context.Context, db bun.IDB, now time.Time) (bool, error) {
			_, more, err := news.Store{}.Prune(ctx, db, now)
			return more, err
		},
		update.Store{}.Prune,
	} {
		failed = append(failed, inBatches(ctx, func() (bool, error) { return batch(ctx, db, now()) }))
	}
	return errors.Join(failed...)
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
