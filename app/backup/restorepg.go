package backup

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pulsecast/pulsecast/app/database"
)

// ofRestore is the entry of an Incoming that distinguishes a restore from a copy. Its value is the SHA-256 of the backup.
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
	if db.Pooled() {
		return nil, errPooled
	}
	hash, err := hashOf(file)
	if err != nil {
		return nil, err
	}
	in, filled, err := claimPostgres(ctx, db, hash)
	if err != nil {
		return nil, err
	}
	if !filled {
		err := db.ForgetMigrations(ctx)
		if err == nil {
			err = runRestore(ctx, address, file)
		}
		if err != nil {
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

// claimPostgres marks an empty database, or finds the mark of an interrupted restore of the same backup. filled reports
// whether that restore has filled the tables.
func claimPostgres(ctx context.Context, db *database.DB, hash string) (in *database.Incoming, filled bool, err error) {
	in, found, err := db.FindIncoming(ctx)
	if err != nil {
		return nil, false, err
	}
	tables, err := db.Tables(ctx)
	if err != nil {
		return nil, false, err
	}
	filled = len(tables) > 0
	if found {
		kept, err := in.All(ctx)
		switch {
		case err != nil:
			return nil, false, err
		case kept[ofRestore] == "":
			return nil, false, errors.New("a copy into this database was interrupted; complete it, or name an empty database")
		case kept[ofRestore] != hash && filled:
			return nil, false, errors.New("the restore of another backup into this database was interrupted; restore that backup, or name an empty database")
		}
		if err := unused(ctx, db); err != nil {
			return nil, false, err
		}
		return in, filled, in.Set(ctx, ofRestore, hash)
	}
	if filled {
		return nil, false, fmt.Errorf("the database has tables already (%s and %d more); name an empty one, for example made by createdb",
			tables[0].Name, len(tables)-1)
	}
	if err := unused(ctx, db); err != nil {
		return nil, false, err
	}
	if in, err = db.BeginIncoming(ctx); err != nil {
		return nil, false, err
	}
	return in, false, in.Set(ctx, ofRestore, hash)
}

// unused returns an error if a server uses the database. It would publish into the tables before complete has run.
func unused(ctx context.Context, db *database.DB) error {
	if err := db.Unused(ctx); err != nil {
		return fmt.Errorf("the database is in use: %w", err)
	}
	return nil
}

// hashOf returns the SHA-256 of a file, in hex.
func hashOf(file string) (hash string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read the backup: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
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
