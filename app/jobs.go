package app

import (
	"context"
	"errors"
	"time"

	"github.com/pulsecast/pulsecast/app/alert"
	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/backup"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/partition"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/release"
	"github.com/pulsecast/pulsecast/app/retention"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/update"
	"github.com/pulsecast/pulsecast/app/worker"
)

// marketsTimeout bounds one reading of the markets. A source that hangs takes up to two minutes, and then markets must
// still settle.
const marketsTimeout = 3 * time.Minute

// boardsTimeout bounds one build of all boards. With 10,000 agents on SQLite, it is well over a thousand transactions.
const boardsTimeout = 5 * time.Minute

// jobs returns what the worker runs. Each job runs on one node at a time.
func (a *App) jobs() []worker.Job {
	every := func(name string, interval time.Duration, run func(context.Context) error) worker.Job {
		return worker.Job{Name: name, Interval: interval, Run: func(ctx context.Context) (time.Duration, error) { return 0, run(ctx) }}
	}
	boards := every("leaderboard", 2*time.Second, a.buildBoards)
	boards.Timeout = boardsTimeout
	jobs := []worker.Job{
		{Name: "markets", Interval: a.cfg.MarketsInterval, Timeout: marketsTimeout, Outbound: true, Run: a.Markets.Tick, Planned: a.Markets.Planned},
		{Name: "news", Interval: a.cfg.NewsInterval, Outbound: true, Run: a.News.Tick, Planned: a.News.Planned},
		boards,
		{Name: "consensus", Interval: 2 * time.Second, Run: a.countConsensus},
		every("reveal", 2*time.Second, a.reveal),
		{Name: "updates", Interval: 2 * time.Second, Run: a.numberUpdates},
		every("assignments", time.Minute, a.assign),
		{Name: "activity", Interval: time.Minute, Run: a.countActivity},
		every("parts", 30*time.Second, a.publishParts),
		every("upkeep", 10*time.Minute, a.prune),
		every("partitions", time.Hour, a.keepPartitions),
	}
	if database.IsPostgres(a.DB) {
		jobs = append(jobs, worker.Job{Name: "search", Interval: 2 * time.Second, Run: a.mergeWords})
	}
	if alerts := a.alerts(); alerts != nil {
		job := every("alerts", alert.Interval, alerts.Tick)
		job.Outbound = true
		jobs = append(jobs, job)
	}
	if s := a.sealer(); s != nil {
		jobs = append(jobs, worker.Job{Name: "archive", Interval: archive.Interval, Timeout: archive.Timeout, Outbound: true, Run: a.seal(s)},
			worker.Job{Name: "recording", Interval: ingest.RecordingInterval, Timeout: ingest.RecordingTimeout, Outbound: true, Run: a.recording.Tick})
	}
	if s := a.backups(); s != nil {
		jobs = append(jobs, worker.Job{Name: "backup", Interval: backup.Interval, Timeout: backup.Timeout, Run: s.Tick})
	}
	for i := range jobs {
		jobs[i].Run = a.tracing.Task(jobs[i].Name, jobs[i].Run)
		jobs[i] = a.metrics.Job(jobs[i])
	}
	return jobs
}

// sealer returns nil if there is no archive.
func (a *App) sealer() *archive.Sealer {
	if a.archive == nil {
		return nil
	}
	return &archive.Sealer{
		DB: a.DB, Storage: archive.Watch(a.archive), Exporters: a.exporters(), Posts: a.posts, Now: a.now, Log: a.Log,
	}
}

// exporters write the tables of a sealed day that don't come from observations.
func (a *App) exporters() []archive.Exporter {
	return []archive.Exporter{&release.Exporter{
		DB: a.DB, Interval: a.cfg.MarketsInterval, MinLiquidity: float64(a.cfg.RankedMinLiquidity),
	}}
}

// seal returns the function that the sealing job runs. If it fails, the job is handed over: another node may reach an
// archive that doesn't answer this one, or have files that are missing here.
func (a *App) seal(s *archive.Sealer) func(context.Context) (time.Duration, error) {
	return func(ctx context.Context) (time.Duration, error) {
		if a.BeforeSealing != nil {
			if err := a.BeforeSealing(ctx); err != nil {
				return 0, err
			}
		}
		next, err := s.Tick(ctx)
		err = errors.Join(err, a.News.DropErased(ctx)) // the sealer erases posts that their source has deleted
		if _, unsealed := errors.AsType[*archive.Unsealed](err); unsealed {
			err = worker.HandOver(err)
		}
		return next, err
	}
}

