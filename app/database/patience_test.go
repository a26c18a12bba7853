package database_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// lockNotAvailable is the code of a statement that has waited for a lock for too long.
const lockNotAvailable = "55P03"

type lockedRow struct {
	Name string `bun:",type:text"`
}

// lockedStatements use a locked table in each of the ways in which higher packages use one.
var lockedStatements = map[string]func(ctx context.Context, db *database.DB) error{
	"a query": func(ctx context.Context, db *database.DB) error {
		_, _, err := database.Setting(ctx, db.Reader, "name")
		return err
	},
	"a statement": func(ctx context.Context, db *database.DB) error {
		return database.SetSetting(ctx, db, "name", "value")
	},
	"a planned query": func(ctx context.Context, db *database.DB) error {
		p := database.NewPlanned(db.Reader)
		var value string
		return p.Scan(ctx, db.Reader.NewSelect().Table("settings").Column("value").Where("name = ?", p.Value("name")), &value)
	},
	"rows": func(ctx context.Context, db *database.DB) error {
		var got []lockedRow
		return database.ScanRows(ctx, db, "SELECT v.name FROM v JOIN settings AS s ON s.name = v.name", []lockedRow{{"name"}}, &got)
	},
	"a transaction": func(ctx context.Context, db *database.DB) error {
		return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error { return database.SetSetting(ctx, tx, "name", "value") })
	},
	"a snapshot": func(ctx context.Context, db *database.DB) error {
		return db.RunInTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, func(ctx context.Context, tx bun.Tx) error {
			_, _, err := database.Setting(ctx, tx, "name")
			return err
		})
	},
}

// TestLockedTable checks how long statements wait for a table that an ALTER TABLE holds, directly and
// through PgBouncer. Statements of a service give up, unless their context is patient. Statements of a
// command wait. Requests and jobs take turns with the same connections.
func TestLockedTable(t *testing.T) {
	t.Parallel()
	const each = 2 // connections, because the breaker needs one of dbtest.PoolerConnections
	for name, pooled := range map[string]bool{"direct": false, "pooled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := dbtest.URL(t, database.Postgres)
			address := direct
			if pooled {
				address = dbtest.StartPooler(t, direct, "transaction")
			}
			holder, service, command := dbtest.OpenAt(t, direct), dbtest.OpenAt(t, address), dbtest.OpenAt(t, address)
			if _, err := holder.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := database.SetSetting(t.Context(), holder, "name", "value"); err != nil {
				t.Fatal(err)
			}
			if pooled {
				fillPooler(t, command)
			}
			if err := service.Start(t.Context(), slog.New(slog.DiscardHandler)); err != nil {
				t.Fatal(err)
			}
			service.SetMaxOpenConns(each)
			command.SetMaxOpenConns(each)
			for range 2 {
				lock, err := holder.BeginTx(t.Context(), nil)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := lock.ExecContext(t.Context(), "ALTER TABLE settings ALTER COLUMN value SET NOT NULL"); err != nil {
					t.Fatal(err)
				}
				useLocked(t, context.Background(), service, func(err error) bool {
					e, ok := errors.AsType[*pgconn.PgError](err)
					return ok && e.Code == lockNotAvailable && database.Unavailable(err)
				})
				var patient sync.WaitGroup
				succeeds := func(err error) bool { return err == nil }
				patient.Go(func() { useLocked(t, database.Patient(context.Background()), service, succeeds) })
				patient.Go(func() { useLocked(t, context.Background(), command, succeeds) })
				untilWaiting(t, holder, 2*each, time.Second)
				if err := lock.Rollback(); err != nil {
					t.Fatal(err)
				}
				patient.Wait()
			}
		})
	}
}

// fillPooler lets a pooler open all its connections to Postgres. On a busy machine, opening one can take so long that
// the breaker opens, because its probe waits for it.
func fillPooler(t *testing.T, db *database.DB) {
	var open []bun.Tx
	for range dbtest.PoolerConnections {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, tx)
	}
	for _, tx := range open {
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
	}
}

// useLocked runs all statements at once and checks how each ends.
func useLocked(t *testing.T, ctx context.Context, db *database.DB, right func(error) bool) {
	var all sync.WaitGroup
	for name, use := range lockedStatements {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if err := use(ctx, db); !right(err) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
}

// untilWaiting waits until n statements have waited for a lock for some time.
func untilWaiting(t *testing.T, db *database.DB, n int, since time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		var waiting int
		err := db.NewRaw(`SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'settings'::regclass
			AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
			AND waitstart < clock_timestamp() - ? * interval '1 microsecond'`, since.Microseconds()).Scan(t.Context(), &waiting)
		if err != nil {
			t.Fatal(err)
		}
		if waiting == n {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d statements wait, want %d", waiting, n)
		}
	}
}
