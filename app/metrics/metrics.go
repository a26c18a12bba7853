// Package metrics is what Prometheus reads of this process, on a listener of its own:
// requests, jobs, snapshots, and a few figures of the database.
//
// No label holds an agent, a key, an address or anything else a client chooses.
package metrics

import (
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pulsecast/pulsecast/app/database"
)

const namespace = "pulsecast"

// Feed is what is known of a feed's snapshot on this node.
type Feed struct {
	Name    string    // "markets" or "news"
	AsOf    time.Time // zero before the first reading
	Records int
	Stale   bool
}

// Options say what to measure. Folder may be empty, all else is required.
type Options struct {
	Version string
	DB      *database.DB
	Now     func() time.Time
	Feeds   func() []Feed
	// Usage tells what is counted of agents and not written yet; nil: nothing is.
	Usage  func() (agents, errors int)
	Folder string // of the SQLite file; empty: no disk of ours to watch
}

// Metrics counts what happens in this process. Its methods are safe for concurrent
// use.
type Metrics struct {
	registry *prometheus.Registry
	requests requests
	jobs     jobs

	listener net.Listener
	server   *http.Server
	served   chan error
}

// New makes the metrics; nothing serves them before Listen and Start.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: newRequests(), jobs: newJobs()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the labels tell the version.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.requests.total, m.requests.duration, m.requests.refusals,
		m.jobs.runs, m.jobs.duration, m.jobs.board,
		collectors.NewDBStatsCollector(o.DB.DB.DB, "writer"),
		newSnapshots(o), newFigures(o),
	)
	if o.DB.Reader != o.DB.DB { // on Postgres the two are one pool
		m.registry.MustRegister(collectors.NewDBStatsCollector(o.DB.Reader.DB, "reader"))
	}
	if o.Folder != "" {
		m.registry.MustRegister(disk{o.Folder})
	}
	return m
}
