package database

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
)

// Read is a query with the rows that it reads, and with what becomes of the rows that it finds.
type Read struct {
	empty bool // there are no rows to read
	// onPostgres returns the query with its arguments.
	onPostgres func(db bun.IDB) (query string, args []any, err error)
	// alone runs the query in a message of its own, and scan runs q. Both pass on what it finds.
	alone func(ctx context.Context, db bun.IDB) error
	scan  func(ctx context.Context, q *bun.RawQuery) error
}

// NewRead makes a Read of a query that reads rows as ScanRows does, and passes the rows that it finds to found. what is
// what the query does, for its error. Without rows, the Read does nothing. The texts of all queries together must be
// few, because each connection to Postgres keeps a plan for each.
func NewRead[T, R any](what, query string, rows []T, found func([]R)) Read {
	pass := func(list []R, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		found(list)
		return nil
	}
	return Read{
		empty: len(rows) == 0,
		onPostgres: func(db bun.IDB) (string, []any, error) {
			table, columns, err := tableOf(db, rows, 0)
			return table + query, columns, err
		},
		alone: func(ctx context.Context, db bun.IDB) error {
			var list []R
			err := ScanRows(ctx, db, query, rows, &list)
			return pass(list, err)
		},
		scan: func(ctx context.Context, q *bun.RawQuery) error {
			var list []R
			err := q.Scan(ctx, &list)
			return pass(list, err)
		},
	}
}

// ScanReads runs reads in their order. Postgres gets them in one message, so they cost one round trip. Each sees what was
// committed before it began, and not only what was committed before the first one. The first error ends it.
func ScanReads(ctx context.Context, db bun.IDB, reads ...Read) error {
	reads = slices.DeleteFunc(slices.Clone(reads), func(r Read) bool { return r.empty })
	if !IsPostgres(db) || isUnplanned(db) {
		for _, r := range reads {
			if err := r.alone(ctx, db); err != nil {
				return err
			}
		}
		return nil
	}
	m := &message{}
	var scans []func() error
	for _, r := range reads {
		query, args, err := r.onPostgres(db)
		if err != nil {
			return err
		}
		part := m.add(query, args)
		scans = append(scans, func() error { return r.scan(ctx, db.NewRaw(query).Conn(bound{driverOf(db), []any{part}})) })
	}
	for _, scan := range scans {
		if err := scan(); err != nil {
			return err
		}
	}
	return nil
}
