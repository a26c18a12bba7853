// Package partition divides the price history and the ledger by month on Postgres, if
// DATABASE_PARTITIONS says so when the database is new. docs/decisions/0009-partitions.md says why.
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

// Monthly is the value of DATABASE_PARTITIONS that divides the tables.
const Monthly = "monthly"

// ahead is for how many months after the current one there are partitions.
const ahead = 3

// tables are those that are divided.
var tables = []*database.Months{&market.Months, &settlement.Months}

// ErrUndivided: the tables hold rows and aren't divided.
var ErrUndivided = errors.New("DATABASE_PARTITIONS: monthly needs a new database, and the tables of this one hold rows: " +
	"copy it into an empty one (DATABASE_PARTITIONS=monthly pulsecast copy --from OLD --to NEW), or set off")

// Divided reports whether the tables are divided by month.
func Divided(ctx context.Context, db bun.IDB) (bool, error) { return tables[0].Divided(ctx, db) }

// Prepare brings a migrated database to what DATABASE_PARTITIONS says: it divides empty tables,
// and makes the partitions of the months from first on. A database that is divided stays so.
// Refusal: ErrUndivided.
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
	if divided, err := Divided(ctx, tx); err != nil || divided { // another node was faster
		return err
	}
	var list []database.Partitioning
	for _, t := range tables {
		list = append(list, t.Partitioning())
	}
	return database.Partition(ctx, tx, list...)
}

// First returns the month that the partitions of a copy begin with: that of the oldest row, up to
// five years back. What is older goes to the default partition.
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

// Extend makes the partitions that are missing, from the month of first up to some months after
// now.
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

// Tick makes the partitions of the next months, and compacts those of prices that are thinned
// for good. It does nothing on a database that isn't divided.
func Tick(ctx context.Context, db *database.DB, now time.Time) error {
	divided, err := Divided(ctx, db)
	if err != nil || !divided {
		return err
	}
	return errors.Join(Extend(ctx, db, now, now), market.CompactMonths(ctx, db))
}
