package metrics

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// snapshots tells of what this node serves.
type snapshots struct {
	feeds                func() []Feed
	now                  func() time.Time
	age, records, stales *prometheus.Desc
}

func newSnapshots(o Options) *snapshots {
	return &snapshots{
		feeds: o.Feeds, now: o.Now,
		age:     describe("snapshot_age_seconds", "Time since the reading that this node serves; absent before the first.", "feed"),
		records: describe("snapshot_records", "Records in the snapshot that this node serves.", "feed"),
		stales:  describe("snapshot_stale", "1 when the snapshot is older than three intervals, or there is none.", "feed"),
	}
}

func (s *snapshots) Describe(ch chan<- *prometheus.Desc) {
	ch <- s.age
	ch <- s.records
	ch <- s.stales
}

func (s *snapshots) Collect(ch chan<- prometheus.Metric) {
	for _, f := range s.feeds() {
		if !f.AsOf.IsZero() {
			gauge(ch, s.age, s.now().Sub(f.AsOf).Seconds(), f.Name)
		}
		gauge(ch, s.records, float64(f.Records), f.Name)
		gauge(ch, s.stales, one(f.Stale), f.Name)
	}
}

const (
	// figuresFor is how long figures are shown again before the database is asked anew.
	figuresFor = 15 * time.Second
	// figuresTimeout bounds asking: a scrape must not hang on a database that does.
	figuresTimeout = 5 * time.Second
)

// figures tells of the database, the same on every node. While it does not answer,
// database_up is 0 and the rest is absent.
type figures struct {
	Options
	mu   sync.Mutex
	last Figures
	err  error
	at   time.Time

	up, predictions, baselines, baselinesAge, settlement, settlementAge *prometheus.Desc
	queue, queueAge, usage                                              *prometheus.Desc
	succeeded, failures, dropped                                        *prometheus.Desc
}

func newFigures(o Options) *figures {
	return &figures{
		Options:       o,
		up:            describe("database_up", "1 when the database answered the last look."),
		predictions:   describe("predictions", "Predictions by status.", "status"),
		baselines:     describe("baselines_pending", "Predictions that wait for their baseline."),
		baselinesAge:  describe("baselines_pending_age_seconds", "Since when the oldest of them waits; 0 when none does."),
		settlement:    describe("settlement_queue", `What waits to be settled: "market" are closed markets with open predictions, "admin" predictions without a market past their horizon.`, "kind"),
		settlementAge: describe("settlement_lag_seconds", "Since when the oldest of it could have been settled; 0 when nothing waits.", "kind"),
		queue:         describe("queue_depth", `What waits: "outcomes" are decided markets not applied yet, "boards" ledger entries that no board shows, "reports" open ones.`, "queue"),
		queueAge:      describe("queue_age_seconds", "Since when the oldest of it waits; 0 when nothing does.", "queue"),
		usage:         describe("usage_waiting", `What this node has counted and not written yet: "agents" with counts, "errors" to keep.`, "kind"),
		succeeded:     describe("ingest_last_success_timestamp_seconds", "When a feed was last read well, on any node.", "feed"),
		failures:      describe("ingest_consecutive_failures", "Readings of a feed that failed in a row, on any node.", "feed"),
		dropped:       describe("ingest_dropped_records", "Malformed records that the last good reading left out.", "feed", "reason"),
	}
}

func (f *figures) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		f.up, f.predictions, f.baselines, f.baselinesAge, f.settlement, f.settlementAge, f.queue, f.queueAge, f.usage, f.succeeded, f.failures, f.dropped,
	} {
		ch <- d
	}
}

func (f *figures) Collect(ch chan<- prometheus.Metric) {
	now := f.Now()
	if f.Usage != nil {
		agents, errors := f.Usage()
		gauge(ch, f.usage, float64(agents), "agents")
		gauge(ch, f.usage, float64(errors), "errors")
	}
	got, err := f.read(now)
	gauge(ch, f.up, one(err == nil))
	if err != nil {
		return
	}
	gauge(ch, f.predictions, float64(got.Open), "open")
	gauge(ch, f.predictions, float64(got.Resolved), "resolved")
	gauge(ch, f.predictions, float64(got.Void), "void")
	gauge(ch, f.baselines, float64(got.Baselines.Count))
	gauge(ch, f.baselinesAge, got.Baselines.Age(now).Seconds())
	for kind, q := range map[string]Queue{"market": got.Markets, "admin": got.Due} {
		gauge(ch, f.settlement, float64(q.Count), kind)
		gauge(ch, f.settlementAge, q.Age(now).Seconds(), kind)
	}
	for name, q := range map[string]Queue{"outcomes": got.Outcomes, "boards": got.Boards, "reports": got.Reports} {
		gauge(ch, f.queue, float64(q.Count), name)
		gauge(ch, f.queueAge, q.Age(now).Seconds(), name)
	}
	for _, state := range got.Feeds {
		if !state.SucceededAt.IsZero() {
			gauge(ch, f.succeeded, float64(state.SucceededAt.UnixMilli())/1000, state.Feed)
		}
		gauge(ch, f.failures, float64(state.Failures), state.Feed)
		for reason, n := range state.Dropped {
			gauge(ch, f.dropped, float64(n), state.Feed, reason)
		}
	}
}

// read asks once for all who scrape at about the same time.
func (f *figures) read(now time.Time) (Figures, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.at.IsZero() && now.Sub(f.at) < figuresFor {
		return f.last, f.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTimeout)
	defer cancel()
	f.last, f.err = ReadFigures(ctx, f.DB.Reader, now)
	f.at = now
	return f.last, f.err
}
