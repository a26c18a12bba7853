package cli

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// TestMigrateDownKeepsRows checks that migrate down drops a database with rows only with its flag.
func TestMigrateDownKeepsRows(t *testing.T) {
	t.Parallel()
	unused := config.Default()
	unused.DatabaseURL = dbtest.URL(t, database.SQLite)
	if err := (&migrateDown{Config: unused}).Run(t.Context()); err != nil {
		t.Errorf("of an unused database: %v", err)
	}
	for table, fill := range map[string]func(t *testing.T, db *database.DB) error{
		"agents": func(t *testing.T, db *database.DB) error {
			_, err := agent.Store{}.Create(t.Context(), db, agent.New{Profile: agent.Profile{Name: "Ada"}, At: time.Now()})
			return err
		},
		"admins": func(t *testing.T, db *database.DB) error {
			return db.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
				_, err := admin.Store{}.Create(ctx, tx, audit.Shell, "ada", "correct horse battery", time.Now())
				return err
			})
		},
	} {
		for _, kind := range dbtest.Kinds {
			t.Run(table+" on "+string(kind), func(t *testing.T) {
				t.Parallel()
				cfg := config.Default()
				cfg.DatabaseURL = dbtest.URL(t, kind)
				db := dbtest.OpenAt(t, cfg.DatabaseURL)
				if err := fill(t, db); err != nil {
					t.Fatal(err)
				}
				had, err := db.NewSelect().Table(table).Count(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				err = (&migrateDown{Config: cfg}).Run(t.Context())
				if err == nil || !strings.Contains(err.Error(), "pulsecast backup") || !strings.Contains(err.Error(), "--drop-everything") {
					t.Errorf("migrate down: %v", err)
				}
				if n, err := db.NewSelect().Table(table).Count(t.Context()); err != nil || n != had {
					t.Fatalf("%d rows are left in %s, %v; want %d", n, table, err, had)
				}
				if err := (&migrateDown{Config: cfg, DropEverything: true}).Run(t.Context()); err != nil {
					t.Error(err)
				}
				if applied, err := db.Applied(t.Context()); err != nil || len(applied) != 0 {
					t.Errorf("with --drop-everything, %v are applied, %v", applied, err)
				}
				if err := (&migrateDown{Config: cfg}).Run(t.Context()); err != nil {
					t.Errorf("of a database without tables: %v", err)
				}
			})
		}
	}
}

// TestMigrateDownBesideServer checks that migrate down leaves the SQLite file of a server alone.
func TestMigrateDownBesideServer(t *testing.T) {
	t.Parallel()
	cfg := config.Default()
	cfg.DatabaseURL = dbtest.URL(t, database.SQLite)
	db := dbtest.OpenAt(t, cfg.DatabaseURL)
	release, err := db.Claim()
	if err != nil {
		t.Fatal(err)
	}
	if err := (&migrateDown{Config: cfg, DropEverything: true}).Run(t.Context()); !errors.Is(err, database.ErrInUse) {
		t.Errorf("migrate down: %v", err)
	}
	if applied, err := db.Applied(t.Context()); err != nil || len(applied) == 0 {
		t.Errorf("%v are applied, %v", applied, err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
