package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/pulsecast/pulsecast/app/database"
)

var (
	breakerOpen   = describe("database_breaker_open", "1 while this node refuses requests that need the database, because it can't be used.")
	breakerOpened = describe("database_breaker_opened_total", "How often the breaker opened on this node.")
	clockOffset   = describe("database_clock_offset_seconds", "How far the database's clock is ahead of this node's; 0 with SQLite.")
)

// breaker collects what a node knows about its database without a query.
type breaker struct{ *database.Breaker }

func (breaker) Describe(ch chan<- *prometheus.Desc) {
	ch <- breakerOpen
	ch <- breakerOpened
	ch <- clockOffset
}

func (b breaker) Collect(ch chan<- prometheus.Metric) {
	gauge(ch, breakerOpen, one(b.Err() != nil))
	ch <- prometheus.MustNewConstMetric(breakerOpened, prometheus.CounterValue, float64(b.Opened()))
	gauge(ch, clockOffset, b.ClockOffset().Seconds())
}
