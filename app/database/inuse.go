package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// inUseSetting names the mark of a SQLite file that is being served. Its value is the time at which
// the file was marked. The mark is in the file, so a plain copy of a served file has it too.
const inUseSetting = "in_use_since"

// walOf returns the path of the write-ahead log of a SQLite file. Until a checkpoint, the newest
// commits are only in the log.
func walOf(path string) string { return path + "-wal" }

func hasWAL(path string) bool {
	_, err := os.Stat(walOf(path))
	return err == nil
}

// Served reports whether a server or worker runs on a SQLite file.
func Served(path string) bool {
	f, err := os.Open(path + ".lock")
	if err != nil {
		return false
	}
	defer f.Close() // releases the lock
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// MarkInUse marks a SQLite file as served, in the file itself and not only in its log. Unmark
// removes the mark when the server stops. After a crash, both the mark and the log are there. If a
// file has a mark but no log, and no server runs on it, then it was copied while it was served, or
// it lost its log. On Postgres, MarkInUse does nothing.
func (db *DB) MarkInUse(ctx context.Context, now time.Time) error {
	if db.Kind != SQLite {
		return nil
	}
	if err := SetSetting(ctx, db, inUseSetting, now.UTC().Format(time.RFC3339Nano)); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, "PRAGMA wal_checkpoint(FULL)"); err != nil {
		return fmt.Errorf("mark the database as in use: %w", err)
	}
	return nil
}

// Unmark removes the mark that MarkInUse set.
func (db *DB) Unmark(ctx context.Context) error {
	if db.Kind != SQLite {
		return nil
	}
	return RemoveSetting(ctx, db, inUseSetting)
}

// LostWAL returns the time after which commits may be missing because the SQLite file was opened
// without its write-ahead log. It is zero if the file is whole.
func (db *DB) LostWAL() time.Time { return db.lostWAL }

// checkWAL sets LostWAL. hadWAL reports whether the log existed before the file was opened. If it
// did, SQLite has applied it by now and deletes it when the file is closed, so checkWAL removes the
// mark. It leaves the mark of a server that started meanwhile, which has another time.
func (db *DB) checkWAL(ctx context.Context, hadWAL bool) error {
	since, err := db.inUseSince(ctx)
	if err != nil || since == "" || Served(db.path) {
		return err
	}
	if !hadWAL {
		db.lostWAL, err = time.Parse(time.RFC3339Nano, since)
		return err
	}
	_, err = db.NewRaw("DELETE FROM settings WHERE name = ? AND value = ?", inUseSetting, since).Exec(ctx)
	return err
}

// forgetMark removes the mark of a server that crashed after this process opened the database.
// Closing the last connection applies the log and deletes it, so the mark would have no log beside
// it. If the mark can't be read, it stays, and the next start warns needlessly.
func (db *DB) forgetMark() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if db.lostWAL.IsZero() {
		_ = db.checkWAL(ctx, true)
	}
}

// inUseSince returns the time in the mark, or an empty string if there is no mark.
func (db *DB) inUseSince(ctx context.Context) (since string, err error) {
	if found, err := db.hasTable(ctx, "settings"); err != nil || !found {
		return "", err
	}
	err = db.QueryRowContext(ctx, "SELECT value FROM settings WHERE name = ?", inUseSetting).Scan(&since)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return since, err
}

// UnmarkSQLite is Unmark for a copy that other code has opened.
func UnmarkSQLite(ctx context.Context, db *sql.DB) error {
	if _, err := db.ExecContext(ctx, "DELETE FROM settings WHERE name = ?", inUseSetting); err != nil {
		return fmt.Errorf("unmark the copy: %w", err)
	}
	return nil
}
