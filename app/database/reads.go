package database

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
)

// Read is a query with the rows that it reads, and with what becomes of the rows that it finds.
type Read struct {
	empty bool // there are no rows to read
	// onPostgres returns the query with its arguments.
	onPostgres func(db bun.IDB) (query string, args []any, err error)
	// alone returns the query by itself.
	alone func(db bun.IDB) (*bun.RawQuery, error)
	// scan runs the query and passes on what it finds.
	scan func(ctx context.Context, q *bun.RawQuery) error
}

// NewRead makes a Read of a query that reads rows as ScanRows does, and passes the rows that it finds to found. what is
// what the query does, for its error. Without rows, the Read does nothing. The texts of all queries together must be
// few, because each connection to Postgres keeps a plan for each.
func NewRead[T, R any](what, query string, rows []T, found func([]R)) Read {
	return Read{
		empty: len(rows) == 0,
		onPostgres: func(db bun.IDB) (string, []any, error) {
			table, columns, err := tableOf(db, rows, 0)
			return table + query, columns, err
		},
		alone: func(db bun.IDB) (*bun.RawQuery, error) { return withRows(db, plannedMode(db), query, rows) },
		scan: func(ctx context.Context, q *bun.RawQuery) error {
			var list []R
			if err := q.Scan(ctx, &list); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			found(list)
			return nil
		},
	}
}

// ScanReads runs reads in their order. Postgres gets them in one message, so they cost one round trip. Each sees what was
// committed before it began, and not only what was committed before the first one. The first error ends it.
func ScanReads(ctx context.Context, db bun.IDB, reads ...Read) error {
	if !IsPostgres(db) || isUnplanned(db) {
		for _, r := range reads {
			if err := r.scanAlone(ctx, db); err != nil {
				return err
			}
		}
		return nil
	}
	m := &message{}
	var scans []func() error
	for _, r := range reads {
		if r.empty {
			continue
		}
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

func (r Read) scanAlone(ctx context.Context, db bun.IDB) error {
	if r.empty {
		return nil
	}
	return inOneSession(ctx, db, func(ctx context.Context, db bun.IDB) error {
		q, err := r.alone(db)
		if err != nil {
			return err
		}
		return r.scan(ctx, q)
	})
}
