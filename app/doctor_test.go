package app_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/identity/identitytest"
	"github.com/pulsecast/pulsecast/app/market"
	"github.com/pulsecast/pulsecast/app/prediction"
	"github.com/pulsecast/pulsecast/app/settlement"
)

// secrets are part of the settings in every case. The output must not contain them.
var secrets = []string{"REDDIT_CLIENT_SECRET=s3cret-reddit"}

// examine runs the doctor and checks the beginnings of the lines it prints.
func examine(t *testing.T, settings []string, code int, want ...string) {
	t.Helper()
	cmd := command(t, append(secrets, settings...), "doctor")
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	for _, line := range want {
		if !strings.Contains("\n"+string(out), "\n"+line) {
			t.Errorf("no line begins with %q", line)
		}
	}
	if strings.Contains(string(out), "s3cret") {
		t.Error("the output contains a secret")
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// sourcesAnswer returns settings under which every source but Reddit answers.
func sourcesAnswer(t *testing.T) []string {
	t.Helper()
	u := newUpstream(t)
	u.SetMarket("m1", nil)
	hackerNews := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"hits":[{"objectID":"1","title":"A title","url":"https://example.org/a","author":"x","points":30,"num_comments":2,"created_at_i":%d,"created_at":%q,"_tags":["story","front_page"]}]}`,
			time.Now().Add(-time.Hour).Unix(), time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	}))
	t.Cleanup(hackerNews.Close)
	gdelt := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"articles":[{"url":"https://example.org/b","title":"A headline","seendate":%q}]}`, time.Now().Add(-time.Hour).UTC().Format("20060102T150405Z"))
	}))
	t.Cleanup(gdelt.Close)
	return []string{"POLYMARKET_URL=" + u.URL, "POLYMARKET_CLOB_URL=" + u.URL, "GDELT_URL=" + gdelt.URL, "HACKERNEWS_URL=" + hackerNews.URL}
}

func TestDoctorOfAHealthyService(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			settings := append(sourcesAnswer(t), "DATABASE_URL="+dbtest.URL(t, kind))
			want := []string{
				"ok    configuration  listens on 127.0.0.1:0", "ok    database       " + string(kind) + " answers and can be written",
				"ok    migrations     all ", "ok    queues         nothing waits for a ruling", "ok    source         polymarket answers (1 read)", "ok    source         polymarket order book answers",
				"ok    source         gdelt answers (1 read)", "ok    source         hackernews answers", "warn  source         reddit-rss: refused: check the network",
				"ok    identity       local registry, registration is closed", "warn  alerts         no message is sent", "ok    archive        ", "ok    clock          within 5s of ",
			}
			examine(t, settings, 0, want...)
			startProcess(t, settings, "serve")
			if kind == database.SQLite {
				want = append(want, "ok    database       a server or worker is running on it")
			} else {
				want = append(want, "warn  archive        file://")
			}
			examine(t, settings, 0, want...)
		})
	}
}

// TestDoctorCountsQueues checks that the doctor counts the same as the admin pages, so it leaves
// out samples.
func TestDoctorCountsQueues(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, kind)
			db, err := database.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			closedWithPrediction(t, db, "live", false)
			closedWithPrediction(t, db, "sample", true)
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			examine(t, append(sourcesAnswer(t), "DATABASE_URL="+url), 0,
				"warn  queues         waiting for a ruling: ended markets 1, predictions past their horizon 0; see http://127.0.0.1:0/admin/settlement")
		})
	}
}

// closedWithPrediction adds a market that closed four days ago, with an open prediction.
func closedWithPrediction(t *testing.T, db *database.DB, id string, sample bool) {
	t.Helper()
	now := time.Now()
	m := market.Market{ID: id, Source: "x", Question: "q", Title: "q", Outcomes: []string{"Yes", "No"}, Prices: []float64{0.5, 0.5},
		Closed: true, ClosedAt: now.AddDate(0, 0, -4), ObservedAt: now, Sample: sample}
	if err := (market.Store{}).Observe(t.Context(), db, []market.Market{m}); err != nil {
		t.Fatal(err)
	}
	err := prediction.Add(t.Context(), db, &prediction.Prediction{ID: database.NewID(now), AgentID: settlement.MarketAgent, MarketID: m.ID,
		HorizonAt: now, BaselineState: prediction.Fixed, Status: prediction.Open, Sample: sample, CreatedAt: now})
	if err != nil {
		t.Fatal(err)
	}
}

