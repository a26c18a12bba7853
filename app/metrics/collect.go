package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/ingest"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/queue"
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

func gauge(ch chan<- prometheus.Metric, d *prometheus.Desc, value float64, labels ...string) {
	ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// snapshots collects the state of the snapshots that this node serves.
type snapshots struct {
	monitor              *monitor.Monitor
	now                  func() time.Time
	age, records, stales *prometheus.Desc
}

func newSnapshots(o Options) *snapshots {
	return &snapshots{
		monitor: o.Monitor, now: o.Now,
		age: describe(
			"snapshot_age_seconds", "Time since the reading that this node serves; absent before the first.", "feed",
		),
		records: describe("snapshot_records", "Records in the snapshot that this node serves.", "feed"),
		stales:  describe("snapshot_stale", "1 if the snapshot is older than three intervals or missing.", "feed"),
	}
}

func (s *snapshots) Describe(ch chan<- *prometheus.Desc) {
	ch <- s.age
	ch <- s.records
	ch <- s.stales
}

func (s *snapshots) Collect(ch chan<- prometheus.Metric) {
	for _, f := range s.monitor.Snapshots() {
		if !f.AsOf.IsZero() {
			gauge(ch, s.age, s.now().Sub(f.AsOf).Seconds(), f.Name)
		}
		gauge(ch, s.records, float64(f.Records), f.Name)
		gauge(ch, s.stales, one(f.Stale), f.Name)
	}
}

const (
	// stateFor is how long a state is reused before the next query.
	stateFor = 15 * time.Second
	// stateTimeout bounds the queries, so that a scrape doesn't hang if the database does.
	stateTimeout = 5 * time.Second
)

// state is the state of the whole service according to the database.
type state struct {
	up          bool // the database answers
	complete    bool // every query succeeded
	predictions *prediction.Totals
	queues      *monitor.Queues
	feeds       []monitor.Feed
	backups     monitor.Backups
	archive     *archive.Status // nil without an archive
}

// states collects the state, which is the same on every node. If the database doesn't answer,
// database_up is 0 and the other metrics are absent. If a query fails or takes too long, state_complete
// is 0 and its metrics are absent, and also those of later queries.
type states struct {
	Options
	mu   sync.Mutex
	last state
	at   time.Time

	up, complete, predictions, baselines, baselinesAge, settlement, settlementAge *prometheus.Desc
	queue, queueAge, usage                                                        *prometheus.Desc
	succeeded, failures, dropped                                                  *prometheus.Desc
	backupAt, backupBytes, backupFailures, backupLate                             *prometheus.Desc
	sealed, sealDays, segments, sealFailures                                      *prometheus.Desc
}

func newStates(o Options) *states {
	return &states{
		Options:       o,
		up:            describe("database_up", "1 if the database answers."),
		complete:      describe("state_complete", "1 if every query of the state succeeded in time; if not, some metrics are absent."),
		predictions:   describe("predictions", "Predictions by status.", "status"),
		baselines:     describe("baselines_pending", "Predictions that wait for their baseline."),
		baselinesAge:  describe("baselines_pending_age_seconds", "How long the oldest prediction has waited; 0 if there is none."),
		settlement:    describe("settlement_queue", `Waiting for settlement: "market" counts ended markets with open predictions, "admin" counts predictions without a market past their horizon, 10,000 at most.`, "kind"),
		settlementAge: describe("settlement_lag_seconds", "How long the oldest item has waited for its settlement; 0 if there is none.", "kind"),
		queue:         describe("queue_depth", `Waiting items: "outcomes" counts decided markets not applied yet, "boards" ledger entries on no board, "reports" open reports.`, "queue"),
		queueAge:      describe("queue_age_seconds", "How long the oldest item has waited; 0 if there is none.", "queue"),
		usage:         describe("usage_waiting", `Not yet written by this node: "agents" counts agents with usage counts, "errors" counts recorded errors.`, "kind"),
		succeeded: describe(
			"ingest_last_success_timestamp_seconds", "Time of a feed's last successful reading on any node.", "feed",
		),
		failures: describe(
			"ingest_consecutive_failures", "Failed readings of a feed in a row, on any node.", "feed",
		),
		backupAt:       describe("backup_last_success_timestamp_seconds", "Time at which the latest scheduled backup began, on any node; absent before the first."),
		backupBytes:    describe("backup_size_bytes", "Size of the latest scheduled backup."),
		backupFailures: describe("backup_consecutive_failures", "Failed scheduled backups in a row; absent without a schedule."),
		backupLate:     describe("backup_late", "1 if the latest backup is older than the schedule allows; absent without a schedule."),
		sealed:         describe("archive_last_sealed_timestamp_seconds", "The end of the last sealed day of the archive; absent before the first."),
		sealDays:       describe("archive_days_waiting", "Days that have ended and aren't sealed; absent without an archive."),
		segments:       describe("archive_segments_waiting", "Segments in the database that wait to be sealed; absent without an archive."),
		sealFailures:   describe("archive_consecutive_failures", "Runs of the archive's job that failed in a row; absent without an archive."),
		dropped: describe(
			"ingest_dropped_records", "Malformed records that the last successful reading dropped.", "feed", "reason",
		),
	}
}

func (s *states) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		s.up, s.complete, s.predictions, s.baselines, s.baselinesAge, s.settlement, s.settlementAge,
		s.queue, s.queueAge, s.usage, s.succeeded, s.failures, s.dropped,
		s.backupAt, s.backupBytes, s.backupFailures, s.backupLate,
		s.sealed, s.sealDays, s.segments, s.sealFailures,
	} {
		ch <- d
	}
}

