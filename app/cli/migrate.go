package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/partition"
)

type migrateCommand struct {
	Up     migrateUp     `cmd:"" help:"Apply all pending migrations."`
	Down   migrateDown   `cmd:"" help:"Undo the last group of migrations, which drops its tables with all their rows."`
	Status migrateStatus `cmd:"" help:"List the migrations, and which of them are applied."`
}

type (
	migrateUp   struct{ config.Config }
	migrateDown struct {
		config.Config
		DropEverything bool `help:"Drop every table although the database has agents or admins. Write a backup first."`
	}
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

// Run undoes the last group of migrations. It refuses if a server uses the SQLite file, or if rows
// would be lost that can't be made again.
func (m *migrateDown) Run(ctx context.Context) error {
	if err := requireDatabase(m.Config); err != nil {
		return err
	}
	return openDatabase(ctx, m.Config, func(db *database.DB) (err error) {
		release, err := db.Claim()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, release()) }()
		if !m.DropEverything {
			if err := refuseIfUsed(ctx, db); err != nil {
				return err
			}
		}
		return printMigrated(ctx, os.Stdout, "undone", db.Rollback)
	})
}

// refuseIfUsed returns an error if a migrated database has rows that can't be made again.
func refuseIfUsed(ctx context.Context, db *database.DB) error {
	applied, err := db.Applied(ctx)
	if err != nil || len(applied) == 0 {
		return err
	}
	// Without agents there are no predictions and no keys. The first migration makes the reference agents.
	agents, _, err := agent.Store{}.List(ctx, db.Reader, agent.Filter{Kind: agent.Ordinary, Limit: 1})
	if err != nil {
		return err
	}
	people, err := admin.Store{}.List(ctx, db.Reader)
	if err != nil || len(agents)+len(people) == 0 {
		return err
	}
	return errors.New("the database has agents or admins, and migrate down would drop every table. " +
		"Write a backup first (pulsecast backup FILE). Then --drop-everything drops them anyway")
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
