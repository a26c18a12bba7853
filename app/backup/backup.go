// Package backup makes and restores backups of the database, and makes them on a schedule.
//
// A backup is one file. For SQLite it is a database that can be opened, and for Postgres an archive of
// pg_dump in its custom format. It contains everything that was committed when it began. It is written
// under another name in the same folder, flushed to the disk and read back, and only then renamed. So
// a file with the name of a backup is complete.
//
// These functions work on all tables directly, without the packages that own them.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// Report describes a backup.
type Report struct {
	File        string
	Kind        database.Kind
	Bytes       int64
	Took        time.Duration
	Predictions int64
}

// Options are the options of Make.
type Options struct {
	Database string // the address, as in DATABASE_URL
	File     string
	Force    bool // replace an existing file
}

// ExistsError means that the file exists and may not be replaced.
type ExistsError struct{ File string }

func (e *ExistsError) Error() string {
	return e.File + " exists; name another file, or replace it with --force"
}

// Make writes a backup of a database that may be in use. Publishing continues meanwhile.
func Make(ctx context.Context, o Options) (*Report, error) {
	begin := time.Now()
	if _, err := os.Lstat(o.File); err == nil && !o.Force {
		return nil, &ExistsError{o.File}
	}
	temp, err := newTemp(o.File)
	if err != nil {
		return nil, err
	}
	r, err := write(ctx, o.Database, temp)
	if err == nil {
		err = flush(temp)
	}
	if err == nil {
		err = place(temp, o.File, o.Force)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("backup: %w", err), remove(temp))
	}
	r.File, r.Took = o.File, time.Since(begin)
	return r, nil
}

// write writes and verifies a backup.
func write(ctx context.Context, address, temp string) (r *Report, err error) {
	if path, ok := database.SQLitePath(address); ok {
		r, err = writeSQLite(ctx, path, temp)
	} else {
		r, err = writePostgres(ctx, address, temp)
	}
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(temp)
	if err != nil {
		return nil, err
	}
	r.Bytes = info.Size()
	return r, nil
}

// partSuffix is the suffix of an incomplete file.
const partSuffix = ".part"

// newTemp creates an empty file beside another. Only its owner can read it, because a backup
// contains hashes of keys and passwords.
func newTemp(file string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder %s doesn't exist; create it first", filepath.Dir(file))
	}
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// wholeOf returns the name that an incomplete file, or a file of SQLite's beside it, would have got. ok is false for
// other files.
func wholeOf(part string) (whole string, ok bool) {
	for _, suffix := range beside {
		if name, found := strings.CutSuffix(part, partSuffix+suffix); found {
			whole = strings.TrimRight(name, "0123456789") // newTemp has put a dot and a random number after it
			whole, ok = strings.CutSuffix(whole, ".")
			return whole, ok && whole != "" && !strings.HasSuffix(name, ".")
		}
	}
	return "", false
}

// beside are the suffixes of a SQLite file and of the files that SQLite writes beside it.
var beside = []string{"", "-wal", "-shm", "-journal"}

// remove deletes an incomplete file and SQLite's files beside it.
func remove(temp string) error {
	var failed []error
	for _, suffix := range beside {
		if err := os.Remove(temp + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// flush waits until a file is on the disk.
func flush(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// place renames temp to file and waits until the rename is on the disk. It replaces an existing
// file if replace is true, and otherwise fails with an *ExistsError.
func place(temp, file string, replace bool) error {
	if !replace {
		err := os.Link(temp, file)
		if errors.Is(err, fs.ErrExist) {
			return &ExistsError{file}
		}
		if err == nil {
			return errors.Join(os.Remove(temp), flushFolder(file))
		}
		// The file system has no hard links, so two simultaneous backups with one name overwrite
		// each other.
	}
	if err := os.Rename(temp, file); err != nil {
		return err
	}
	return flushFolder(file)
}

// flushFolder waits until changes of the folder of a file are on the disk.
func flushFolder(file string) error {
	d, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
