package database

import (
	"context"
	"fmt"
)

// Compact gives the room that deleted rows had in a SQLite file back to the disk. On Postgres it
// does nothing.
func (db *DB) Compact(ctx context.Context) error {
	if db.Kind != SQLite {
		return nil
	}
	if _, err := db.ExecContext(ctx, "VACUUM"); err != nil {
		return fmt.Errorf("compact the database: %w", err)
	}
	return nil
}

// Sync sets whether commits to a SQLite file wait for the disk. Without it, a loss of power may
// break the file: that is for files which can be made again. With it again, the next commit takes
// those before it along.
func (db *DB) Sync(ctx context.Context, on bool) error {
	if db.Kind != SQLite {
		return nil
	}
	level := "OFF"
	if on {
		level = "FULL"
	}
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous = "+level); err != nil {
		return fmt.Errorf("set how commits are synced: %w", err)
	}
	return nil
}