func TestDoctorBeforeTheFirstStart(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/sub/new.db"
	examine(t, append(sourcesAnswer(t), "DATABASE_URL=sqlite://"+path), 0, "ok    database       "+path+" does not exist yet")
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("the doctor created the database: %v", err)
	}
}

func TestDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	garbage := t.TempDir() + "/garbage.db"
	if err := os.WriteFile(garbage, []byte(strings.Repeat("This is no database. ", 1000)), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(garbage, 0o666); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name     string
		settings []string
		code     int
		want     []string
	}{
		{"settings", []string{"MARKETS_INTERVAL=0s"}, 1, []string{"fail  configuration  MARKETS_INTERVAL: must be", "pulsecast: the configuration is invalid"}},
		{"webhook setting", []string{"ALERT_WEBHOOK_URL=s3cret"}, 1, []string{"fail  configuration  ALERT_WEBHOOK_URL: not an http(s) address"}},
		{"sources", []string{"POLYMARKET_URL=http://127.0.0.1:9", "GDELT_URL=http://127.0.0.1:9", "HACKERNEWS_URL=http://127.0.0.1:9", "REDDIT_CLIENT_ID=x"}, 1, []string{
			"fail  source         polymarket: refused: check the network, a proxy (HTTPS_PROXY), and POLYMARKET_URL",
			"fail  source         reddit: refused", "fail  source         reddit-rss: refused", "fail  source         gdelt: refused", "fail  source         hackernews: refused", "pulsecast: 5 of the checks failed",
		}},
		{"order book alone", []string{"POLYMARKET_CLOB_URL=http://127.0.0.1:9"}, 0, []string{"warn  source         polymarket order book: refused"}},
		{"database file", []string{"DATABASE_URL=sqlite://" + garbage}, 1, []string{"warn  database       " + garbage + " can be written by every user", "fail  database       "}},
		{"database server", []string{"DATABASE_URL=postgres://u:s3cret@127.0.0.1:9/x"}, 1, []string{"fail  database       ", "warn  cache          in this process: with several nodes"}},
		{"cache", []string{"REDIS_URL=redis://u:s3cret@127.0.0.1:9"}, 1, []string{"fail  cache          ping redis"}},
		{"webhook", []string{"ALERT_WEBHOOK_URL=http://127.0.0.1:9/s3cret"}, 1, []string{"fail  alerts         the host of ALERT_WEBHOOK_URL can't be reached"}},
		{"public", []string{"ADDR=0.0.0.0:0", "METRICS_ADDR=:9090"}, 0, []string{"warn  configuration  ADDR can be reached from outside, but links begin with http://localhost:0", "warn  configuration  METRICS_ADDR listens on every address"}},
		{"tracing", []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://s3cret.test:4318"}, 0, []string{"ok    tracing        spans go to the collector"}},
		{"tracing by another protocol", []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_TRACES_EXPORTER=otlp"}, 1, []string{"fail  tracing        OTEL_EXPORTER_OTLP_PROTOCOL: \"grpc\" is not supported"}},
		{"open line", []string{"ADDR=0.0.0.0:0", "BASE_URL=http://pulse.example"}, 0, []string{"warn  configuration  BASE_URL is not https"}},
	}
	healthy := sourcesAnswer(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			examine(t, append(append([]string{"DATABASE_URL=" + dbtest.URL(t, database.SQLite)}, healthy...), c.settings...), c.code, c.want...)
		})
	}
}

func TestDoctorNamesPendingMigrations(t *testing.T) {
	t.Parallel()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			settings := append(sourcesAnswer(t), "DATABASE_URL="+dbtest.URL(t, kind))
			if out, err := command(t, settings, "migrate", "down").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			examine(t, settings, 0, "warn  migrations     ")
		})
	}
}

