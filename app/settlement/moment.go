package settlement

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// AtOnce runs read on the database as it stands at one moment. No settlement is under way at that
// moment, so all that it sees of the ledger and the sums was created before read begins, and what
// it doesn't see is created later. Settlements wait only until the moment is fixed.
func AtOnce(ctx context.Context, db *database.DB, read func(ctx context.Context, tx bun.IDB) error) error {
	tx, err := fixMoment(ctx, db)
	if err != nil {
		return fmt.Errorf("fix a moment of the ledger: %w", err)
	}
	return errors.Join(read(ctx, tx), tx.Rollback())
}

func fixMoment(ctx context.Context, db *database.DB) (tx bun.Tx, err error) {
	var options *sql.TxOptions
	if db.Kind == database.Postgres {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	s := Service{db: db}
	err = s.inWholeLedger(ctx, func(ctx context.Context, _ bun.Tx) error {
		if tx, err = db.Reader.BeginTx(context.WithoutCancel(ctx), options); err != nil {
			return err
		}
		// A transaction sees the database as its first query does.
		var n int64
		if err := tx.NewRaw("SELECT COUNT(*) FROM (SELECT 1 FROM score_entries LIMIT 1) AS t").Scan(ctx, &n); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return nil
	})
	return tx, err
}
