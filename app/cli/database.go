package cli

import (
	"context"
	"errors"

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

// withDatabase is openDatabase on a migrated schema.
func withDatabase(ctx context.Context, cfg config.Config, run func(*database.DB) error) error {
	return openDatabase(ctx, cfg, func(db *database.DB) error {
		if _, err := db.Migrate(ctx); err != nil {
			return err
		}
		return run(db)
	})
}
