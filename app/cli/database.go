package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
)

// openDatabase checks the settings, opens the database and closes it after run.
func openDatabase(ctx context.Context, cfg config.Config, run func(*database.DB) error) error {
	if err := cfg.Check(); err != nil {
		return err
	}
	db, err := database.Open(ctx, cfg.DatabaseURL)
	if err != nil {
		return err
	}
	return errors.Join(run(db), db.Close())
}

// requireDatabase returns an error if the SQLite file is missing. Opening it would make an empty one, and the command
// would report success on it.
func requireDatabase(cfg config.Config) error {
	path, embedded := cfg.SQLitePath()
	if !embedded {
		return nil
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no database at %s: check DATABASE_URL and the working directory; serve, admin create or agent create makes a new one", path)
	}
	return nil
}

// makeDatabase makes a missing SQLite file and says so, for commands that may come before the first start.
func makeDatabase(ctx context.Context, cfg config.Config) error {
	if requireDatabase(cfg) == nil {
		return nil
	}
	err := openDatabase(ctx, cfg, func(db *database.DB) error {
		_, err := db.Migrate(ctx)
		return err
	})
	if err == nil {
		path, _ := cfg.SQLitePath()
		fmt.Fprintln(os.Stderr, "made a new database at", path)
	}
	return err
}

// withDatabase is openDatabase on an existing database, with a migrated schema.
func withDatabase(ctx context.Context, cfg config.Config, run func(*database.DB) error) error {
	if err := requireDatabase(cfg); err != nil {
		return err
	}
	return openDatabase(ctx, cfg, func(db *database.DB) error {
		if _, err := db.Migrate(ctx); err != nil {
			return err
		}
		return run(db)
	})
}
