// Package partition divides the price history and the ledger into monthly partitions on Postgres, if
// DATABASE_PARTITIONS is monthly when the database is new. docs/decisions/0009-partitions.md explains
// why.
package partition

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// Monthly is the value of DATABASE_PARTITIONS that partitions the tables by month.
const Monthly = "monthly"

// ahead is the number of months after the current one that have partitions.
const ahead = 3

// tables are the partitioned tables.
var tables = []*database.Months{&market.Months, &settlement.Months}

// ErrUndivided means that the tables have rows and aren't partitioned.
var ErrUndivided = errors.New("DATABASE_PARTITIONS: monthly needs a new database, but the tables of this one have rows; " +
	"copy it into an empty one (DATABASE_PARTITIONS=monthly pulsecast copy --from OLD --to NEW), or set off")

// Divided reports whether the tables are partitioned by month.
func Divided(ctx context.Context, db bun.IDB) (bool, error) { return tables[0].Divided(ctx, db) }

// Prepare prepares a migrated database for the setting DATABASE_PARTITIONS. With Monthly it
// partitions the tables, which must be empty, and adds the partitions of the months from first on.
// It never undoes partitions. It fails with ErrUndivided if the tables have rows.
func Prepare(ctx context.Context, db *database.DB, setting string, first, now time.Time) error {
	divided, err := Divided(ctx, db)
	if err != nil || (!divided && setting != Monthly) {
		return err
	}
	if !divided {
		err := db.InMigration(ctx, divide)
		if errors.Is(err, database.ErrFilled) {
			return ErrUndivided
		}
		if err != nil {
			return err
		}
	}
	return Extend(ctx, db, first, now)
}

func divide(ctx context.Context, tx bun.Tx) error {
	if divided, err := Divided(ctx, tx); err != nil || divided { // another node was first
		return err
	}
	var list []database.Partitioning
	for _, t := range tables {
		list = append(list, t.Partitioning())
	}
	return database.Partition(ctx, tx, list...)
}

// First returns the first month for the partitions of a copy: the month of the oldest row, at most
// five years back. Older rows go to the default partition.
func First(ctx context.Context, db bun.IDB, now time.Time) (time.Time, error) {
	first := now
	for _, oldest := range []func(context.Context, bun.IDB) (time.Time, error){market.Oldest, settlement.Oldest} {
		at, err := oldest(ctx, db)
		if err != nil {
			return first, fmt.Errorf("find the oldest row: %w", err)
		}
		if !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	if limit := now.AddDate(-5, 0, 0); first.Before(limit) {
		first = limit
	}
	return first, nil
}

// Extend adds missing partitions, from the month of first to ahead months after now.
func Extend(ctx context.Context, db *database.DB, first, now time.Time) error {
	end := database.MonthOf(now).AddDate(0, ahead, 0)
	for _, t := range tables {
		for month := database.MonthOf(first); !month.After(end); month = month.AddDate(0, 1, 0) {
			if found, err := t.Has(ctx, db, month); err != nil {
				return err
			} else if found {
				continue
			}
			err := db.InMigration(ctx, func(ctx context.Context, tx bun.Tx) error {
				if found, err := t.Has(ctx, tx, month); err != nil || found {
					return err
				}
				return t.Add(ctx, tx, month)
			})
			if err != nil {
				return fmt.Errorf("partitions: %w", err)
			}
		}
	}
	return nil
}

// Tick adds the partitions of the next months, and compacts partitions of prices that are thinned
// for good. It does nothing on a database without monthly partitions.
func Tick(ctx context.Context, db *database.DB, now time.Time) error {
	divided, err := Divided(ctx, db)
	if err != nil || !divided {
		return err
	}
	return errors.Join(Extend(ctx, db, now, now), market.CompactMonths(ctx, db))
}
