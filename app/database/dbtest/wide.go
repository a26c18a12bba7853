package dbtest

import (
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
)

// Widen adds a column to every table, as a migration of the next version may do while nodes of this version run.
func Widen(t testing.TB, db *database.DB) {
	t.Helper()
	tables, err := db.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		if len(table.Key) == 0 { // a search index of SQLite can't get columns
			continue
		}
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE ? ADD COLUMN of_the_next_version TEXT", bun.Ident(table.Name)); err != nil {
			t.Fatal(err)
		}
	}
}
