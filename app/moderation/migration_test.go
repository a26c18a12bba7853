package moderation_test

import (
	"context"
	"testing"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/admin"
	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/audit"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// TestMigrationsOneByOne: with rows in place the later migrations go down one after
// another and up again. Down, hidden profiles are public again and admins without a
// password are gone; up, every agent is found by its name.
func TestMigrationsOneByOne(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		ctx := t.Context()
		ada, ids := predict(t, db, prediction.Prediction{Title: "One", Evidence: []prediction.Evidence{}})
		byReader(t, db, ids[0], "192.0.2.1")
		inTx(t, db, func(ctx context.Context, tx bun.Tx) error {
			if _, err := (admin.Store{}).Create(ctx, tx, audit.Shell, "olaf", "correct horse battery", start); err != nil {
				return err
			}
			_, err := agent.Store{}.SetVeil(ctx, tx, ada.ID, agent.VeilsAll, start)
			return err
		})
		if _, _, err := (admin.Store{}).SignInPerson(ctx, db, identity.Person{Issuer: "https://id.example", Subject: "1", Name: "eve"}, "192.0.2.1", start); err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(ctx, "UPDATE bun_migrations SET group_id = id"); err != nil {
			t.Fatal(err)
		}
		for last := "later"; last > "20261121000009"; {
			names, err := db.Rollback(ctx)
			if err != nil || len(names) != 1 {
				t.Fatal(names, err)
			}
			last = names[0][:len("20261121000009")]
		}
		var name string
		if err := db.NewRaw("SELECT name FROM agents WHERE id = ?", ada.ID).Scan(ctx, &name); err != nil || name != "Ada" {
			t.Errorf("down: %q, %v", name, err)
		}
		var admins []string
		if err := db.NewRaw("SELECT name FROM admins").Scan(ctx, &admins); err != nil || len(admins) != 1 || admins[0] != "olaf" {
			t.Errorf("down: admins %q, %v", admins, err)
		}
		if names, err := db.Migrate(ctx); err != nil || len(names) < 4 {
			t.Fatal(names, err)
		}
		for _, renamed := range []string{"Ada", "Lovelace"} {
			if _, err := db.ExecContext(ctx, "UPDATE agents SET name = ? WHERE id = ?", renamed, ada.ID); err != nil {
				t.Fatal(err)
			}
			found, err := agent.Store{}.List(ctx, db.Reader, agent.Filter{Q: renamed, Limit: 5})
			if err != nil || len(found) != 1 || found[0].Veil != agent.Unveiled {
				t.Errorf("up: %q finds %+v, %v", renamed, found, err)
			}
		}
	})
}
