package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/monitor"
)

func (d *doctor) database(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 2*checkTimeout)
	defer cancel()
	path, embedded := d.cfg.SQLitePath()
	if embedded && !d.sqliteFile(path) {
		return
	}
	db, err := database.Open(ctx, d.cfg.DatabaseURL)
	if err != nil {
		advice := "check DATABASE_URL, and that Postgres runs and accepts connections from this host"
		if embedded {
			advice = "the file is not a Pulsecast database or is damaged. Restore it from a backup, or move it away"
		}
		d.say(fail, "database", "%v: %s", err, advice)
		return
	}
	defer db.Close()
	d.wal(ctx, db)
	d.writable(ctx, db)
	if d.migrations(ctx, db) {
		d.readings(ctx, db)
		d.queues(ctx, db)
		d.sealed(ctx, db)
	}
	if db.Pooled() {
		d.say(fine, "pooler", "connections go through a pooler. Publishing costs less without it")
	}
	if !embedded {
		d.postgres(ctx, db, time.Now)
	}
}

// postgres checks what only a Postgres database has: a clock and perhaps a replica.
func (d *doctor) postgres(ctx context.Context, db *database.DB, now func() time.Time) {
	d.databaseClock(ctx, db, now)
	if d.cfg.DatabaseReplicaURL != "" {
		d.replica(ctx, db)
	}
}

// databaseClock compares this machine's clock with the database's, which leases follow.
func (d *doctor) databaseClock(ctx context.Context, db *database.DB, now func() time.Time) {
	offset, err := database.ClockOffset(ctx, db, now)
	if err != nil {
		d.say(warn, "clock", "not compared with the database's: %v", err)
		return
	}
	d.clock.add(-offset)
	if offset.Abs() > maxSkew {
		d.say(fail, "clock", "this clock is %s off the database's: a node here runs no jobs. Run an NTP client on both machines", offset.Abs().Round(time.Second))
	}
}

func (d *doctor) replica(ctx context.Context, db *database.DB) {
	if err := db.AddReplica(d.cfg.DatabaseReplicaURL); err != nil {
		d.say(fail, "replica", "%v", err)
		return
	}
	state, err := generation.FindReplica(ctx, db, d.cfg.ReplicaMaxLag)
	switch {
	case err != nil:
		d.say(warn, "replica", "not checked: %v", err)
	case state.Cause == nil:
		d.say(fine, "replica", "follows the primary, and public reads go to it")
	case database.Unavailable(state.Cause):
		d.say(warn, "replica", "%v: check DATABASE_REPLICA_URL, and that the replica runs and accepts connections from this host. Until then reads go to the primary", state.Cause)
	default:
		d.say(warn, "replica", "%s", state.Warning())
	}
}

// sqliteFile checks the file, its folder and its disk. there is false if there is no file to open.
func (d *doctor) sqliteFile(path string) (there bool) {
	folder := filepath.Dir(path)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		if parent := nearest(folder); syscall.Access(parent, accessWrite) != nil {
			d.say(fail, "database", "%s does not exist and can't be created: let this user write to %s, or change DATABASE_URL", path, parent)
		} else {
			d.say(fine, "database", "%s does not exist yet: the first start creates it", path)
		}
		return false
	case err != nil:
		d.say(fail, "database", "%v: let this user read it", err)
		return false
	case syscall.Access(path, accessWrite) != nil || syscall.Access(folder, accessWrite) != nil:
		d.say(fail, "database", "%s or its folder can't be written: make the service's user the owner of both", path)
		return false
	case info.Mode().Perm()&0o002 != 0:
		d.say(warn, "database", "%s can be written by every user: chmod o-w it", path)
	}
	if room, err := monitor.DiskOf(folder); err == nil && room.Full() {
		d.say(warn, "disk", "only %.1f GB are free on the disk of the database: free some space", float64(room.Free)/(1<<30))
	}
	if database.Served(path) {
		d.say(fine, "database", "a server or worker is running on it")
	}
	return true
}

const accessWrite = 2 // W_OK of access(2)

