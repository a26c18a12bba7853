package database

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uptrace/bun"
)

// Partitioning says how a Postgres table is partitioned.
type Partitioning struct {
	Table string
	By    string // the text after PARTITION BY
	// Key, if not empty, replaces the columns of the primary key, because every unique key of a
	// partitioned table must contain the columns that it is partitioned by.
	Key string
	// Parts are the partitions by name, each with its bounds as written after FOR VALUES, or
	// DEFAULT.
	Parts map[string]string
}

// ErrFilled means that a table has rows. Only empty tables can be partitioned in place.
var ErrFilled = errors.New("it holds rows")

// definition is the SQL of a constraint, an index or a view.
type definition struct{ Owner, Name, SQL string }

const (
	viewsSQL = `SELECT relname AS name, pg_get_viewdef(oid) AS sql FROM pg_class
		WHERE relkind = 'v' AND relnamespace = current_schema()::regnamespace
		AND NOT EXISTS (SELECT 1 FROM pg_depend AS d WHERE d.objid = pg_class.oid AND d.deptype = 'e') ORDER BY oid`
	foreignKeysSQL = `SELECT conrelid::regclass::text AS owner, conname AS name, pg_get_constraintdef(oid) AS sql FROM pg_constraint
		WHERE contype = 'f' AND (conrelid = ?0::regclass OR confrelid = ?0::regclass) AND conparentid = 0 ORDER BY conname`
	keysSQL = `SELECT conname AS name, pg_get_constraintdef(oid) AS sql FROM pg_constraint
		WHERE contype IN ('p', 'u') AND conrelid = ?0::regclass ORDER BY conname`
	indexesSQL = `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS sql FROM pg_index AS i
		WHERE indrelid = ?0::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint AS c WHERE c.conindid = i.indexrelid) ORDER BY 1`
)

// Partition partitions empty tables. It recreates their keys, indexes and foreign keys, and all
// views. If a table has rows, it returns ErrFilled.
func Partition(ctx context.Context, tx bun.Tx, list ...Partitioning) error {
	var views, foreign []definition
	if err := tx.NewRaw(viewsSQL).Scan(ctx, &views); err != nil {
		return fmt.Errorf("read the views: %w", err)
	}
	for _, v := range views {
		if err := run(ctx, tx, "DROP VIEW ?", bun.Ident(v.Name)); err != nil {
			return err
		}
	}
	for _, p := range list {
		var found []definition
		if err := tx.NewRaw(foreignKeysSQL, p.Table).Scan(ctx, &found); err != nil {
			return fmt.Errorf("read the foreign keys of %s: %w", p.Table, err)
		}
		for _, f := range found {
			if err := run(ctx, tx, "ALTER TABLE ? DROP CONSTRAINT ?", bun.Ident(f.Owner), bun.Ident(f.Name)); err != nil {
				return err
			}
		}
		foreign = append(foreign, found...)
	}
	for _, p := range list {
		if err := p.divide(ctx, tx); err != nil {
			return fmt.Errorf("partition %s: %w", p.Table, err)
		}
	}
	for _, f := range foreign {
		if err := run(ctx, tx, "ALTER TABLE ? ADD CONSTRAINT ? ?", bun.Ident(f.Owner), bun.Ident(f.Name), bun.Safe(f.SQL)); err != nil {
			return err
		}
	}
	for _, v := range views {
		if err := run(ctx, tx, "CREATE VIEW ? AS ?", bun.Ident(v.Name), bun.Safe(v.SQL)); err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, tx bun.Tx, statement string, args ...any) error {
	if _, err := tx.NewRaw(statement, args...).Exec(ctx); err != nil {
		return fmt.Errorf("%s: %w", statement, err)
	}
	return nil
}

func (p *Partitioning) divide(ctx context.Context, tx bun.Tx) error {
	if err := run(ctx, tx, "LOCK TABLE ? IN ACCESS EXCLUSIVE MODE", bun.Ident(p.Table)); err != nil {
		return err
	}
	var filled bool
	if err := tx.NewRaw("SELECT EXISTS (SELECT 1 FROM ?)", bun.Ident(p.Table)).Scan(ctx, &filled); err != nil {
		return err
	}
	if filled {
		return ErrFilled
	}
	var keys, indexes []definition
	if err := tx.NewRaw(keysSQL, p.Table).Scan(ctx, &keys); err != nil {
		return err
	}
	if err := tx.NewRaw(indexesSQL, p.Table).Scan(ctx, &indexes); err != nil {
		return err
	}
	var options string
	err := tx.NewRaw("SELECT coalesce(array_to_string(reloptions, ', '), '') FROM pg_class WHERE oid = ?::regclass", p.Table).Scan(ctx, &options)
	if err != nil {
		return err
	}
	plain := p.Table + "_plain"
	table := bun.Ident(p.Table)
	for _, step := range []struct {
		sql  string
		args []any
	}{
		{"ALTER TABLE ? RENAME TO ?", []any{table, bun.Ident(plain)}},
		{"CREATE TABLE ? (LIKE ? INCLUDING DEFAULTS) PARTITION BY ?", []any{table, bun.Ident(plain), bun.Safe(p.By)}},
		{"DROP TABLE ?", []any{bun.Ident(plain)}},
	} {
		if err := run(ctx, tx, step.sql, step.args...); err != nil {
			return err
		}
	}
	for _, k := range keys {
		if p.Key != "" && strings.HasPrefix(k.SQL, "PRIMARY KEY") {
			k.SQL = "PRIMARY KEY (" + p.Key + ")"
		}
		if err := run(ctx, tx, "ALTER TABLE ? ADD CONSTRAINT ? ?", table, bun.Ident(k.Name), bun.Safe(k.SQL)); err != nil {
			return err
		}
	}
	for _, i := range indexes {
		if err := run(ctx, tx, "?", bun.Safe(i.SQL)); err != nil {
			return err
		}
	}
	for name, bounds := range p.Parts {
		if err := addPart(ctx, tx, p.Table, name, bounds, options); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds a partition to a table, unless the table has it already.
func addPart(ctx context.Context, tx bun.Tx, table, name, bounds, options string) error {
	if bounds != "DEFAULT" {
		bounds = "FOR VALUES " + bounds
	}
	if options != "" {
		options = "WITH (" + options + ")"
	}
	return run(ctx, tx, "CREATE TABLE IF NOT EXISTS ? PARTITION OF ? ? ?", bun.Ident(name), bun.Ident(table), bun.Safe(bounds), bun.Safe(options))
}
