// Package demo is the bundled sample world of "serve --demo": made-up markets, news and agents with a track
// record. All of it is marked as samples and dated relative to the first start.
//
// Only data from outside is made up: prices, posts, the agents' predictions, and how markets ended. Everything
// else is computed by the same code as for live data. That code runs through the sample's past day by day:
// settlement fixes the baselines and scores, and the leaderboard builds its boards. So every number of the demo
// can be recomputed.
//
// After the first start the same code continues the world, until a live source answers for the first time: prices
// move, and markets close and are decided; see MarketSource.
package demo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/agent"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
)

// The first two settings mark a database as the demo's, and the last one as another's.
const (
	settingStart = "demo"       // the time of the first start, RFC 3339
	settingSteps = "demo_steps" // how many steps of the seeding are stored
	settingLive  = "live"       // the time of the first start without the demo, RFC 3339
)

// ErrNotEmpty says that a database is for other data, with which sample data must never be mixed.
var ErrNotEmpty = errors.New("--demo: this database was started without --demo, or holds data that isn't from the demo. Set DATABASE_URL to an empty database")

// MarkLive records that a database was started without the demo, so that Seed refuses it. It does nothing if the
// database holds demo data.
func MarkLive(ctx context.Context, db *database.DB, now time.Time) error {
	if marked, err := Marked(ctx, db.Reader); marked || err != nil {
		return err
	}
	if _, live, err := database.Setting(ctx, db.Reader, settingLive); live || err != nil {
		return err
	}
	return db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := database.AddSetting(ctx, tx, settingLive, now.UTC().Format(time.RFC3339))
		return err
	})
}

// Seed fills an empty database with the sample world as of now. It does nothing if the database already has it.
// It completes a Seed that was interrupted, as of that Seed's time. Seed returns ErrNotEmpty if the database
// was started without the demo, or holds any other agents, markets or predictions.
//
// If several nodes start together, the first one does the work and the others wait.
func Seed(ctx context.Context, db *database.DB, now time.Time) (err error) {
	unlock, err := lock(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	start, err := firstStart(ctx, db, now)
	if err != nil {
		return err
	}
	done, err := progress(ctx, db, settingSteps)
	if err != nil || done >= stepCount {
		return err
	}
	if err := newSeeding(db, start).run(ctx, done); err != nil {
		return fmt.Errorf("seed the demo: %w", err)
	}
	return nil
}

// seedLock is the key of the advisory lock that Seed holds on Postgres. It is released with the connection. A
// SQLite file has only one server.
const seedLock = 7_305_842_314

func lock(ctx context.Context, db *database.DB) (unlock func() error, err error) {
	if db.Kind == database.SQLite {
		return func() error { return nil }, nil
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock the demo: %w", err)
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_advisory_lock(?)", seedLock); err != nil {
		return nil, errors.Join(fmt.Errorf("lock the demo: %w", err), conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "SELECT pg_advisory_unlock(?)", seedLock)
		return errors.Join(err, conn.Close())
	}, nil
}

// Marked reports whether a database holds demo data, complete or not.
func Marked(ctx context.Context, db bun.IDB) (bool, error) {
	_, marked, err := database.Setting(ctx, db, settingStart)
	return marked, err
}

// firstStart returns the time that the sample's dates are relative to. It is the stored time, or now if the
// database is empty.
func firstStart(ctx context.Context, db *database.DB, now time.Time) (start time.Time, err error) {
	err = db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		marked, err := Marked(ctx, tx)
		if err != nil {
			return err
		}
		if !marked {
			if err := checkEmpty(ctx, tx); err != nil {
				return err
			}
			for name, value := range map[string]string{settingStart: now.UTC().Format(time.RFC3339), settingSteps: "0"} {
				if err := database.SetSetting(ctx, tx, name, value); err != nil {
					return err
				}
			}
		}
		text, _, err := database.Setting(ctx, tx, settingStart)
		if err != nil {
			return err
		}
		start, err = time.Parse(time.RFC3339, text)
		return err
	})
	if err != nil && !errors.Is(err, ErrNotEmpty) {
		err = fmt.Errorf("mark the demo: %w", err)
	}
	return start, err
}

func checkEmpty(ctx context.Context, db bun.IDB) error {
	if _, live, err := database.Setting(ctx, db, settingLive); err != nil {
		return err
	} else if live {
		return ErrNotEmpty
	}
	for _, q := range []*bun.SelectQuery{
		agent.Select(db).Where("a.kind = ?", agent.Ordinary),
		market.Select(db),
		prediction.Select(db),
	} {
		exists, err := q.Exists(ctx)
		if err != nil {
			return err
		}
		if exists {
			return ErrNotEmpty
		}
	}
	return nil
}

// progress returns the number in a setting, or 0 if it isn't set.
func progress(ctx context.Context, db bun.IDB, setting string) (int, error) {
	text, ok, err := database.Setting(ctx, db, setting)
	if err != nil || !ok {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("setting %s: %w", setting, err)
	}
	return n, nil
}
