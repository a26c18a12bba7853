package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/pulsecast/pulsecast/app/archive"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/metrics"
	"github.com/pulsecast/pulsecast/app/monitor"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/signal"
	"github.com/pulsecast/pulsecast/app/source"
	"github.com/pulsecast/pulsecast/app/worker"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// feed is a feed with a fixed status.
type feed signal.Status

func (f feed) Status() signal.Status { return signal.Status(f) }

func serve(t *testing.T, db *database.DB) *metrics.Metrics {
	t.Helper()
	now := func() time.Time { return noon }
	m := metrics.New(metrics.Options{
		Version: "1.2.3", DB: db, Now: now, Usage: func() (int, int) { return 3, 9 },
		Monitor: monitor.New(monitor.Options{
			DB: db, Now: now, BackupEvery: time.Hour, Archived: true, Disk: func() (monitor.Disk, error) { return monitor.DiskOf(t.TempDir()) },
			Feeds: []monitor.Snapshots{
				feed{Name: "markets", AsOf: noon.Add(-42 * time.Second), Records: 7}, feed{Name: "news", Stale: true},
			},
		}),
	})
	if err := m.Listen("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	m.Start()
	t.Cleanup(func() {
		if err := errors.Join(m.Stop(context.Background()), m.Close()); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestArchive checks what the metrics say of the archive.
func TestArchive(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		exec := func(query string, args ...any) {
			t.Helper()
			if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
				t.Fatal(err)
			}
		}
		manifest, err := (&archive.Manifest{Schema: archive.Schema, Day: "2026-11-18"}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		exec("INSERT INTO archive_days (day, manifest, hash, sealed_at, abandoned) VALUES ('2026-11-18', ?, ?, ?, FALSE)", string(manifest), []byte{1}, noon)
		for _, day := range []string{"2026-11-19", "2026-11-21"} {
			exec("INSERT INTO archive_segments (id, day, kind, source, records, content, created_at) VALUES (?, ?, 'prices', 'x', 0, ?, ?)", database.NewID(noon), day, []byte{1}, noon)
		}
		if err := database.SetSetting(t.Context(), db, "archive", `{"Failures":2}`); err != nil {
			t.Fatal(err)
		}
		expect(t, scrape(t, serve(t, db)), map[string]float64{
			`pulsecast_archive_last_sealed_timestamp_seconds{}`: float64(time.Date(2026, 11, 19, 0, 0, 0, 0, time.UTC).Unix()),
			`pulsecast_archive_days_waiting{}`:                  2,
			`pulsecast_archive_segments_waiting{}`:              2,
			`pulsecast_archive_consecutive_failures{}`:          2,
		})
	})
}

// scraped holds every sample of one scrape, by name and labels as Prometheus writes them.
func scrape(t *testing.T, m *metrics.Metrics) map[string]float64 {
	t.Helper()
	res, err := http.Get("http://" + m.Addr() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(res.Body)
	if err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %v", res.StatusCode, err)
	}
	out := map[string]float64{}
	for name, family := range families {
		for _, sample := range family.Metric {
			var labels []string
			for _, l := range sample.Label {
				labels = append(labels, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
			}
			out[name+"{"+strings.Join(labels, ",")+"}"] = value(sample)
		}
	}
	return out
}

// value is the count of a histogram.
func value(m *dto.Metric) float64 {
	switch {
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount())
	case m.Counter != nil:
		return m.Counter.GetValue()
	}
	return m.Gauge.GetValue()
}

func expect(t *testing.T, got map[string]float64, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if have, ok := got[name]; !ok || math.Abs(have-v) > 1e-9 {
			t.Errorf("%s is %v (found: %t), want %v", name, have, ok, v)
		}
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	m := serve(t, dbtest.Open(t, database.SQLite))
	for range 3 {
		m.Observe("/api/predictions/:id", "GET", 200, "", time.Millisecond)
	}
	m.Observe("/api/predictions/:id", "GET", 404, "not_found", time.Millisecond)
	m.Observe("", "GET", 404, "not_found", time.Millisecond)
	m.Observe("/api/stats", "GET", 429, "rate_limited", time.Millisecond)
	for i := range 5 { // methods that clients make up share one label
		m.Observe("", fmt.Sprint("BREW", i), 405, "method_not_allowed", time.Millisecond)
	}
	m.ObserveStale()
	m.ObserveShed()
	got := scrape(t, m)
	expect(t, got, map[string]float64{
		`pulsecast_http_stale_answers_total{}`: 1,
		`pulsecast_http_shed_total{}`:          1,
		`pulsecast_http_requests_total{method="GET",route="/api/predictions/:id",status="2xx"}`: 3,
		`pulsecast_http_requests_total{method="GET",route="/api/predictions/:id",status="4xx"}`: 1,
		`pulsecast_http_requests_total{method="GET",route="unmatched",status="4xx"}`:            1,
		`pulsecast_http_requests_total{method="other",route="unmatched",status="4xx"}`:          5,
		`pulsecast_http_request_duration_seconds{method="GET",route="/api/predictions/:id"}`:    4,
		`pulsecast_http_refusals_total{code="not_found"}`:                                       2,
		`pulsecast_http_refusals_total{code="rate_limited"}`:                                    1,
		`pulsecast_http_refusals_total{code="method_not_allowed"}`:                              5,
		`pulsecast_snapshot_age_seconds{feed="markets"}`:                                        42,
		`pulsecast_snapshot_records{feed="markets"}`:                                            7,
		`pulsecast_snapshot_stale{feed="markets"}`:                                              0,
		`pulsecast_snapshot_stale{feed="news"}`:                                                 1,
		`pulsecast_database_up{}`:                                                               1,
	})
	for name := range got {
		if strings.Contains(name, "BREW") || name == `pulsecast_snapshot_age_seconds{feed="news"}` {
			t.Errorf("%s is present", name)
		}
	}
	for _, part := range []string{"go_goroutines", "process_resident_memory_bytes", `pulsecast_build_info{goversion=`, `go_sql_open_connections{db_name="reader"}`, "pulsecast_disk_free_bytes"} {
		if !containsKey(got, part) {
			t.Errorf("no %s", part)
		}
	}
}

func containsKey(got map[string]float64, part string) bool {
	for name, v := range got {
		if strings.HasPrefix(name, part) {
			return v >= 0
		}
	}
	return false
}

func TestJobs(t *testing.T) {
	t.Parallel()
	m := serve(t, dbtest.Open(t, database.SQLite))
	answers := []error{nil, &source.Error{Reason: "http_429"}, errors.New("odd"), context.Canceled}
	ctx, cancel := context.WithCancel(t.Context())
	job := m.Job(worker.Job{Name: "markets", Run: func(context.Context) (time.Duration, error) {
		err := answers[0]
		if answers = answers[1:]; errors.Is(err, context.Canceled) {
			cancel()
		}
		return time.Hour, err
	}})
	for i := range 4 {
		if next, _ := job.Run(ctx); next != time.Hour {
			t.Errorf("run %d: next %s", i, next)
		}
	}
	panicky := m.Job(worker.Job{Name: "news", Run: func(context.Context) (time.Duration, error) { panic("no") }})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		panicky.Run(t.Context())
	}()
	odd := errors.New("odd")
	if err := m.Task(t.Context(), "settlement", func() error { return odd }); !errors.Is(err, odd) {
		t.Errorf("the task ends with %v", err)
	}
	m.LeaderboardBuilt(time.Second)
	expect(t, scrape(t, m), map[string]float64{
		`pulsecast_job_runs_total{result="ok",task="markets"}`:       1,
		`pulsecast_job_runs_total{result="http_429",task="markets"}`: 1,
		`pulsecast_job_runs_total{result="error",task="markets"}`:    1,
		`pulsecast_job_runs_total{result="panic",task="news"}`:       1,
		`pulsecast_job_runs_total{result="error",task="settlement"}`: 1,
		`pulsecast_job_duration_seconds{task="markets"}`:             3,
		`pulsecast_leaderboard_build_seconds{}`:                      1,
	})
}

func jobNamed(name string) worker.Job {
	return worker.Job{Name: name, Run: func(context.Context) (time.Duration, error) { return 0, nil }}
}

func TestState(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		q, err := monitor.ReadQueues(t.Context(), db.Reader, noon)
		if err != nil || q != (monitor.Queues{}) {
			t.Fatalf("of an empty database: %+v, %v", q, err)
		}
		fill(t, db)
		expect(t, scrape(t, serve(t, db)), map[string]float64{
			`pulsecast_database_up{}`:                                         1,
			`pulsecast_state_complete{}`:                                      1,
			`pulsecast_predictions{status="open"}`:                            3,
			`pulsecast_predictions{status="resolved"}`:                        2,
			`pulsecast_predictions{status="void"}`:                            1,
			`pulsecast_baselines_pending{}`:                                   1,
			`pulsecast_baselines_pending_age_seconds{}`:                       7200,
			`pulsecast_queue_depth{queue="outcomes"}`:                         1,
			`pulsecast_queue_age_seconds{queue="outcomes"}`:                   60,
			`pulsecast_queue_depth{queue="boards"}`:                           1,
			`pulsecast_queue_age_seconds{queue="boards"}`:                     120,
			`pulsecast_queue_depth{queue="reports"}`:                          1,
			`pulsecast_queue_age_seconds{queue="reports"}`:                    3600,
			`pulsecast_usage_waiting{kind="agents"}`:                          3,
			`pulsecast_usage_waiting{kind="errors"}`:                          9,
			`pulsecast_settlement_queue{kind="admin"}`:                        1,
			`pulsecast_settlement_lag_seconds{kind="admin"}`:                  3600,
			`pulsecast_settlement_queue{kind="market"}`:                       1,
			`pulsecast_settlement_lag_seconds{kind="market"}`:                 1800,
			`pulsecast_ingest_consecutive_failures{feed="markets"}`:           4,
			`pulsecast_ingest_dropped_records{feed="markets",reason="no_id"}`: 2,
			`pulsecast_ingest_last_success_timestamp_seconds{feed="markets"}`: float64(noon.Unix()),
		})
	})
}

