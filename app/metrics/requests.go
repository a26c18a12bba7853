package metrics

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// requests counts answers. Looking up label values is the most expensive part of counting. So each
// combination is looked up once and then found in a map that is read without a lock and copied when
// it grows.
type requests struct {
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	refusals *prometheus.CounterVec
	stale    prometheus.Counter
	shed     prometheus.Counter

	mu     *sync.Mutex
	shapes *atomic.Pointer[map[shape]series]
	codes  *atomic.Pointer[map[string]prometheus.Counter]
}

// shape is one combination of labels.
type shape struct {
	route, method string
	class         int
}

type series struct {
	total    prometheus.Counter
	duration prometheus.Observer
}

// buckets are in seconds. An answer from memory takes microseconds, and a request times out after
// ten seconds.
var buckets = []float64{.0001, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}

func newRequests() requests {
	r := requests{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total", Help: "Answers, by registered route, method and status class.",
		}, []string{"route", "method", "status"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "http_request_duration_seconds", Help: "Time from reading the request until its answer is ready.", Buckets: buckets,
		}, []string{"route", "method"}),
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_refusals_total", Help: "Refused requests by error code, including rate_limited.",
		}, []string{"code"}),
		stale: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_stale_answers_total", Help: "Answers that were the last good copy, because no newer one could be made.",
		}),
		shed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_shed_total", Help: "Answers with 5xx that callers caused, by what they sent or by how much.",
		}),
		mu:     new(sync.Mutex),
		shapes: new(atomic.Pointer[map[shape]series]),
		codes:  new(atomic.Pointer[map[string]prometheus.Counter]),
	}
	r.shapes.Store(&map[shape]series{})
	r.codes.Store(&map[string]prometheus.Counter{})
	r.refusals.WithLabelValues("rate_limited") // present from the start, so that rules see 0
	return r
}

// ObserveStale counts an answer that was the last good copy, because no newer one could be made. Call Observe
// for it, too.
func (m *Metrics) ObserveStale() { m.requests.stale.Inc() }

// ObserveShed counts a refusal that callers caused; see problem.Error. Call Observe for it, too.
func (m *Metrics) ObserveShed() { m.requests.shed.Inc() }

// Observe counts one answer. route is the registered path, or "" if none matched. code is the
// refusal's code, or "" for a success.
func (m *Metrics) Observe(route, method string, status int, code string, took time.Duration) {
	key := shape{route, method, status / 100}
	s, ok := (*m.requests.shapes.Load())[key]
	if !ok {
		s = m.requests.meet(key)
	}
	s.total.Inc()
	s.duration.Observe(took.Seconds())
	if code == "" {
		return
	}
	refused, ok := (*m.requests.codes.Load())[code]
	if !ok {
		refused = m.requests.meetCode(code)
	}
	refused.Inc()
}

func (r *requests) meet(key shape) series {
	labels := key
	if labels.route == "" {
		labels.route = "unmatched"
	}
	known := true
	switch labels.method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
	default: // a client may send any method, so it is neither a label nor stored
		labels.method, known = "other", false
	}
	s := series{
		total:    r.total.WithLabelValues(labels.route, labels.method, class(labels.class)),
		duration: r.duration.WithLabelValues(labels.route, labels.method),
	}
	if known {
		grow(r.mu, r.shapes, key, s)
	}
	return s
}

func (r *requests) meetCode(code string) prometheus.Counter {
	c := r.refusals.WithLabelValues(code)
	grow(r.mu, r.codes, code, c)
	return c
}

func grow[K comparable, V any](mu *sync.Mutex, all *atomic.Pointer[map[K]V], key K, value V) {
	mu.Lock()
	defer mu.Unlock()
	next := maps.Clone(*all.Load())
	next[key] = value
	all.Store(&next)
}

func class(hundreds int) string {
	if hundreds < 1 || hundreds > 5 {
		return "other"
	}
	return string([]byte{byte('0' + hundreds), 'x', 'x'})
}
