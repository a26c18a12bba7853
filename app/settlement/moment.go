package settlement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// AtOnce runs read on a snapshot of the database. at is the moment of the snapshot by now, and no settlement is under
// way then. So read sees every ledger entry and sum created up to at, and none created later, as far as the clocks of
// the nodes agree. Settlements wait only until the snapshot is taken.
func AtOnce(ctx context.Context, db *database.DB, now func() time.Time, read func(ctx context.Context, tx bun.IDB, at time.Time) error) (err error) {
	tx, at, err := beginBetweenSettlements(ctx, db, now)
	if tx.Tx != nil {
		defer func() { err = errors.Join(err, tx.Rollback()) }()
	}
	if err != nil {
		return fmt.Errorf("fix a moment of the ledger: %w", err)
	}
	return read(ctx, tx, at)
}

// beginBetweenSettlements begins a transaction whose snapshot is taken at a moment when no settlement is under way. If
// it fails after it began the transaction, it returns both the error and the transaction.
func beginBetweenSettlements(ctx context.Context, db *database.DB, now func() time.Time) (tx bun.Tx, at time.Time, err error) {
	s := Service{db: db}
	err = s.inWholeLedger(ctx, func(ctx context.Context, _ bun.Tx) error {
		at = database.Stored(now())
		if tx, err = db.Reader.BeginTx(context.WithoutCancel(ctx), readsOnly(db)); err != nil {
			return err
		}
		// The first query of a transaction fixes its snapshot.
		var n int64
		return tx.NewRaw("SELECT COUNT(*) FROM (SELECT 1 FROM market_outcomes LIMIT 1) AS t").Scan(ctx, &n)
	})
	return tx, at, err
}

// readsOnly returns the options of a transaction of db.Reader that sees one state of the database. On SQLite, every such
// transaction does.
func readsOnly(db *database.DB) *sql.TxOptions {
	if db.Kind == database.Postgres {
		return &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	return nil
}
