// Package monitor collects the state of the service from its owners: queues, feeds, jobs
// and the disk. Metrics, health, alerts, the doctor and the pages for admins read it here,
// so that they agree.
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

// Snapshots says what this node serves of a feed. A signal.Feed does.
type Snapshots interface{ Status() signal.Status }

// Options are what a Monitor reads.
type Options struct {
	DB    *database.DB
	Now   func() time.Time
	Feeds []Snapshots
	// BackupEvery is the time between two scheduled backups; 0 without a schedule.
	BackupEvery time.Duration
	// Archived reports whether there is an archive.
	Archived bool
	// Disk reads the file system of the database; nil if it isn't ours.
	Disk func() (Disk, error)
}

// Monitor reads the state of the service. It keeps nothing and is safe for concurrent use.
type Monitor struct{ options Options }

// New returns a Monitor.
func New(o Options) *Monitor { return &Monitor{o} }

// Feed is what this node serves of a feed, and how its readings go.
type Feed struct {
	signal.Status
	// Readings are those of any node; zero before the first one.
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

// Readings returns how the readings of each feed go. A feed that no node has read is
// missing.
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

// Queues returns what waits in the database.
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

// Backups is how scheduled backups go.
type Backups struct {
	backup.State
	Late bool // none was made for longer than the schedule demands
}

// Troubled reports whether an operator should look at them.
func (b *Backups) Troubled() bool { return b.Late || b.Failing() }

// Backups returns how scheduled backups go. It returns false without a schedule.
func (m *Monitor) Backups(ctx context.Context) (b Backups, scheduled bool, err error) {
	if m.options.BackupEvery == 0 {
		return b, false, nil
	}
	b.State, err = backup.ReadState(ctx, m.options.DB.Reader)
	b.Late = b.State.Late(m.options.Now(), m.options.BackupEvery)
	return b, true, err
}

// Archive returns how the archive goes. It returns false without one.
func (m *Monitor) Archive(ctx context.Context) (st archive.Status, kept bool, err error) {
	if !m.options.Archived {
		return st, false, nil
	}
	st, err = archive.ReadStatus(ctx, m.options.DB.Reader)
	return st, err == nil, err
}

// Disk reads the file system that holds the SQLite file. It returns false on Postgres,
// whose disk isn't ours to watch.
func (m *Monitor) Disk() (room Disk, ours bool, err error) {
	if m.options.Disk == nil {
		return Disk{}, false, nil
	}
	room, err = m.options.Disk()
	return room, true, err
}
