package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"
)

// Timeline returns the timeline of a Postgres server: 8 hexadecimal digits, which change when a replica is promoted or
// a server is recovered to an earlier moment. Then commits that it had confirmed may be gone. It is empty on SQLite,
// and on a service that doesn't tell it.
// Source: https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-TIMELINES
func Timeline(ctx context.Context, tx bun.Tx) (timeline string, err error) {
	if !IsPostgres(tx) {
		return "", nil
	}
	err = tx.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw("SELECT substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)").Scan(ctx, &timeline)
	})
	if _, refused := errors.AsType[*pgconn.PgError](err); refused && !Unavailable(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the timeline: %w", err)
	}
	return timeline, nil
}
