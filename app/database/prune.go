package database

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// pruneBatch is the largest number of rows that one transaction of Prune or DeleteOf deletes.
const pruneBatch = 1000

// Prune deletes rows whose time in column is before a given time, oldest first. It deletes at most
// a thousand rows, so that other transactions hardly wait for it, and skips rows that another
// transaction is changing. more reports whether rows may be left. key names the columns of the
// primary key.
func Prune(ctx context.Context, db bun.IDB, table, column string, before time.Time, key ...string) (more bool, err error) {
	names := make([]bun.Ident, len(key))
	for i, k := range key {
		names[i] = bun.Ident(k)
	}
	old := ForRemoval(db.NewSelect().Table(table).Column(key...).Where("? < ?", bun.Ident(column), Stored(before)).
		OrderExpr("?", bun.Ident(column)).Limit(pruneBatch))
	res, err := db.NewRaw("WITH old AS (?) DELETE FROM ? WHERE (?) IN (SELECT * FROM old)", old, bun.Ident(table), bun.List(names)).Exec(ctx)
	if err != nil {
		return false, fmt.Errorf("prune %s: %w", table, err)
	}
	n, err := res.RowsAffected()
	if err != nil {
		return false, fmt.Errorf("prune %s: %w", table, err)
	}
	return n == pruneBatch, nil
}

// DeleteOf deletes the rows of one agent from a table and returns their number. One transaction deletes at most a
// thousand rows, so that other writers hardly wait. Call DeleteOf only when no transaction can insert rows of the agent
// any more. If it was interrupted, call it again to delete the rest. key names the columns of the primary key after
// agent_id.
func DeleteOf(ctx context.Context, db *DB, table string, agentID uuid.UUID, key ...string) (n int64, err error) {
	names := make([]bun.Ident, len(key))
	for i, k := range key {
		names[i] = bun.Ident(k)
	}
	for more := true; more; {
		err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
			some := tx.NewSelect().Table(table).Column(key...).Where("agent_id = ?", agentID).OrderExpr("?", bun.List(names)).Limit(pruneBatch)
			res, err := tx.NewRaw("DELETE FROM ? WHERE agent_id = ? AND (?) IN (?)", bun.Ident(table), agentID, bun.List(names), some).Exec(ctx)
			if err != nil {
				return err
			}
			deleted, err := res.RowsAffected()
			if err != nil {
				return err
			}
			n += deleted
			// The number of deleted rows doesn't show whether more are left, because another transaction may have
			// deleted some of the chosen ones.
			more, err = tx.NewSelect().Table(table).Where("agent_id = ?", agentID).Exists(ctx)
			return err
		})
		if err == nil && more {
			err = db.Pause(ctx)
		}
		if err != nil {
			return n, fmt.Errorf("delete the rows of an agent in %s: %w", table, err)
		}
	}
	return n, nil
}
