package database

import (
	"context"
	"fmt"
	"slices"

	"github.com/uptrace/bun/migrate"

	"github.com/pulsecast/pulsecast/migrations"
)

// Applied lists the numbers of the migrations that the database has, in order. The list is empty if
// the database was never migrated. Applied changes nothing.
func (db *DB) Applied(ctx context.Context) ([]string, error) {
	found, err := db.hasTable(ctx, "bun_migrations")
	if err != nil {
		return nil, fmt.Errorf("look for migrations: %w", err)
	}
	if !found {
		return nil, nil
	}
	var names []string
	if err := db.NewRaw("SELECT name FROM bun_migrations ORDER BY name").Scan(ctx, &names); err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	return names, nil
}

// embedded returns this program's migrations.
func embedded() (*migrate.Migrations, error) {
	set := migrate.NewMigrations()
	if err := set.Discover(migrations.Files); err != nil {
		return nil, fmt.Errorf("read embedded migrations: %w", err)
	}
	return set, nil
}

// Known lists the numbers of this program's migrations, in order.
func Known() ([]string, error) {
	set, err := embedded()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, m := range set.Sorted() {
		names = append(names, m.Name)
	}
	return names, nil
}

// SchemaError says that the schema of a database isn't that of this program.
type SchemaError struct {
	Newer  []string // migrations that this program doesn't know
	Behind []string // migrations that the database lacks
}

func (e *SchemaError) Error() string {
	if len(e.Newer) > 0 {
		return fmt.Sprintf("its schema is newer than this program (migration %s): use a version of pulsecast that knows it", e.Newer[len(e.Newer)-1])
	}
	return fmt.Sprintf("its schema is older than this program (migration %s is missing)", e.Behind[0])
}

// CompareSchema returns a *SchemaError unless applied lists exactly this program's migrations.
func CompareSchema(applied []string) error {
	known, err := Known()
	if err != nil {
		return err
	}
	var e SchemaError
	for _, name := range applied {
		if !slices.Contains(known, name) {
			e.Newer = append(e.Newer, name)
		}
	}
	for _, name := range known {
		if !slices.Contains(applied, name) {
			e.Behind = append(e.Behind, name)
		}
	}
	if e.Newer == nil && e.Behind == nil {
		return nil
	}
	return &e
}
