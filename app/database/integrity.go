package database

import (
	"context"
	"database/sql"
	"fmt"
)

// CheckIntegrity reads a whole SQLite file and returns the damage that it finds as an error. It
// does nothing on Postgres.
func (db *DB) CheckIntegrity(ctx context.Context) error {
	if db.Kind != SQLite {
		return nil
	}
	return CheckSQLite(ctx, db.Reader.DB)
}

// CheckSQLite is CheckIntegrity for a file that other code has opened.
func CheckSQLite(ctx context.Context, db *sql.DB) error {
	var found string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return fmt.Errorf("check the file: %w", err)
	}
	if found != "ok" {
		return fmt.Errorf("check the file: %s", found)
	}
	return nil
}
