package database

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/schema"
)

// Words are what the migrations' templates are rendered with.
type Words struct {
	PG                           bool
	TS, JSON, BYTES, UUID, FLOAT string
	// Bins are the indexes of the calibration bins, one group of columns each.
	Bins []int
}

var bins = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}

func (k Kind) words() Words {
	if k == Postgres {
		return Words{PG: true, TS: "TIMESTAMPTZ", JSON: "JSONB", BYTES: "BYTEA", UUID: "UUID", FLOAT: "DOUBLE PRECISION", Bins: bins}
	}
	return Words{TS: "TIMESTAMP", JSON: "TEXT", BYTES: "BLOB", UUID: "TEXT", FLOAT: "REAL", Bins: bins}
}

// SQLiteTime is the form in which times are stored on SQLite, in UTC: Bun's, which compares
// like the times it writes only with itself.
const SQLiteTime = "2006-01-02 15:04:05.999999-07:00"

// IsPostgres tells which engine a handle or transaction talks to.
func IsPostgres(db bun.IDB) bool { return db.Dialect().Name() == dialect.PG }

// WhereIDs narrows a query to some ids, of which there may be a thousand. It hides their
// number from Postgres for the reason that ExecRows has.
func WhereIDs(q *bun.SelectQuery, column string, ids []uuid.UUID) *bun.SelectQuery {
	if !IsPostgres(q.DB()) {
		return q.Where("? IN (?)", bun.Ident(column), bun.List(ids))
	}
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	return q.Where("? = ANY ((SELECT ?::uuid[])::uuid[])", bun.Ident(column), "{"+strings.Join(texts, ",")+"}")
}

// CommitLater lets the transaction's commit return before it is on disk, for work that
// is done again when a crash takes it back. Any later durable commit makes it durable
// too. SQLite flushes every commit all the same.
func CommitLater(ctx context.Context, tx bun.Tx) error {
	if !IsPostgres(tx) {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
		return fmt.Errorf("commit later: %w", err)
	}
	return nil
}

// ForUpdate locks the selected rows until the transaction ends, against everybody who
// would change them but not against rows that refer to them: whoever publishes while
// the agent's row is locked need not wait, and cannot be part of a deadlock. SQLite
// needs no clause: its transactions take the one write lock when they begin.
func ForUpdate(q *bun.SelectQuery) *bun.SelectQuery {
	if IsPostgres(q.DB()) {
		return q.For("NO KEY UPDATE")
	}
	return q
}

// ForRemoval locks the selected rows for deletion until the transaction ends. It leaves out
// those that another transaction holds, so it never waits and can't be part of a deadlock.
// Select in a WITH clause: a DELETE that finds its rows by IN alone also deletes a row that
// was changed while it waited, and no longer matches.
func ForRemoval(q *bun.SelectQuery) *bun.SelectQuery {
	if IsPostgres(q.DB()) {
		return q.For("UPDATE SKIP LOCKED")
	}
	return q
}

// ForShare keeps the selected rows as they are until the transaction ends. Others may do
// the same meanwhile, so a transaction that goes on to change them can be part of a
// deadlock.
func ForShare(q *bun.SelectQuery) *bun.SelectQuery {
	if IsPostgres(q.DB()) {
		return q.For("SHARE")
	}
	return q
}

// ServerTime is an expression for a moment that all nodes agree on: the database's clock, plus
// ahead. SQLite has neither a clock nor other nodes: there it is now plus ahead.
func ServerTime(db bun.IDB, now time.Time, ahead time.Duration) schema.QueryAppender {
	if !IsPostgres(db) {
		return bun.SafeQuery("?", Now(now).Add(ahead))
	}
	return bun.SafeQuery("(clock_timestamp() + ? * interval '1 microsecond')", ahead.Microseconds())
}

// ClockOffset returns how far the database's clock is ahead of now; 0 on SQLite, which has none.
func ClockOffset(ctx context.Context, db bun.IDB, now func() time.Time) (time.Duration, error) {
	if !IsPostgres(db) {
		return 0, nil
	}
	sent := now()
	var at time.Time
	if err := db.QueryRowContext(ctx, "SELECT clock_timestamp()").Scan(&at); err != nil {
		return 0, fmt.Errorf("read the clock of the database: %w", err)
	}
	return at.Sub(sent.Add(now().Sub(sent) / 2)), nil
}
