package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pulsecast/pulsecast/app/generation"
)

// replica collects how this node uses the database's replica.
type replica struct {
	state              func() *generation.ReplicaState
	lag, serves, reads *prometheus.Desc
}

func newReplica(state func() *generation.ReplicaState) *replica {
	return &replica{
		state:  state,
		lag:    describe("replica_lag_seconds", "Age of the newest commit that the replica has; absent until it is known."),
		serves: describe("replica_serves", "1 if public reads go to the replica, 0 if they go to the primary."),
		reads:  describe("public_reads_total", "Public reads of the database, by the server on which they began.", "server"),
	}
}

func (r *replica) Describe(ch chan<- *prometheus.Desc) {
	ch <- r.lag
	ch <- r.serves
	ch <- r.reads
}

func (r *replica) Collect(ch chan<- prometheus.Metric) {
	s := r.state()
	if s == nil {
		return
	}
	if s.Lag >= 0 {
		gauge(ch, r.lag, s.Lag.Seconds())
	}
	gauge(ch, r.serves, one(s.Cause == nil))
	for server, n := range map[string]int64{"primary": s.Primary, "replica": s.Replica} {
		ch <- prometheus.MustNewConstMetric(r.reads, prometheus.CounterValue, float64(n), server)
	}
}