func (s *states) Collect(ch chan<- prometheus.Metric) {
	now := s.Now()
	agents, errors := s.Usage()
	gauge(ch, s.usage, float64(agents), "agents")
	gauge(ch, s.usage, float64(errors), "errors")
	got := s.read(now)
	gauge(ch, s.up, one(got.up))
	gauge(ch, s.complete, one(got.complete))
	if p := got.predictions; p != nil {
		gauge(ch, s.predictions, float64(p.Open), "open")
		gauge(ch, s.predictions, float64(p.Resolved), "resolved")
		gauge(ch, s.predictions, float64(p.Void), "void")
	}
	if got.queues != nil {
		s.collectQueues(ch, got.queues, now)
	}
	s.collectBackups(ch, &got.backups)
	s.collectArchive(ch, got.archive, now)
	for _, f := range got.feeds {
		if r := f.Readings; r.Feed != "" {
			s.collectReadings(ch, &r)
		}
	}
}

func (s *states) collectQueues(ch chan<- prometheus.Metric, queues *monitor.Queues, now time.Time) {
	gauge(ch, s.baselines, float64(queues.Baselines.Count))
	gauge(ch, s.baselinesAge, queues.Baselines.Age(now).Seconds())
	for kind, q := range map[string]queue.Depth{"market": queues.Markets, "admin": queues.Due} {
		gauge(ch, s.settlement, float64(q.Count), kind)
		gauge(ch, s.settlementAge, q.Age(now).Seconds(), kind)
	}
	for name, q := range map[string]queue.Depth{"outcomes": queues.Outcomes, "boards": queues.Boards, "reports": queues.Reports} {
		gauge(ch, s.queue, float64(q.Count), name)
		gauge(ch, s.queueAge, q.Age(now).Seconds(), name)
	}
}

func (s *states) collectBackups(ch chan<- prometheus.Metric, b *monitor.Backups) {
	if b.Since.IsZero() {
		return // no schedule
	}
	if !b.At.IsZero() {
		gauge(ch, s.backupAt, float64(b.At.UnixMilli())/1000)
		gauge(ch, s.backupBytes, float64(b.Bytes))
	}
	gauge(ch, s.backupFailures, float64(b.Failures))
	gauge(ch, s.backupLate, one(b.Late))
}

func (s *states) collectArchive(ch chan<- prometheus.Metric, st *archive.Status, now time.Time) {
	if st == nil {
		return
	}
	if _, end, err := archive.Bounds(st.LastSealed); err == nil {
		gauge(ch, s.sealed, float64(end.Unix()))
	}
	gauge(ch, s.sealDays, float64(st.DaysWaiting(now)))
	gauge(ch, s.segments, float64(st.Waiting))
	gauge(ch, s.sealFailures, float64(st.Failures))
}

func (s *states) collectReadings(ch chan<- prometheus.Metric, r *ingest.FeedState) {
	if !r.SucceededAt.IsZero() {
		gauge(ch, s.succeeded, float64(r.SucceededAt.UnixMilli())/1000, r.Feed)
	}
	gauge(ch, s.failures, float64(r.Failures), r.Feed)
	for reason, n := range r.Dropped {
		gauge(ch, s.dropped, float64(n), r.Feed, reason)
	}
}

// read queries once for all scrapes at about the same time.
func (s *states) read(now time.Time) state {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.at.IsZero() && now.Sub(s.at) < stateFor {
		return s.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), stateTimeout)
	defer cancel()
	s.last, s.at = s.ask(ctx), now
	return s.last
}

// ask reads the queues last, because their queries take longest.
func (s *states) ask(ctx context.Context) (got state) {
	if got.up = s.DB.Check(ctx) == nil; !got.up {
		return got
	}
	totals, err := s.Monitor.Predictions(ctx)
	if err != nil {
		return got
	}
	got.predictions = &totals
	if got.backups, _, err = s.Monitor.Backups(ctx); err != nil {
		return got
	}
	kept, archived, err := s.Monitor.Archive(ctx)
	if err != nil {
		return got
	}
	if archived {
		got.archive = &kept
	}
	if got.feeds, err = s.Monitor.Feeds(ctx); err != nil {
		return got
	}
	queues, err := s.Monitor.Queues(ctx)
	if err != nil {
		return got
	}
	got.queues, got.complete = &queues, true
	return got
}
