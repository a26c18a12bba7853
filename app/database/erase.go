package database

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
)

// commandPause is the time between two transactions of a command on SQLite. A service that waits for the write
// lock looks at it at least this often.
const commandPause = 100 * time.Millisecond

// Pause lets other writers take a turn between two transactions of long work. On SQLite, a command pauses,
// because a service that waits for the write lock only looks at it from time to time. The writers of one process
// queue for the connection, so Pause returns at once in a service. It returns the error of a context that ended.
func (db *DB) Pause(ctx context.Context) error {
	if db.Kind != SQLite || db.Breaker.serving.Load() {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(commandPause):
		return nil
	}
}

// DeleteOf deletes the rows of one agent from a table and returns how many they were. One transaction deletes at
// most a thousand rows, so that other writers hardly wait. If DeleteOf is interrupted, another call deletes the
// rest. No transaction may insert rows of the agent any more. key names the columns of the primary key after
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