// fill writes one record of each kind that is counted, and samples, which aren't counted.
func fill(t *testing.T, db *database.DB) {
	t.Helper()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), query, args...); err != nil {
			t.Fatal(err)
		}
	}
	const agent = "00000000-0000-7000-8000-000000000001"
	exec("INSERT INTO settings (name, value) VALUES ('backup', ?)", `{"Since":"2026-11-01T00:00:00Z","At":"2026-11-02T00:00:00Z","Bytes":5}`)
	exec("INSERT INTO agent_tallies (agent_id, total, open, resolved, void, publication_days) VALUES (?, 6, 3, 2, 1, 1)", agent)
	exec("INSERT INTO feed_states (feed, source, count, dropped, succeeded_at, failures) VALUES ('markets', 'x', 1, '{\"no_id\":2}', ?, 4)", noon)
	for _, m := range []struct {
		id     string
		sample bool
	}{{"closed", false}, {"sample", true}} {
		exec("INSERT INTO markets (id, source, question, title, outcomes, closed_at, active, closed, scalar, match_key, search_text, first_seen_at, observed_at, sample)"+
			" VALUES (?, 'x', 'q', 't', '[]', ?, FALSE, TRUE, FALSE, '', '', ?, ?, ?)", m.id, noon.Add(-30*time.Minute), noon, noon, m.sample)
	}
	publish := func(market string, horizon, created time.Time, baseline prediction.BaselineState, sample bool) {
		err := prediction.Add(t.Context(), db, &prediction.Prediction{ID: database.NewID(noon), AgentID: uuid.MustParse(agent), MarketID: market, HorizonAt: horizon,
			BaselineState: baseline, Status: prediction.Open, Sample: sample, CreatedAt: created})
		if err != nil {
			t.Fatal(err)
		}
	}
	publish("closed", noon.Add(time.Hour), noon.Add(-2*time.Hour), prediction.Pending, false)
	publish("sample", noon.Add(time.Hour), noon.Add(-9*time.Hour), prediction.Pending, true)
	publish("", noon.Add(-time.Hour), noon, prediction.Unlinked, false)
	publish("", noon.Add(-9*time.Hour), noon, prediction.Unlinked, true)
	publish("", noon.Add(time.Hour), noon, prediction.Unlinked, false)
	exec("INSERT INTO market_outcomes (market_id, revision, state, outcomes, outcome_values, source, decided_at, applied) VALUES ('closed', 1, 'settled', '[]', '[]', 'market', ?, FALSE)", noon.Add(-time.Minute))
	exec("INSERT INTO market_outcomes (market_id, revision, state, outcomes, outcome_values, source, decided_at, applied) VALUES ('sample', 1, 'settled', '[]', '[]', 'market', ?, TRUE)", noon.Add(-time.Hour))
	exec("INSERT INTO boards (span, category, as_of, kappa, sigma2, ranked) VALUES ('all', '', ?, 1, 1, 0)", noon.Add(-3*time.Minute))
	for i, at := range []time.Time{noon.Add(-2 * time.Minute), noon.Add(-time.Hour)} { // an entry that the board doesn't show
		exec("INSERT INTO score_entries (id, prediction_id, seq, kind, agent_id, value, source, brier, rules_version, created_at) VALUES (?0, ?0, 1, 'settled', ?1, 1, 'market', 0, '1', ?2)",
			database.NewID(noon.Add(time.Duration(i)*time.Second)), agent, at)
	}
	exec("INSERT INTO reports (id, prediction_id, author_id, reporter_id, kind, text, status, answer, created_at) SELECT ?, id, agent_id, agent_id, 'spam', 'x', 'open', '', ? FROM predictions LIMIT 1", database.NewID(noon), noon.Add(-time.Hour))
}

