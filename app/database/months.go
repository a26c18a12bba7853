package database

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/uptrace/bun"
)

// Months describes how a Postgres table is partitioned by UTC month. Rows of months without a
// partition go to a default partition, so no row is refused.
type Months struct {
	Table  string
	Column string // a time, or a UUIDv7 if ByID is set
	ByID   bool
	Key    string // as in Partitioning
}

// lockWait is how long work on partitions waits for a lock. Later statements on the table queue
// behind that wait, so the work gives up and is tried again later.
const lockWait = "2s"

// partSuffix is the end of the name of a month's partition.
const partSuffix = "_2006_01"

// InMigration runs f in a transaction while no other node migrates.
func (db *DB) InMigration(ctx context.Context, f func(ctx context.Context, tx bun.Tx) error) error {
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(?)", migrationLock); err != nil {
			return fmt.Errorf("lock migrations: %w", err)
		}
		return f(ctx, tx)
	})
}

// named is the condition that finds a table by its name. A cast to regclass could find a table that
// another transaction has replaced, because the cast doesn't read the catalogue again after a wait
// for an advisory lock.
const named = "c.relname = ? AND c.relnamespace = current_schema()::regnamespace"

// MonthOf returns the start of the UTC month that contains a time.
func MonthOf(at time.Time) time.Time {
	year, month, _ := at.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// Partitioning returns the Partitioning of the table, with only the default partition.
func (m *Months) Partitioning() Partitioning {
	return Partitioning{
		Table: m.Table, By: "RANGE (" + m.Column + ")", Key: m.Key, Parts: map[string]string{m.rest(): "DEFAULT"},
	}
}

// rest returns the name of the default partition.
func (m *Months) rest() string { return m.Table + "_rest" }

// Part returns the name of the partition of a month.
func (m *Months) Part(month time.Time) string { return m.Table + month.Format(partSuffix) }

// bound returns the lowest value of the column for a time.
func (m *Months) bound(at time.Time) string {
	if m.ByID {
		return FirstID(at).String()
	}
	return at.Format(time.RFC3339)
}

// Divided reports whether the table is partitioned by month. It is false on SQLite.
func (m *Months) Divided(ctx context.Context, db bun.IDB) (divided bool, err error) {
	if !IsPostgres(db) {
		return false, nil
	}
	const query = "SELECT EXISTS (SELECT 1 FROM pg_partitioned_table AS p JOIN pg_class AS c ON c.oid = p.partrelid " +
		"WHERE p.partstrat = 'r' AND " + named + ")"
	if err := db.NewRaw(query, m.Table).Scan(ctx, &divided); err != nil {
		return false, fmt.Errorf("look for partitions of %s: %w", m.Table, err)
	}
	return divided, nil
}

// Has reports whether a month has a partition.
func (m *Months) Has(ctx context.Context, db bun.IDB, month time.Time) (found bool, err error) {
	if err := db.NewRaw("SELECT EXISTS (SELECT 1 FROM pg_class AS c WHERE "+named+")", m.Part(month)).Scan(ctx, &found); err != nil {
		return false, fmt.Errorf("look for %s: %w", m.Part(month), err)
	}
	return found, nil
}

// List returns the months that have a partition, oldest first.
func (m *Months) List(ctx context.Context, db bun.IDB) (months []time.Time, err error) {
	var names []string
	const query = "SELECT c.relname FROM pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid " +
		"JOIN pg_class AS p ON p.oid = i.inhparent WHERE p.relname = ? AND p.relnamespace = current_schema()::regnamespace ORDER BY 1"
	if err := db.NewRaw(query, m.Table).Scan(ctx, &names); err != nil {
		return nil, fmt.Errorf("list the partitions of %s: %w", m.Table, err)
	}
	for _, name := range names {
		if month, err := time.Parse(partSuffix, strings.TrimPrefix(name, m.Table)); err == nil {
			months = append(months, month)
		}
	}
	return months, nil
}

// Add creates the partition of a month that has none, and moves the month's rows there from the
// default partition.
func (m *Months) Add(ctx context.Context, tx bun.Tx, month time.Time) error {
	part, from, to := bun.Ident(m.Part(month)), m.bound(month), m.bound(month.AddDate(0, 1, 0))
	if err := m.lock(ctx, tx); err != nil {
		return err
	}
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"CREATE TABLE ? (LIKE ? INCLUDING DEFAULTS)", []any{part, bun.Ident(m.Table)}},
		{"WITH moved AS (DELETE FROM ?0 WHERE ?1 >= ?2 AND ?1 < ?3 RETURNING *) INSERT INTO ?4 SELECT * FROM moved",
			[]any{bun.Ident(m.rest()), bun.Ident(m.Column), from, to, part}},
		{"ALTER TABLE ? ATTACH PARTITION ? FOR VALUES FROM (?) TO (?)", []any{bun.Ident(m.Table), part, from, to}},
	} {
		if err := run(ctx, tx, step.sql, step.args...); err != nil {
			return fmt.Errorf("add %s: %w", m.Part(month), err)
		}
	}
	return nil
}

// lock takes the locks that a new partition needs. It takes them in the order in which a writer of
// the table does: first those of the tables that it refers to.
func (m *Months) lock(ctx context.Context, tx bun.Tx) error {
	var parents []string
	err := tx.NewRaw("SELECT DISTINCT confrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND conrelid = ?::regclass ORDER BY 1", m.Table).
		Scan(ctx, &parents)
	if err != nil {
		return fmt.Errorf("read the foreign keys of %s: %w", m.Table, err)
	}
	if err := run(ctx, tx, "SET LOCAL lock_timeout = ?", lockWait); err != nil {
		return err
	}
	for _, parent := range parents {
		if err := run(ctx, tx, "LOCK TABLE ? IN SHARE ROW EXCLUSIVE MODE", bun.Ident(parent)); err != nil {
			return err
		}
	}
	return run(ctx, tx, "LOCK TABLE ONLY ? IN ACCESS EXCLUSIVE MODE", bun.Ident(m.rest()))
}

// Compact rewrites the partition of a month in the order of its primary key, which returns the
// space of deleted rows to the operating system. Meanwhile this partition can't be read, but the
// others can.
func (m *Months) Compact(ctx context.Context, tx bun.Tx, month time.Time) error {
	const keyOf = "SELECT c.relname FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid WHERE i.indisprimary AND i.indrelid = ?::regclass"
	var key string
	if err := tx.NewRaw(keyOf, m.Part(month)).Scan(ctx, &key); err != nil {
		return fmt.Errorf("read the key of %s: %w", m.Part(month), err)
	}
	if err := run(ctx, tx, "SET LOCAL lock_timeout = ?", lockWait); err != nil {
		return err
	}
	return run(ctx, tx, "CLUSTER ? USING ?", bun.Ident(m.Part(month)), bun.Ident(key))
}