// nearest returns the folder itself or its nearest parent that exists.
func nearest(folder string) string {
	for {
		if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// wal reports a SQLite file that was opened without its latest commits.
func (d *doctor) wal(ctx context.Context, db *database.DB) {
	lost := db.LostWAL()
	if lost.IsZero() {
		return
	}
	state := ""
	if err := db.CheckIntegrity(ctx); ctx.Err() == nil && err != nil {
		state = "; the file is damaged: " + err.Error()
	}
	d.say(fail, "database", `the file was copied while a server used it, or has lost its -wal file (in use since %s)%s.
		The latest publications may be missing. If the -wal file still exists, put it beside this file before a server starts.
		Otherwise restore a backup made by pulsecast backup. To accept the loss, start the service on this file`,
		lost.Format(time.RFC3339), state)
}

// writable takes the write lock and releases it.
func (d *doctor) writable(ctx context.Context, db *database.DB) {
	undo := errors.New("roll back the check")
	start := time.Now()
	err := db.InTx(ctx, func(ctx context.Context, tx bun.Tx) error {
		if database.IsPostgres(tx) {
			if _, err := tx.ExecContext(ctx, "CREATE TEMPORARY TABLE doctor (n INT) ON COMMIT DROP"); err != nil {
				return err
			}
		}
		return undo
	})
	took := time.Since(start).Round(time.Millisecond)
	switch {
	case !errors.Is(err, undo):
		d.say(fail, "database", "can't write to %s: %v. Look for a process that holds a transaction open", db.Kind, err)
	case took > time.Second:
		d.say(warn, "database", "writing to %s took %s: another process may hold the write lock", db.Kind, took)
	default:
		d.say(fine, "database", "%s answers and can be written (%s)", db.Kind, took)
	}
}

// migrations reports whether the schema is up to date.
func (d *doctor) migrations(ctx context.Context, db *database.DB) (done bool) {
	all, err := db.Migrations(ctx)
	if err != nil {
		d.say(fail, "migrations", "%v", err)
		return false
	}
	pending := 0
	for _, m := range all {
		if !m.Applied {
			pending++
		}
	}
	if pending > 0 {
		d.say(warn, "migrations", "%d of %d are pending: serve applies them when it starts, or run pulsecast migrate up", pending, len(all))
		return false
	}
	d.say(fine, "migrations", "all %d are applied", len(all))
	return true
}

// readings reports the latest readings of the sources by any node.
func (d *doctor) readings(ctx context.Context, db *database.DB) {
	feeds, err := monitor.Readings(ctx, db.Reader)
	if err != nil {
		d.say(fail, "readings", "%v", err)
	}
	for _, f := range feeds {
		last := "no successful reading yet"
		if !f.SucceededAt.IsZero() {
			last = "last successful reading " + ago(f.SucceededAt)
		}
		switch {
		case f.Partial() && f.Failures == 0:
			d.say(warn, "readings", "%s: %s. A source was replaced by the next one (%s)", f.Feed, last, f.LastError)
		case f.Partial():
			d.say(warn, "readings", "%s: %s. A part of it could not be read (%s, %d in a row)", f.Feed, last, f.LastError, f.Failures)
		case f.LastError != "":
			d.say(warn, "readings", "%s: %s. The latest reading failed (%s, %d in a row)", f.Feed, last, f.LastError, f.Failures)
		default:
			d.say(fine, "readings", "%s: %s", f.Feed, last)
		}
	}
}

func (d *doctor) queues(ctx context.Context, db *database.DB) {
	now := time.Now()
	q, err := monitor.ReadQueues(ctx, db.Reader, now)
	if err != nil {
		d.say(fail, "queues", "%v", err)
		return
	}
	if q.Baselines.Age(now) > monitor.BaselinesLate {
		d.say(warn, "queues", "%s predictions wait for their baseline, the oldest published %s: look in the log for messages of the job markets",
			q.Baselines, ago(q.Baselines.Oldest))
	}
	v := fine
	if q.SettlementAge(now) > monitor.SettlementLate {
		v = warn
	}
	if q.Markets.Count+q.Due.Count == 0 {
		d.say(v, "queues", "nothing waits for a ruling")
		return
	}
	d.say(v, "queues", "waiting for a ruling: ended markets %s, predictions past their horizon %s; see %s/admin/settlement",
		q.Markets, q.Due, d.cfg.BaseURL)
}

func ago(at time.Time) string { return time.Since(at).Round(time.Second).String() + " ago" }
