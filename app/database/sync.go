package database

import (
	"context"
	"fmt"
)

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
	level := "OFF"
	if on {
		level = "FULL"
	}
	if _, err := db.ExecContext(ctx, "PRAGMA synchronous = "+level); err != nil {
		return fmt.Errorf("set how commits are synced: %w", err)
	}
	return nil
}
