package database

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/uptrace/bun"
)

// writerSettings are the settings of the connection that writes to a SQLite file. The pool makes a new
// connection after a statement was interrupted while it waited for another process, and the new one has
// them too.
type writerSettings struct {
	patience atomic.Int64 // how long a write waits for another process, in milliseconds
	unsynced atomic.Bool  // see Sync
}

func (s *writerSettings) pragmas() []string {
	level := "FULL"
	if s.unsynced.Load() {
		level = "OFF"
	}
	return []string{fmt.Sprintf("busy_timeout(%d)", s.patience.Load()), "synchronous(" + level + ")"}
}

// apply brings an open connection in line with the settings.
func (s *writerSettings) apply(ctx context.Context, writer *bun.DB) error {
	if _, err := writer.ExecContext(ctx, "PRAGMA "+strings.Join(s.pragmas(), "; PRAGMA ")); err != nil {
		return fmt.Errorf("set how writes wait: %w", err)
	}
	return nil
}

// Compact returns the space of deleted rows in a SQLite file to the disk. On Postgres it does
// nothing.
func (db *DB) Compact(ctx context.Context) error {
	if db.Kind != SQLite {
		return nil
	}
	if _, err := db.ExecContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("compact the database: %w", err)
	}
	return nil
}

// Sync sets whether commits to a SQLite file wait for the disk. While they don't, a power cut may
// damage the file, so switch it off only for files that can be made again. After it is switched on,
// the next commit also makes the earlier ones durable.
func (db *DB) Sync(ctx context.Context, on bool) error {
	if db.Kind != SQLite {
		return nil
	}
	db.writer.unsynced.Store(!on)
	return db.writer.apply(ctx, db.DB)
}
