// Package migrations holds the history of the schema: one set of SQL files, which database.Words
// render for SQLite or Postgres.
package migrations

import "embed"

// Files are the migrations, named NUMBER_name.tx.up.sql and .tx.down.sql. Each is a text template
// that gets database.Words.
//
//go:embed *.sql
var Files embed.FS
