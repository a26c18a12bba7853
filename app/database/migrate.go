package database

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/migrate"
)

// migrationLock is the key of the advisory lock that nodes take when they migrate, so that nodes
// that start together migrate in turn. Bun's own lock is a row, which would survive a crash.
const migrationLock = 7_305_842_311

// Migrate brings the schema to the newest version. Nodes that start together migrate only once. It
// returns the names of the applied migrations, or ErrIncoming if a restore or a copy isn't
// complete.
func (db *DB) Migrate(ctx context.Context) ([]string, error) {
	if _, filling, err := db.FindIncoming(ctx); err != nil || filling {
		return nil, cmp.Or(err, ErrIncoming)
	}
	return db.MigrateIncoming(ctx)
}

// MigrateIncoming is Migrate for the restore or copy that fills the database.
func (db *DB) MigrateIncoming(ctx context.Context) ([]string, error) {
	return db.withMigrator(ctx, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Migrate(ctx) })
}

// Rollback undoes the last group of migrations and returns their names.
func (db *DB) Rollback(ctx context.Context) ([]string, error) {
	return db.withMigrator(ctx, func(m *migrate.Migrator) (*migrate.MigrationGroup, error) { return m.Rollback(ctx) })
}

// Migration is one step of the schema's history.
type Migration struct {
	Name    string
	Applied bool
}

// Migrations lists all migrations and whether each is applied. It changes nothing.
func (db *DB) Migrations(ctx context.Context) ([]Migration, error) {
	set, err := embedded()
	if err != nil {
		return nil, err
	}
	applied, err := db.Applied(ctx)
	if err != nil {
		return nil, err
	}
	var out []Migration
	for _, one := range set.Sorted() {
		out = append(out, Migration{Name: one.String(), Applied: slices.Contains(applied, one.Name)})
	}
	return out, nil
}

// ForgetMigrations drops Bun's tables, which Rollback leaves empty, so that a restore can create them. It fails if a
// migration is applied.
func (db *DB) ForgetMigrations(ctx context.Context) error {
	applied, err := db.Applied(ctx)
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		return fmt.Errorf("the database has a record of migrations (%s); name an empty one", applied[0])
	}
	for _, table := range []string{"bun_migrations", "bun_migration_locks"} {
		if _, err := db.NewRaw("DROP TABLE IF EXISTS ?", bun.Ident(table)).Exec(ctx); err != nil {
			return fmt.Errorf("drop %s: %w", table, err)
		}
	}
	return nil
}

func (db *DB) migrator() (*migrate.Migrator, error) {
	set, err := embedded()
	if err != nil {
		return nil, err
	}
	return migrate.NewMigrator(db.DB, set,
		migrate.WithTemplateData(db.Kind.words()),
		migrate.WithMarkAppliedOnSuccess(true),
		migrate.AfterMigration(mark),
		migrate.WithUpsert(true)), nil // Bun marks it again after the commit
}

// mark records in the transaction of a migration that it is applied, or undone. Bun does so only
// after the commit, so a crash in between would leave a schema that no later start can migrate.
func mark(ctx context.Context, tx bun.IConn, m *migrate.Migration) error {
	query, args := "INSERT INTO bun_migrations (name, group_id) VALUES (?, ?)", []any{m.Name, m.GroupID}
	if m.IsApplied() {
		query, args = "DELETE FROM bun_migrations WHERE name = ?", []any{m.Name}
	}
	_, err := tx.ExecContext(ctx, query, args...)
	return err
}

func (db *DB) withMigrator(
	ctx context.Context, run func(*migrate.Migrator) (*migrate.MigrationGroup, error),
) (names []string, err error) {
	m, err := db.migrator()
	if err != nil {
		return nil, err
	}
	unlock, err := db.lockMigrations(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if err := m.Init(ctx); err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	group, err := run(m)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	for _, one := range group.Migrations {
		names = append(names, one.String())
	}
	return names, nil
}

func (db *DB) lockMigrations(ctx context.Context) (unlock func() error, err error) {
	if db.Kind == SQLite {
		return func() error { return nil }, nil
	}
	// The lock belongs to a transaction, not to a session. Through a pooler, a session may end on
	// another server connection than it began on, and a session lock would stay.
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, fmt.Errorf("lock migrations: %w", err)
	}
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(?)", migrationLock); err != nil {
		return nil, errors.Join(fmt.Errorf("lock migrations: %w", err), tx.Rollback())
	}
	return tx.Rollback, nil
}
