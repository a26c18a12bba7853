package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/update"
	"github.com/pulsecast/pulsecast/app/worker"
)

// Restored is the result of a restore.
type Restored struct {
	Kind        database.Kind
	Predictions int64
	Latest      time.Time // publication of the latest prediction; zero if there is none
	Migrated    []string  // migrations that the backup lacked and the restore ran
	Sessions    int64     // ended sessions, of agents and admins
}

// Restore fills an empty database from a backup. It detects the backup's kind from the file. It
// refuses a database that isn't empty, and a backup whose schema is newer than this program's. It
// migrates an older backup.
func Restore(ctx context.Context, address, file string, now func() time.Time) (*Restored, error) {
	kind, err := kindOf(file)
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	path, embedded := database.SQLitePath(address)
	switch {
	case embedded != (kind == database.SQLite):
		return nil, fmt.Errorf("restore: %s is a backup of %s, but DATABASE_URL names another kind of database; "+
			"restore it into a database of its kind, then move it with pulsecast copy", file, kind)
	case embedded:
		return restored(restoreSQLite(ctx, path, file, now))
	}
	return restored(restorePostgres(ctx, address, file, now))
}

func restored(r *Restored, err error) (*Restored, error) {
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	return r, nil
}

// kindOf detects the kind of a backup from its first bytes.
func kindOf(file string) (database.Kind, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	head := make([]byte, 16)
	if _, err := io.ReadFull(f, head); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, io.EOF) {
		return "", err
	}
	switch {
	case bytes.HasPrefix(head, []byte("SQLite format 3\x00")):
		return database.SQLite, nil
	case bytes.HasPrefix(head, []byte("PGDMP")):
		return database.Postgres, nil
	}
	return "", fmt.Errorf("%s is not a backup: it is neither a SQLite file nor an archive of pg_dump", file)
}

// accept refuses a backup whose schema is newer than this program's.
func accept(c *Content) error {
	var e *database.SchemaError
	if err := database.CompareSchema(c.Migrations); errors.As(err, &e) {
		if e.Newer != nil {
			return fmt.Errorf("the backup is from a newer version: %w", e)
		}
	} else if err != nil {
		return err
	}
	return nil
}

// restoreSQLite prepares the file under another name, so that the database exists only once it is
// complete.
func restoreSQLite(ctx context.Context, path, file string, now func() time.Time) (r *Restored, err error) {
	release, err := database.Lock(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := checkFree(path); err != nil {
		return nil, err
	}
	content, err := inspectSQLite(ctx, file)
	if err != nil {
		return nil, err
	}
	if err := accept(content); err != nil {
		return nil, err
	}
	if err := removeParts(path); err != nil {
		return nil, err
	}
	temp, err := newTemp(path)
	if err != nil {
		return nil, err
	}
	if r, err = fillSQLite(ctx, temp, file, content, now); err == nil {
		err = flush(temp)
	}
	if err == nil {
		err = place(temp, path, false)
	}
	if err != nil {
		return nil, errors.Join(err, remove(temp))
	}
	return r, nil
}

// checkFree fails if any file of a database is at the path. SQLite would apply an old log to the
// restored file.
func checkFree(path string) error {
	for _, suffix := range beside {
		info, err := os.Stat(path + suffix)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if suffix != "" || info.Size() > 0 {
			return fmt.Errorf("%s exists; move it away first, together with %s-wal and %s-shm", path+suffix, path, path)
		}
		if err := os.Remove(path); err != nil { // an empty file, which some tools create beforehand
			return err
		}
	}
	return nil
}

// removeParts deletes what killed restores to the path have left. The caller must hold the lock of the path, so that no
// other restore is under way.
func removeParts(path string) error {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return err
	}
	var failed []error
	for _, e := range entries {
		if whole, ok := wholeOf(e.Name()); ok && whole == filepath.Base(path) {
			failed = append(failed, os.Remove(filepath.Join(filepath.Dir(path), e.Name())))
		}
	}
	return errors.Join(failed...)
}

func fillSQLite(ctx context.Context, temp, file string, content *Content, now func() time.Time) (r *Restored, err error) {
	if err := copyFile(ctx, temp, file); err != nil {
		return nil, err
	}
	db, err := database.Open(ctx, "sqlite://"+temp)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if since := db.LostWAL(); !since.IsZero() {
		return nil, fmt.Errorf("%s is not a backup but a plain copy of a file in use, without its -wal file; "+
			"use a file made by pulsecast backup", file)
	}
	return complete(ctx, db, content, now)
}

func copyFile(ctx context.Context, to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, readerOf(ctx, in))
	return errors.Join(err, out.Close())
}

// cancelled is a reader that fails when its context ends.
type cancelled struct {
	ctx context.Context
	io.Reader
}

func readerOf(ctx context.Context, r io.Reader) io.Reader { return cancelled{ctx, r} }

func (c cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// complete migrates restored tables and ends everything that belonged to the time before the
// restore.
func complete(ctx context.Context, db *database.DB, content *Content, now func() time.Time) (r *Restored, err error) {
	r = &Restored{Kind: db.Kind}
	if r.Migrated, err = db.MigrateIncoming(ctx); err != nil {
		return nil, err
	}
	if r.Predictions, err = database.CountRows(ctx, db, "predictions"); err != nil {
		return nil, err
	}
	if r.Predictions != content.Predictions {
		return nil, fmt.Errorf("%d predictions were restored, but the backup has %d", r.Predictions, content.Predictions)
	}
	if r.Latest, err = (prediction.Store{}).LatestAt(ctx, db); err != nil {
		return nil, err
	}
	return r, db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return begin(ctx, tx, r, now()) })
}

// begin ends what clients and nodes still hold from before the restore: cursors of updates,
// sessions, and leases. Old and new sessions can't be distinguished, and signing in again is cheap.
// Keys stay.
func begin(ctx context.Context, tx bun.Tx, r *Restored, now time.Time) error {
	if err := update.Restart(ctx, tx, now); err != nil {
		return err
	}
	agents, err := agent.Store{}.EndAllSessions(ctx, tx)
	if err != nil {
		return err
	}
	admins, err := admin.Store{}.EndAllSessions(ctx, tx)
	if err != nil {
		return err
	}
	r.Sessions = agents + admins
	if err := worker.ReleaseAll(ctx, tx); err != nil {
		return err
	}
	return audit.Record(ctx, tx, audit.Entry{
		ID: database.NewID(now), CreatedAt: now, Actor: audit.Shell, Action: audit.BackupRestored, Target: audit.DatabaseTarget,
		After: fmt.Sprintf("%d predictions", r.Predictions), Note: "what happened after the backup is undone, acts of admins too",
	})
}
