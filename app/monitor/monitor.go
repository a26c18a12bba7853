// Package monitor collects the state of the service: queues, feeds, jobs and the disk. Metrics,
// health, alerts, the doctor and the admin pages all read it here, so that they agree.
package monitor

import (
	"context"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/worker"
)

// Snapshots reports what this node serves of a feed. A signal.Feed implements it.
type Snapshots interface{ Status() signal.Status }

// Options are the inputs of a Monitor.
type Options struct {
	DB    *database.DB
	Now   func() time.Time
	Feeds []Snapshots
	// BackupEvery is the time between two scheduled backups; 0 without a schedule.
	BackupEvery time.Duration
	// Archived is true if there is an archive.
	Archived bool
	// Disk reads the space on the disk of the database. It is nil if the database is not on this
	// machine.
	Disk func() (Disk, error)
}

// Monitor reads the state of the service. It is safe for concurrent use.
type Monitor struct {
	options Options
	started time.Time
}

// New returns a Monitor.
func New(o Options) *Monitor { return &Monitor{o, o.Now()} }

// Feed is what this node serves of a feed, and the state of its readings.
type Feed struct {
	signal.Status
	// Readings is the state over all nodes. It is zero before the first reading.
	Readings ingest.FeedState
}

// Snapshots returns what this node serves of each feed, without asking the database.
func (m *Monitor) Snapshots() []signal.Status {
	served := make([]signal.Status, len(m.options.Feeds))
	for i, f := range m.options.Feeds {
		served[i] = f.Status()
	}
	return served
}

// Feeds returns the state of each feed. If the database doesn't answer, Readings stay
// zero and the error says why.
func (m *Monitor) Feeds(ctx context.Context) ([]Feed, error) {
	var feeds []Feed
	var failed []error
	for _, served := range m.Snapshots() {
		readings, _, err := ingest.State(ctx, m.options.DB.Reader, served.Name)
		feeds, failed = append(feeds, Feed{served, readings}), append(failed, err)
	}
	return feeds, errors.Join(failed...)
}

// Readings returns the state of the readings of each feed. It leaves out a feed that no node has
// read yet.
func Readings(ctx context.Context, db bun.IDB) ([]ingest.FeedState, error) {
	var all []ingest.FeedState
	for _, feed := range []string{"markets", "news"} {
		state, found, err := ingest.State(ctx, db, feed)
		if err != nil {
			return nil, err
		}
		if found {
			all = append(all, state)
		}
	}
	return all, nil
}

// Queues returns the state of the queues in the database.
func (m *Monitor) Queues(ctx context.Context) (Queues, error) {
	return ReadQueues(ctx, m.options.DB.Reader, m.options.Now())
}

// Predictions counts the predictions of all agents by status.
func (m *Monitor) Predictions(ctx context.Context) (prediction.Totals, error) {
	return prediction.Store{}.Totals(ctx, m.options.DB.Reader)
}

// Jobs lists which node runs which job of the worker.
func (m *Monitor) Jobs(ctx context.Context) ([]worker.Held, error) {
	return worker.Leases(ctx, m.options.DB.Reader, m.options.Now())
}

// Backups is the state of the scheduled backups.
type Backups struct {
	backup.State
	Late bool // the latest backup is older than the schedule allows
}

// Troubled returns whether an operator must look at the backups.
func (b *Backups) Troubled() bool { return b.Late || b.Failing() }

// Backups returns the state of the scheduled backups. scheduled is false without a schedule. If the schedule has never
// run on any node, Since is the start of this process, so that a schedule that no worker follows becomes late.
func (m *Monitor) Backups(ctx context.Context) (b Backups, scheduled bool, err error) {
	if m.options.BackupEvery == 0 {
		return b, false, nil
	}
	b.State, err = backup.ReadState(ctx, m.options.DB.Reader)
	if b.Since.IsZero() {
		b.Since = m.started
	}
	b.Late = b.State.Late(m.options.Now(), m.options.BackupEvery)
	return b, true, err
}

// Archived reports whether there is an archive.
func (m *Monitor) Archived() bool { return m.options.Archived }

// Archive returns the state of the archive. kept is false without an archive.
func (m *Monitor) Archive(ctx context.Context) (st archive.Status, kept bool, err error) {
	if !m.Archived() {
		return st, false, nil
	}
	st, err = archive.ReadStatus(ctx, m.options.DB.Reader)
	return st, err == nil, err
}

// Disk reads the space on the disk that holds the SQLite file. ours is false on Postgres, whose
// disk is not on this machine.
func (m *Monitor) Disk() (room Disk, ours bool, err error) {
	if m.options.Disk == nil {
		return Disk{}, false, nil
	}
	room, err = m.options.Disk()
	return room, true, err
}
