package database

import (
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// incomingTable marks a database that a restore or a copy is filling. It is not part of the schema:
// it exists before the schema, and is dropped when the database is complete.
const incomingTable = "incoming"

// ErrIncoming means that a restore or a copy into this database isn't complete.
var ErrIncoming = errors.New(
	"a restore or a copy into this database was interrupted: run the same command again to complete it, or empty the database",
)

// Incoming stores the progress of a restore or a copy into a database, as named values. While a
// database has it, Migrate refuses with ErrIncoming, so no server starts on the database.
type Incoming struct{ db *DB }

// FindIncoming returns the Incoming of a database. found is false if the database is complete.
func (db *DB) FindIncoming(ctx context.Context) (in *Incoming, found bool, err error) {
	if found, err = db.hasTable(ctx, incomingTable); err != nil {
		return nil, false, fmt.Errorf("look for an interrupted restore or copy: %w", err)
	}
	return &Incoming{db}, found, nil
}

// BeginIncoming marks a database as incomplete.
func (db *DB) BeginIncoming(ctx context.Context) (*Incoming, error) {
	if _, err := db.NewRaw("CREATE TABLE ? (name TEXT PRIMARY KEY, value TEXT NOT NULL)", bun.Ident(incomingTable)).Exec(ctx); err != nil {
		return nil, fmt.Errorf("mark the database: %w", err)
	}
	return &Incoming{db}, nil
}

// All returns the stored values by name.
func (in *Incoming) All(ctx context.Context) (map[string]string, error) {
	var rows []struct{ Name, Value string }
	if err := in.db.NewRaw("SELECT name, value FROM ?", bun.Ident(incomingTable)).Scan(ctx, &rows); err != nil {
		return nil, fmt.Errorf("read the progress: %w", err)
	}
	all := map[string]string{}
	for _, r := range rows {
		all[r.Name] = r.Value
	}
	return all, nil
}

// SetIncoming is the statement that stores a value. Its arguments are the name and the value. Run
// it in the transaction whose progress it records.
const SetIncoming = "INSERT INTO " + incomingTable + " (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = EXCLUDED.value"

// Set stores a value with SetIncoming.
func (in *Incoming) Set(ctx context.Context, name, value string) error {
	if _, err := in.db.DB.DB.ExecContext(ctx, SetIncoming, name, value); err != nil {
		return fmt.Errorf("keep the progress: %w", err)
	}
	return nil
}

// End removes the mark, because the database is complete.
func (in *Incoming) End(ctx context.Context) error {
	if _, err := in.db.NewRaw("DROP TABLE ?", bun.Ident(incomingTable)).Exec(ctx); err != nil {
		return fmt.Errorf("unmark the database: %w", err)
	}
	return nil
}
