package database

import (
	"context"
	"time"
)

// commandPause is the time between two transactions of a command on SQLite. A service that waits for the write lock
// tries to get it at least this often.
const commandPause = 100 * time.Millisecond

// Pause lets other writers take a turn between two transactions of long work. A command on SQLite waits for
// commandPause, because a service only polls the write lock. In a service, Pause returns at once, because its writers
// queue for one connection. On Postgres it returns at once too. If ctx has ended, Pause returns its error.
func (db *DB) Pause(ctx context.Context) error {
	if db.Kind != SQLite || db.Breaker.serving.Load() {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(commandPause):
		return nil
	}
}