// backups returns nil if no backups are scheduled.
func (a *App) backups() *backup.Schedule {
	if a.cfg.BackupEvery == 0 {
		return nil
	}
	return &backup.Schedule{
		DB: a.DB, Database: a.cfg.DatabaseURL, Dir: a.cfg.BackupDir, Every: a.cfg.BackupEvery, Keep: a.cfg.BackupKeep,
		Now: a.now, Log: a.Log,
	}
}

// buildBoards updates the boards, and records how long it took in the metrics if there was something to build.
func (a *App) buildBoards(ctx context.Context) error {
	start := time.Now()
	built, err := a.Boards.Tick(ctx)
	if built && err == nil {
		a.metrics.LeaderboardBuilt(time.Since(start))
	}
	return err
}

// consensusEvery is the time between two counts of the consensus, if the first was quick. The job's
// interval is longer, because it decides the life of the lease, which would be too short otherwise.
const consensusEvery = 250 * time.Millisecond

// countConsensus counts the consensus of changed markets. It pauses long enough to be busy for at
// most a tenth of the time.
func (a *App) countConsensus(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	_, err := a.consensus.Tick(ctx)
	return max(consensusEvery, 9*time.Since(begin)), err
}

// reveal publishes withheld predictions that are due, even while no source answers.
func (a *App) reveal(ctx context.Context) error { return prediction.RevealDue(ctx, a.DB, a.now()) }

// publishParts publishes the confidences that have waited long enough for a thesis.
func (a *App) publishParts(ctx context.Context) error {
	return a.publishPartsBefore(ctx, a.now().Add(-prediction.PartPatience))
}

// PublishParts publishes at once every confidence that waits for a thesis. Call it on an App
// without a worker, or with a clock that stands still.
func (a *App) PublishParts(ctx context.Context) error { return a.publishPartsBefore(ctx, a.now()) }

func (a *App) publishPartsBefore(ctx context.Context, before time.Time) error {
	for more := true; more; {
		var err error
		if more, err = a.publisher.PublishParts(ctx, before); err != nil {
			return err
		}
	}
	return nil
}

// updatesEvery is the time between two looks for updates without a number. The job's interval is
// longer for the same reason as that of consensusEvery.
const updatesEvery = 250 * time.Millisecond

func (a *App) numberUpdates(ctx context.Context) (time.Duration, error) {
	return updatesEvery, update.NewSequencer(a.DB, a.now).Tick(ctx)
}

// mergeWords adds the words of new predictions to the search index.
func (a *App) mergeWords(ctx context.Context) (time.Duration, error) {
	return time.Second, prediction.MergeWords(ctx, a.DB)
}

// monthEvery is the time between two counts of the predictions of 30 days.
const monthEvery = time.Hour

// countActivity counts the activity shown in the admins' table of agents. It pauses long enough to
// be busy for less than a twentieth of the time.
func (a *App) countActivity(ctx context.Context) (time.Duration, error) {
	begin := time.Now()
	month := a.monthCounted.IsZero() || begin.Sub(a.monthCounted) >= monthEvery
	err := prediction.CountActivity(ctx, a.DB, a.now(), month)
	if err == nil && month {
		a.monthCounted = begin
	}
	return max(time.Minute, 20*time.Since(begin)), err
}

// assign closes the assignments that are due, chooses new ones once a day, and announces those that
// have opened. It chooses only after a whole reading is stored, and only markets of a fresh one. So after a stop or an
// outage of the source, none is chosen by its old price.
func (a *App) assign(ctx context.Context) error {
	var store assignment.Store
	_, err := store.CloseDue(ctx, a.DB, a.now())
	if !a.Markets.Replicator.Feed().Stale() {
		since := a.now().Add(-signal.StaleIntervals * a.cfg.MarketsInterval)
		_, chooseErr := store.ChooseDaily(ctx, a.DB, a.now(), since, float64(a.cfg.RankedMinLiquidity))
		err = errors.Join(err, chooseErr)
	}
	return errors.Join(err, store.Announce(ctx, a.DB, a.now()))
}

func (a *App) keepPartitions(ctx context.Context) error { return partition.Tick(ctx, a.DB, a.now()) }

func (a *App) prune(ctx context.Context) error {
	return retention.Run(ctx, retention.Options{DB: a.DB, Publisher: a.publisher, Now: a.now, Archived: a.archive != nil})
}
