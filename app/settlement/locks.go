package settlement

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// The advisory locks, on Postgres. SQLite has one writer anyway.
const (
	// ledgerLock is held shared by each transaction that changes a cluster, a day or a baseline,
	// and exclusively by a rebuild and by AtOnce.
	ledgerLock = 7_305_842_312
	// referenceLock stands for the reference agents, which have no tallies to lock, and for the
	// counts of events.
	referenceLock = 7_305_842_313
)

// inLedger runs fn in a transaction that overlaps neither a rebuild nor the moment of AtOnce. fn must call
// prediction.LockTallies or lockReferences before it reads what it changes, and lock the outcome
// before that if it needs it. All transactions lock in this order, so none can deadlock.
func (s *Service) inLedger(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := advisoryLock(ctx, tx, "pg_advisory_xact_lock_shared", ledgerLock); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// inWholeLedger runs fn in a transaction that no other transaction of this package overlaps.
func (s *Service) inWholeLedger(ctx context.Context, fn func(ctx context.Context, tx bun.Tx) error) error {
	return s.db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if err := advisoryLock(ctx, tx, "pg_advisory_xact_lock", ledgerLock); err != nil {
			return err
		}
		return fn(ctx, tx)
	})
}

// lockReferences lets only this transaction move the reference agents and count events. All markets
// share both, so the transaction must end soon.
func lockReferences(ctx context.Context, tx bun.Tx) error {
	return advisoryLock(ctx, tx, "pg_advisory_xact_lock", referenceLock)
}

func advisoryLock(ctx context.Context, tx bun.Tx, lock string, key int64) error {
	if !database.IsPostgres(tx) {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SELECT "+lock+"(?)", key); err != nil {
		return fmt.Errorf("lock the ledger: %w", err)
	}
	return nil
}
