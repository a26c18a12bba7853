package database

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"
)

// pruneBatch is the largest number of rows that one call of Prune deletes.
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
	old := ForRemoval(db.NewSelect().Table(table).Column(key...).Where("? < ?", bun.Ident(column), Now(before)).
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
