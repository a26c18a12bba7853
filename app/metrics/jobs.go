package metrics

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/worker"
)

// jobs counts the runs of the worker's jobs on this node. The runs of "markets" and "news" are the
// ticks of ingest. "settlement" is the part of "markets" that follows a reading. The label is task, because job has
// another meaning in Prometheus.
type jobs struct {
	runs     *prometheus.CounterVec
	duration *prometheus.HistogramVec
	board    prometheus.Histogram
}

func newJobs() jobs {
	long := []float64{.005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300}
	return jobs{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "job_runs_total",
			Help: `Runs of the worker's jobs by result: "ok", or a fixed word for the failure (of a source "timeout", "http_429", "parse", …; else "error").`,
		}, []string{"task", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "job_duration_seconds", Help: "How long a run of a job took.", Buckets: long,
		}, []string{"task"}),
		board: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "leaderboard_build_seconds", Help: "How long a build of the leaderboard took, if there was something to build.", Buckets: long,
		}),
	}
}

// Job returns a job that counts its runs. It doesn't count a run that is cut off because the worker
// stops.
func (m *Metrics) Job(job worker.Job) worker.Job {
	run := job.Run
	m.jobs.runs.WithLabelValues(job.Name, "ok")
	job.Run = func(ctx context.Context) (next time.Duration, err error) {
		err = m.Task(ctx, job.Name, func() (err error) {
			next, err = run(ctx)
			return err
		})
		return next, err
	}
	return job
}

// Task counts a run as Job does, for a part of a job that may fail without it.
func (m *Metrics) Task(ctx context.Context, name string, run func() error) (err error) {
	start, result := time.Now(), "panic"
	defer func() {
		if errors.Is(ctx.Err(), context.Canceled) {
			return
		}
		m.jobs.runs.WithLabelValues(name, result).Inc()
		m.jobs.duration.WithLabelValues(name).Observe(time.Since(start).Seconds())
	}()
	err = run()
	result = "ok"
	if err != nil {
		result = source.Reason(err)
	}
	return err
}

// LeaderboardBuilt records how long a build of the leaderboard took.
func (m *Metrics) LeaderboardBuilt(took time.Duration) { m.jobs.board.Observe(took.Seconds()) }
