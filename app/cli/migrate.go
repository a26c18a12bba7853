package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/partition"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply all pending migrations."`
	Down   migrateDown   `cmd:"" help:"Undo the last group of migrations."`
	Status migrateStatus `cmd:"" help:"List the migrations, and which of them are applied."`
}

type (
	migrateUp     struct{ config.Config }
	migrateDown   struct{ config.Config }
	migrateStatus struct{ config.Config }
)

// Run applies all pending migrations.
func (m *migrateUp) Run(ctx context.Context) error {
	return openDatabase(ctx, m.Config, func(db *database.DB) error {
		if err := printMigrated(ctx, os.Stdout, "applied", db.Migrate); err != nil {
			return err
		}
		return partition.Prepare(ctx, db, m.DatabasePartitions, time.Now(), time.Now())
	})
}

// Run undoes the last group of migrations.
func (m *migrateDown) Run(ctx context.Context) error {
	return openDatabase(ctx, m.Config, func(db *database.DB) error {
		return printMigrated(ctx, os.Stdout, "undone", db.Rollback)
	})
}

// Run lists the migrations, and which of them are applied.
func (m *migrateStatus) Run(ctx context.Context) error {
	return openDatabase(ctx, m.Config, func(db *database.DB) error {
		all, err := db.Migrations(ctx)
		if err != nil {
			return err
		}
		for _, m := range all {
			state := "pending"
			if m.Applied {
				state = "applied"
			}
			fmt.Printf("%-8s %s\n", state, m.Name)
		}
		return nil
	})
}

func printMigrated(ctx context.Context, out io.Writer, done string, run func(context.Context) ([]string, error)) error {
	names, err := run(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		_, err = fmt.Fprintln(out, "nothing to do")
		return err
	}
	for _, name := range names {
		if _, err := fmt.Fprintf(out, "%-8s %s\n", done, name); err != nil {
			return err
		}
	}
	return nil
}
