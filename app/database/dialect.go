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

// Words are the values for the templates of the migrations.
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

// SQLiteTime is the format of times on SQLite, in UTC. It is Bun's format. Times sort correctly as
// texts only if all are in this format.
const SQLiteTime = "2006-01-02 15:04:05.999999-07:00"

// IsPostgres reports whether a handle or transaction talks to Postgres.
func IsPostgres(db bun.IDB) bool { return db.Dialect().Name() == dialect.PG }

// WhereIDs restricts a query to some ids, up to about a thousand. It hides their number from
// Postgres for the reason that withRows gives.
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

// HasWord returns the condition that plaintext.HasWord checks, for a column with folded text. beginning is
// plaintext.Beginning of the word. It is several times as fast as LIKE.
func HasWord(db bun.IDB, column string, beginning any) schema.QueryWithArgs {
	if IsPostgres(db) {
		return bun.SafeQuery("strpos(' ' || ?, ?) > 0", bun.Ident(column), beginning)
	}
	return bun.SafeQuery("instr(' ' || ?, ?) > 0", bun.Ident(column), beginning)
}

// CommitLater lets the transaction's commit return before it is on disk. Use it for work that is
// done again if a crash undoes it. Any later durable commit also makes this one durable. On SQLite
// it does nothing: every commit waits for the disk.
func CommitLater(ctx context.Context, tx bun.Tx) error {
	if !IsPostgres(tx) {
		return nil
	}
	if _, err := tx.ExecContext(ctx, "SET LOCAL synchronous_commit = off"); err != nil {
		return fmt.Errorf("commit later: %w", err)
	}
	return nil
}

// ForUpdate locks the selected rows against changes until the transaction ends. It doesn't block
// inserts of rows that refer to them, so publishing never waits for a lock on the agent's row and
// can't deadlock with it. SQLite needs no clause, because its transactions take the one write lock
// when they begin.
func ForUpdate(q *bun.SelectQuery) *bun.SelectQuery {
	if IsPostgres(q.DB()) {
		return q.For("NO KEY UPDATE")
	}
	return q
}

// ForRemoval locks the selected rows for deletion until the transaction ends. It leaves out rows
// that another transaction has locked, so it never waits and can't be part of a deadlock. Use it in
// a WITH clause. A DELETE that finds its rows by IN alone also deletes a row that changed while it
// waited and no longer matches.
func ForRemoval(q *bun.SelectQuery) *bun.SelectQuery {
	if IsPostgres(q.DB()) {
		return q.For("UPDATE SKIP LOCKED")
	}
	return q
}

// ForShare prevents changes to the selected rows until the transaction ends. Other transactions can
// hold the same lock, so a transaction that then changes the rows can be part of a deadlock.
func ForShare(q *bun.SelectQuery) *bun.SelectQuery {
	if IsPostgres(q.DB()) {
		return q.For("SHARE")
	}
	return q
}

// ServerTime is an SQL expression for the database's clock plus ahead, a time that all nodes agree
// on. SQLite has no clock and only one node, so there it is now plus ahead.
func ServerTime(db bun.IDB, now time.Time, ahead time.Duration) schema.QueryAppender {
	if !IsPostgres(db) {
		return bun.SafeQuery("?", Stored(now).Add(ahead))
	}
	return bun.SafeQuery("(clock_timestamp() + ? * interval '1 microsecond')", ahead.Microseconds())
}

// ClockOffset returns how far the database's clock is ahead of now. It is 0 on SQLite, which has no
// clock.
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

// CheckClock returns an error if this machine's clock differs from the database's by more than 5 s.
func (db *DB) CheckClock(ctx context.Context, now func() time.Time) error {
	offset, err := ClockOffset(ctx, db, now)
	if err == nil && offset.Abs() > maxClockOffset {
		err = fmt.Errorf("this machine's clock is %s off the database's, so times would be wrong: run an NTP client", offset.Abs().Round(time.Second))
	}
	return err
}

// hasTable reports whether the database has a table.
func (db *DB) hasTable(ctx context.Context, name string) (bool, error) {
	tables := "sqlite_master WHERE type = 'table' AND name = ?"
	if db.Kind == Postgres {
		tables = "pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ?"
	}
	var found bool
	err := db.NewRaw("SELECT EXISTS (SELECT 1 FROM "+tables+")", name).Scan(ctx, &found)
	return found, err
}
