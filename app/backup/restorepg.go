package backup

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/database"
)

// ofRestore is the entry of an Incoming that distinguishes a restore from a copy.
const ofRestore = "restore"

// restorePostgres runs pg_restore in one transaction. The database is marked as incoming until
// complete has run, so an interrupted restore is never served and can be run again.
func restorePostgres(ctx context.Context, address, file string, now func() time.Time) (r *Restored, err error) {
	content, err := inspectPostgres(ctx, file)
	if err != nil {
		return nil, err
	}
	if err := accept(content); err != nil {
		return nil, err
	}
	db, err := database.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	in, err := claimPostgres(ctx, db)
	if err != nil {
		return nil, err
	}
	tables, err := db.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if len(tables) == 0 {
		if err := runRestore(ctx, address, file); err != nil {
			return nil, errors.Join(err, unmarkEmpty(context.WithoutCancel(ctx), db, in))
		}
	}
	if r, err = complete(ctx, db, content, now); err != nil {
		return nil, err
	}
	if _, err := db.ExecContext(ctx, "ANALYZE"); err != nil {
		return nil, fmt.Errorf("analyze: %w", err)
	}
	return r, in.End(ctx)
}

// unmarkEmpty removes the mark of a restore that has stored nothing. pg_restore may fail after its
// commit, for example if it is killed. Then the mark stays.
func unmarkEmpty(ctx context.Context, db *database.DB, in *database.Incoming) error {
	if tables, err := db.Tables(ctx); err != nil || len(tables) > 0 {
		return err
	}
	return in.End(ctx)
}

// claimPostgres marks an empty database, or finds the mark of an interrupted restore.
func claimPostgres(ctx context.Context, db *database.DB) (*database.Incoming, error) {
	in, found, err := db.FindIncoming(ctx)
	if err != nil {
		return nil, err
	}
	if found {
		kept, err := in.All(ctx)
		if err == nil && kept[ofRestore] == "" {
			err = errors.New("a copy into this database was interrupted; complete it, or name an empty database")
		}
		return in, err
	}
	tables, err := db.Tables(ctx)
	if err != nil {
		return nil, err
	}
	if len(tables) > 0 {
		return nil, fmt.Errorf("the database has tables already (%s and %d more); name an empty one, for example made by createdb",
			tables[0].Name, len(tables)-1)
	}
	if in, err = db.BeginIncoming(ctx); err != nil {
		return nil, err
	}
	return in, in.Set(ctx, ofRestore, "begun")
}

func runRestore(ctx context.Context, address, file string) (err error) {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("connect to Postgres: %w", err)
	}
	path, err := toolFor(ctx, conn, "pg_restore")
	if err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	cmd, err := client(ctx, path, address, "--single-transaction", "--exit-on-error", "--no-owner", "--no-privileges",
		"--no-password", file)
	if err != nil {
		return err
	}
	return run(cmd)
}