func TestADatabaseThatIsDown(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), dbtest.URL(t, database.SQLite))
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	got := scrape(t, serve(t, db))
	expect(t, got, map[string]float64{`pulsecast_database_up{}`: 0, `pulsecast_state_complete{}`: 0, `pulsecast_snapshot_records{feed="markets"}`: 7})
	if containsKey(got, "pulsecast_predictions") {
		t.Error("predictions without a database")
	}
}

func TestListener(t *testing.T) {
	t.Parallel()
	m := serve(t, dbtest.Open(t, database.SQLite))
	for path, status := range map[string]int{"/": 404, "/metrics": 200, "/api/health": 404} {
		res, err := http.Get("http://" + m.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, res.Body)
		if err = errors.Join(err, res.Body.Close()); err != nil || res.StatusCode != status {
			t.Errorf("%s: %d, want %d, %v", path, res.StatusCode, status, err)
		}
	}
	second := metrics.New(metrics.Options{DB: dbtest.Open(t, database.SQLite), Now: time.Now})
	err := second.Listen(m.Addr())
	if want := "METRICS_ADDR: cannot listen on " + m.Addr(); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if err := m.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if conn, err := net.Dial("tcp", m.Addr()); err == nil {
		conn.Close()
		t.Error("still listening after Stop")
	}
}

func BenchmarkObserve(b *testing.B) {
	db := dbtest.Open(b, database.SQLite)
	m := metrics.New(metrics.Options{DB: db, Now: time.Now})
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			m.Observe("/api/intelligence/markets", "GET", 200, "", 123*time.Microsecond)
		}
	})
}

// TestAQueryThatFails checks that the database counts as up if it answers but one query of the state fails, and that
// the metrics of the other queries stay.
func TestAQueryThatFails(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		fill(t, db)
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE reports RENAME TO broken"); err != nil {
			t.Fatal(err)
		}
		got := scrape(t, serve(t, db))
		expect(t, got, map[string]float64{
			`pulsecast_database_up{}`: 1, `pulsecast_state_complete{}`: 0, `pulsecast_predictions{status="open"}`: 3,
			`pulsecast_ingest_consecutive_failures{feed="markets"}`: 4,
		})
		if containsKey(got, "pulsecast_queue_depth") {
			t.Error("queues, although one can't be read")
		}
	})
}