func TestDoctorReadsTheClock(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.BreakWith(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(-10*time.Minute).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
	})
	examine(t, []string{"POLYMARKET_URL=" + u.URL, "POLYMARKET_CLOB_URL=" + u.URL, "DATABASE_URL=" + dbtest.URL(t, database.SQLite)}, 1,
		"warn  clock          10m0s ahead of the other clocks: run an NTP client", "fail  source         polymarket: http_403: the source refuses this address")
}

// TestDoctorAsksTheIdentityProvider runs the real client: discovery, then a check of a key that
// cannot exist.
func TestDoctorAsksTheIdentityProvider(t *testing.T) {
	t.Parallel()
	provider := func(answer http.HandlerFunc) string {
		mux := http.NewServeMux()
		server := httptest.NewServer(mux)
		t.Cleanup(server.Close)
		mux.HandleFunc("/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"issuer":%q,"introspection_endpoint":%q,"jwks_uri":%q}`, server.URL, server.URL+"/introspect", server.URL+"/keys")
		})
		mux.HandleFunc("/introspect", answer)
		return server.URL
	}
	says := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) }
	}
	cases := []struct {
		name, url string
		code      int
		want      string
	}{
		{"healthy", provider(says(`{"active":false}`)), 0, "ok    identity       the provider at http://127.0.0.1:"},
		{"another client", provider(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }), 1, "fail  identity       the provider's check failed (http_401): check IDENTITY_CLIENT_ID"},
		{"bad request", provider(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }), 1, "fail  identity       the provider's check failed (http_400): check IDENTITY_CLIENT_ID"},
		{"accepts every key", provider(says(`{"active":true,"sub":"x","scope":"pulsecast"}`)), 1, "fail  identity       "},
		{"down", "http://127.0.0.1:9", 1, "fail  identity       the provider's check failed (unreachable): check IDENTITY_URL"},
	}
	healthy := sourcesAnswer(t)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			examine(t, append([]string{
				"DATABASE_URL=" + dbtest.URL(t, database.SQLite), "IDENTITY_URL=" + c.url, "IDENTITY_SCOPE=pulsecast", "IDENTITY_CLIENT_ID=us", "IDENTITY_CLIENT_SECRET=s3cret-identity",
			}, healthy...), c.code, c.want)
		})
	}
}

// TestDoctorAsksWhetherAdminsCanSignIn checks what the doctor reports about the provider's
// documents.
func TestDoctorAsksWhetherAdminsCanSignIn(t *testing.T) {
	t.Parallel()
	p := identitytest.New(t, time.Now)
	settings := append(sourcesAnswer(t), "DATABASE_URL="+dbtest.URL(t, database.SQLite), "BASE_URL=https://pulse.example",
		"IDENTITY_URL="+p.URL, "IDENTITY_SCOPE=pulsecast", "IDENTITY_CLIENT_ID="+identitytest.ClientID, "IDENTITY_CLIENT_SECRET="+identitytest.ClientSecret)
	host := strings.TrimPrefix(p.URL, "http://")
	examine(t, settings, 0, "ok    admins         admins sign in with a password; set ADMIN_SCOPE")
	examine(t, append(settings, "ADMIN_SCOPE="+identitytest.AdminScope), 0,
		"ok    admins         admins can sign in at "+host+" if it grants them pulsecast:admin; register the redirect address https://pulse.example/admin/sign-in/callback there")
	examine(t, append(settings, "ADMIN_SCOPE=other"), 0, "warn  admins         the provider does not list the scope other")
	examine(t, append(settings, "ADMIN_SCOPE=openid"), 1, "fail  configuration  ADMIN_SCOPE: ")
	p.Lie(identitytest.Lies{Discovery: func(w http.ResponseWriter) bool {
		fmt.Fprintf(w, `{"issuer":%q,"introspection_endpoint":%q,"jwks_uri":%q}`, p.URL, p.URL+"/introspect", p.URL+"/keys")
		return true
	}})
	examine(t, append(settings, "ADMIN_SCOPE="+identitytest.AdminScope), 1, "fail  admins         admins can't sign in at "+host+", only with a password: identity provider: discovery: its document names no authorization_endpoint")
}
