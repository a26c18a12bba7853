package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pulsecast/pulsecast/app/generation"
)

var (
	replicaLag    = describe("replica_lag_seconds", "Age of the newest commit that the replica has; absent until it is known.")
	replicaServes = describe("replica_serves", "1 if public reads go to the replica, 0 if they go to the primary.")
	publicReads   = describe("public_reads_total", "Public reads of the database, by the server on which they began.", "server")
)

// replica collects how this node uses the database's replica.
type replica struct {
	state func() *generation.ReplicaState
}

func (replica) Describe(ch chan<- *prometheus.Desc) {
	ch <- replicaLag
	ch <- replicaServes
	ch <- publicReads
}

func (r replica) Collect(ch chan<- prometheus.Metric) {
	s := r.state()
	if s == nil {
		return
	}
	if s.Lag >= 0 {
		gauge(ch, replicaLag, s.Lag.Seconds())
	}
	gauge(ch, replicaServes, one(s.Cause == nil))
	for server, n := range map[string]int64{"primary": s.Primary, "replica": s.Replica} {
		ch <- prometheus.MustNewConstMetric(publicReads, prometheus.CounterValue, float64(n), server)
	}
}
