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

var (
	snapshotAge     = describe("snapshot_age_seconds", "Time since the reading that this node serves; absent before the first.", "feed")
	snapshotRecords = describe("snapshot_records", "Records in the snapshot that this node serves.", "feed")
	snapshotStale   = describe("snapshot_stale", "1 if the snapshot is older than three intervals or missing.", "feed")
)

// snapshots collects the state of the snapshots that this node serves.
type snapshots struct{ Options }

func (snapshots) Describe(ch chan<- *prometheus.Desc) {
	ch <- snapshotAge
	ch <- snapshotRecords
	ch <- snapshotStale
}

func (s snapshots) Collect(ch chan<- prometheus.Metric) {
	for _, f := range s.Monitor.Snapshots() {
		if !f.AsOf.IsZero() {
			gauge(ch, snapshotAge, s.Now().Sub(f.AsOf).Seconds(), f.Name)
		}
		gauge(ch, snapshotRecords, float64(f.Records), f.Name)
		gauge(ch, snapshotStale, one(f.Stale), f.Name)
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

var (
	databaseUp       = describe("database_up", "1 if the database answers.")
	stateComplete    = describe("state_complete", "1 if every query of the state succeeded in time; if not, some metrics are absent.")
	predictionCount  = describe("predictions", "Predictions by status.", "status")
	baselinesWaiting = describe("baselines_pending", "Predictions that wait for their baseline.")
	baselinesAge     = describe("baselines_pending_age_seconds", "How long the oldest prediction has waited; 0 if there is none.")
	settlementQueue  = describe("settlement_queue", `Waiting for settlement: "market" counts ended markets with open predictions, "admin" counts predictions without a market past their horizon, 10,000 at most.`, "kind")
	settlementAge    = describe("settlement_lag_seconds", "How long the oldest item has waited for its settlement; 0 if there is none.", "kind")
	queueDepth       = describe("queue_depth", `Waiting items: "outcomes" counts decided markets not applied yet, "boards" ledger entries on no board, "reports" open reports.`, "queue")
	queueAge         = describe("queue_age_seconds", "How long the oldest item has waited; 0 if there is none.", "queue")
	usageWaiting     = describe("usage_waiting", `Not yet written by this node: "agents" counts agents with usage counts, "errors" counts recorded errors.`, "kind")
	ingestSucceeded  = describe("ingest_last_success_timestamp_seconds", "Time of a feed's last successful reading on any node.", "feed")
	ingestFailures   = describe("ingest_consecutive_failures", "Readings of a feed in a row, on any node, that failed or of which a part failed.", "feed")
	ingestDropped    = describe("ingest_dropped_records", "Malformed records that the last successful reading dropped.", "feed", "reason")
	backupAt         = describe("backup_last_success_timestamp_seconds", "Time at which the latest scheduled backup began, on any node; absent before the first.")
	backupBytes      = describe("backup_size_bytes", "Size of the latest scheduled backup.")
	backupFailures   = describe("backup_consecutive_failures", "Failed scheduled backups in a row; absent without a schedule.")
	backupLate       = describe("backup_late", "1 if the latest backup is older than the schedule allows; absent without a schedule.")
	archiveSealed    = describe("archive_last_sealed_timestamp_seconds", "The end of the last sealed day of the archive; absent before the first.")
	archiveDays      = describe("archive_days_waiting", "Days that have ended and aren't sealed; absent without an archive.")
	archiveSegments  = describe("archive_segments_waiting", "Segments in the database that wait to be sealed; absent without an archive.")
	archiveFailures  = describe("archive_consecutive_failures", "Runs of the archive's job that failed in a row; absent without an archive.")
)

// states collects the state, which is the same on every node. If the database doesn't answer,
// database_up is 0 and the other metrics are absent. If a query fails or takes too long, state_complete
// is 0 and its metrics are absent, and also those of later queries.
type states struct {
	Options
	mu   sync.Mutex
	last state
	at   time.Time
}

func (*states) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		databaseUp, stateComplete, predictionCount, baselinesWaiting, baselinesAge, settlementQueue, settlementAge,
		queueDepth, queueAge, usageWaiting, ingestSucceeded, ingestFailures, ingestDropped,
		backupAt, backupBytes, backupFailures, backupLate,
		archiveSealed, archiveDays, archiveSegments, archiveFailures,
	} {
		ch <- d
	}
}

func (s *states) Collect(ch chan<- prometheus.Metric) {
	now := s.Now()
	agents, errors := s.Usage()
	gauge(ch, usageWaiting, float64(agents), "agents")
	gauge(ch, usageWaiting, float64(errors), "errors")
	got := s.read(now)
	gauge(ch, databaseUp, one(got.up))
	gauge(ch, stateComplete, one(got.complete))
	if p := got.predictions; p != nil {
		gauge(ch, predictionCount, float64(p.Open), "open")
		gauge(ch, predictionCount, float64(p.Resolved), "resolved")
		gauge(ch, predictionCount, float64(p.Void), "void")
	}
	if got.queues != nil {
		collectQueues(ch, got.queues, now)
	}
	collectBackups(ch, &got.backups)
	collectArchive(ch, got.archive, now)
	for _, f := range got.feeds {
		if r := f.Readings; r.Feed != "" {
			collectReadings(ch, &r)
		}
	}
}

func collectQueues(ch chan<- prometheus.Metric, queues *monitor.Queues, now time.Time) {
	gauge(ch, baselinesWaiting, float64(queues.Baselines.Count))
	gauge(ch, baselinesAge, queues.Baselines.Age(now).Seconds())
	for kind, q := range map[string]queue.Depth{"market": queues.Markets, "admin": queues.Due} {
		gauge(ch, settlementQueue, float64(q.Count), kind)
		gauge(ch, settlementAge, q.Age(now).Seconds(), kind)
	}
	for name, q := range map[string]queue.Depth{"outcomes": queues.Outcomes, "boards": queues.Boards, "reports": queues.Reports} {
		gauge(ch, queueDepth, float64(q.Count), name)
		gauge(ch, queueAge, q.Age(now).Seconds(), name)
	}
}

func collectBackups(ch chan<- prometheus.Metric, b *monitor.Backups) {
	if b.Since.IsZero() {
		return // no schedule
	}
	if !b.At.IsZero() {
		gauge(ch, backupAt, float64(b.At.UnixMilli())/1000)
		gauge(ch, backupBytes, float64(b.Bytes))
	}
	gauge(ch, backupFailures, float64(b.Failures))
	gauge(ch, backupLate, one(b.Late))
}

func collectArchive(ch chan<- prometheus.Metric, st *archive.Status, now time.Time) {
	if st == nil {
		return
	}
	if _, end, err := archive.Bounds(st.LastSealed); err == nil {
		gauge(ch, archiveSealed, float64(end.Unix()))
	}
	gauge(ch, archiveDays, float64(st.DaysWaiting(now)))
	gauge(ch, archiveSegments, float64(st.Waiting))
	gauge(ch, archiveFailures, float64(st.Failures))
}

func collectReadings(ch chan<- prometheus.Metric, r *ingest.FeedState) {
	if !r.SucceededAt.IsZero() {
		gauge(ch, ingestSucceeded, float64(r.SucceededAt.UnixMilli())/1000, r.Feed)
	}
	gauge(ch, ingestFailures, float64(r.Failures), r.Feed)
	for reason, n := range r.Dropped {
		gauge(ch, ingestDropped, float64(n), r.Feed, reason)
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
