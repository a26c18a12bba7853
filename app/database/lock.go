package database

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// ErrInUse: another serve or worker process runs on the same SQLite file.
var ErrInUse = errors.New(
	"this SQLite database is already served by another process; stop it, or use Postgres to run several nodes",
)

// Claim makes this process the only serve or worker of a SQLite file, by a lock of
// the operating system that ends with the process, however it ends. On Postgres,
// where nodes share the database, it does nothing.
func (db *DB) Claim() (release func() error, err error) {
	if db.Kind != SQLite {
		return func() error { return nil }, nil
	}
	f, err := os.OpenFile(db.path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("claim database: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(ErrInUse, f.Close())
	}
	return f.Close, nil
}
