// Package metrics serves Prometheus metrics of this process on a separate listener: requests, jobs,
// snapshots, and the state that package monitor reads from the database. No label holds an agent, a
// key, an address or any other value that a client chooses.
package metrics

import (
	"net"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/generation"
	"github.com/pulsecast/pulsecast/app/monitor"
)

const namespace = "pulsecast"

// Options say what to measure.
type Options struct {
	Version string
	DB      *database.DB
	Now     func() time.Time
	Monitor *monitor.Monitor
	// Usage returns how many agents have usage counts, and how many errors there are, that this
	// node hasn't written yet.
	Usage func() (agents, errors int)
	// Replica returns the state of the database's replica. Replica and its result may be nil if
	// there is none.
	Replica func() *generation.ReplicaState
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

// New makes the metrics. Nothing is served before Listen and Start.
func New(o Options) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: newRequests(), jobs: newJobs()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1; the labels hold the version.",
		ConstLabels: prometheus.Labels{"version": o.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), build,
		m.requests.total, m.requests.duration, m.requests.refusals, m.requests.stale, m.requests.shed,
		m.jobs.runs, m.jobs.duration, m.jobs.board,
		collectors.NewDBStatsCollector(o.DB.DB.DB, "writer"),
		snapshots{o}, &states{Options: o}, disk{o.Monitor}, breaker{o.DB.Breaker},
	)
	if o.DB.Reader != o.DB.DB { // on Postgres both are one pool
		m.registry.MustRegister(collectors.NewDBStatsCollector(o.DB.Reader.DB, "reader"))
	}
	if o.DB.Replica != nil {
		m.registry.MustRegister(collectors.NewDBStatsCollector(o.DB.Replica.DB.DB, "replica"), replica{o.Replica})
	}
	return m
}
