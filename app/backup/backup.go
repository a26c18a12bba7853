// Package backup writes and restores backups of the database, and keeps a schedule of them.
//
// A backup is one file: of SQLite a database that can be opened, of Postgres an archive of
// pg_dump in its custom format. It holds everything that was committed at the moment at which
// it began. It is written under another name in the same folder, flushed to the disk, read
// back, and only then gets its name. So a file with the name of a backup is a whole one.
//
// These functions work on all tables at once, below their owners.
package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
)

// Report says what a backup holds.
type Report struct {
	File        string
	Kind        database.Kind
	Bytes       int64
	Took        time.Duration
	Predictions int64
}

// Options are what Make needs.
type Options struct {
	Database string // its address, as DATABASE_URL has it
	File     string
	Force    bool // replace a file that exists
}

// ExistsError refuses to overwrite a file.
type ExistsError struct{ File string }

func (e *ExistsError) Error() string {
	return e.File + " exists: name another file, or replace it with --force"
}

// Make writes a backup of a database that may be in use. Publishing goes on meanwhile.
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

// partSuffix ends the name of a file that is not whole yet.
const partSuffix = ".part"

// newTemp makes an empty file beside another, readable by its owner alone: a backup holds
// hashes of keys and passwords.
func newTemp(file string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*"+partSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("the folder %s doesn't exist: make it first", filepath.Dir(file))
	}
	if err != nil {
		return "", err
	}
	return f.Name(), f.Close()
}

// remove removes a file that is not whole, with what SQLite leaves beside it.
func remove(temp string) error {
	var failed []error
	for _, suffix := range []string{"", "-journal", "-wal", "-shm"} {
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

// place gives a file its name, and waits until that is on the disk. Unless it may replace, it
// fails with an *ExistsError if there is a file of that name by now.
func place(temp, file string, replace bool) error {
	if !replace {
		err := os.Link(temp, file)
		if errors.Is(err, fs.ErrExist) {
			return &ExistsError{file}
		}
		if err == nil {
			return errors.Join(os.Remove(temp), flushFolder(file))
		}
		// The file system has no hard links. Then two backups at once under one name overwrite each other.
	}
	if err := os.Rename(temp, file); err != nil {
		return err
	}
	return flushFolder(file)
}

// flushFolder waits until the names in the folder of a file are on the disk.
func flushFolder(file string) error {
	d, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
