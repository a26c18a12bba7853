package database

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrInUse means that another serve or worker process runs on the same SQLite file.
var ErrInUse = errors.New(
	"this SQLite database is already served by another process; stop it, or use Postgres to run several nodes",
)

// Claim makes this process the only serve or worker process of a SQLite file. It takes a lock of
// the operating system, which ends with the process even after a crash. On Postgres, where nodes
// share the database, it does nothing.
func (db *DB) Claim() (release func() error, err error) {
	if db.Kind != SQLite {
		return func() error { return nil }, nil
	}
	return Lock(db.path)
}

const (
	// leavingPatience is how long Unused waits for connections to end, and leavingPause the time between two
	// checks. Postgres ends a connection shortly after its client has left.
	leavingPatience = 3 * time.Second
	leavingPause    = 50 * time.Millisecond
)

// Unused returns an error if other programs are connected to a Postgres database. On SQLite it does nothing, because
// Claim refuses a second server there.
func (db *DB) Unused(ctx context.Context) error {
	if db.Kind == SQLite {
		return nil
	}
	for began := time.Now(); ; {
		n, err := db.otherConnections(ctx)
		if err != nil || n == 0 {
			return err
		}
		if time.Since(began) > leavingPatience {
			return fmt.Errorf("%d other connections are open to it; stop every server and worker first", n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(leavingPause):
		}
	}
}

func (db *DB) otherConnections(ctx context.Context) (n int64, err error) {
	err = db.NewRaw(`SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'
		AND pid <> pg_backend_pid()`).Scan(ctx, &n)
	if err != nil {
		return 0, fmt.Errorf("count connections: %w", err)
	}
	return n, nil
}

// Identity returns a text that identifies a database: its address without the password, or the path
// of the file.
func (db *DB) Identity(address string) string {
	if db.Kind == SQLite {
		if path, err := filepath.Abs(db.path); err == nil {
			return "sqlite://" + path
		}
		return address
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return "postgres://" + u.Host + u.Path + "?host=" + u.Query().Get("host")
}

const (
	// lockTries is how often Lock tries, and lockPause the time between two tries.
	lockTries = 25
	lockPause = 2 * time.Millisecond
)

// Lock is Claim for a SQLite file that may not exist yet.
func Lock(path string) (release func() error, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the database: %w", err)
	}
	f, err := os.OpenFile(path+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("claim database: %w", err)
	}
	for range lockTries { // Served holds the lock for a moment
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return f.Close, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) { // such as a mount without locks
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		time.Sleep(lockPause)
	}
	return nil, errors.Join(ErrInUse, f.Close())
}
