package metaculus_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"

	"github.com/pulsecast/pulsecast/app"
	"github.com/pulsecast/pulsecast/app/assignment"
	"github.com/pulsecast/pulsecast/app/config"
	"github.com/pulsecast/pulsecast/app/database"
	"github.com/pulsecast/pulsecast/app/database/dbtest"
	"github.com/pulsecast/pulsecast/app/market"
)

const base = "/compat/metaculus/api"

// service is the whole app with a few markets and an agent.
type service struct {
	*app.App
	url, key string
}

func start(t *testing.T, kind database.Kind, change ...func(*config.Config)) *service {
	t.Helper()
	cfg := config.Default()
	cfg.Addr, cfg.DatabaseURL, cfg.LogFormat, cfg.Registration, cfg.Drain = "127.0.0.1:0", dbtest.URL(t, kind), "off", "open", 0
	for _, c := range change {
		c(&cfg)
	}
	ln, err := net.Listen("tcp", cfg.Addr)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Addr = ln.Addr().String()
	a, err := app.New(t.Context(), cfg, app.Options{})
	if err != nil {
		t.Fatal(errors.Join(err, ln.Close()))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Run(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-done, a.Close()); err != nil {
			t.Error(err)
		}
	})
	s := &service{App: a, url: "http://" + ln.Addr().String()}
	s.fill(t)
	_, made := s.send(t, "POST", "/api/agents", `{"name":"Ada"}`)
	s.key, _ = made["apiKey"].(string)
	return s
}

// fill stores open markets: m1 to m3, 1001, and one whose outcomes aren't Yes and No. It also
// stores a closed market, and an assignment on m2.
func (s *service) fill(t *testing.T) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	make := func(id, category string, age time.Duration) market.Market {
		return market.Market{
			ID: id, Source: "polymarket", Question: "Will " + id + " happen?", Title: "Will " + id + " happen?", Outcomes: []string{"Yes", "No"},
			Prices: []float64{0.41, 0.59}, Active: true, Category: category, Description: "Yes if it does.", ResolutionSource: "A paper",
			EventTitle: "What happens?", ClosesAt: now.Add(24*time.Hour + age), FirstSeenAt: now.Add(-age), ObservedAt: now,
		}
	}
	list := []market.Market{
		make("m1", "politics", time.Hour), make("m2", "science", 2*time.Hour), make("m3", "science", 72*time.Hour), make("1001", "", 4*time.Hour),
		make("other", "politics", 5*time.Hour), make("over", "politics", 6*time.Hour),
	}
	list[1].Outcomes, list[1].Prices = []string{"No", "Yes"}, []float64{0.3, 0.7}
	list[4].Outcomes = []string{"Reds", "Blues"}
	list[5].Closed, list[5].Active, list[5].ClosedAt, list[5].Prices = true, false, now, []float64{1, 0}
	err := s.DB.InTx(t.Context(), func(ctx context.Context, tx bun.Tx) error {
		if err := (market.Store{}).Observe(ctx, tx, list); err != nil {
			return err
		}
		_, err := tx.NewInsert().Model(&assignment.Assignment{
			ID: database.NewID(now), MarketID: "m2", Outcome: "Yes", Title: list[1].Question, Category: "science", Status: assignment.Open,
			OpensAt: now.Add(-time.Hour), DueAt: now.Add(time.Hour), CreatedAt: now,
		}).Exec(ctx)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// send sends a request as the client does, and returns the status and the decoded answer.
func (s *service) send(t *testing.T, method, path, body string) (int, map[string]any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "python-requests/2.34.2")
	req.Header.Set("Accept-Language", "en")
	scheme := "Bearer "
	if strings.HasPrefix(path, base) {
		scheme = "Token "
	}
	if s.key != "" {
		req.Header.Set("Authorization", scheme+s.key)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer map[string]any
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&answer); err != nil {
		t.Fatalf("%s %s: status %d, %s: %v", method, path, res.StatusCode, raw, err)
	}
	return res.StatusCode, answer
}

func (s *service) get(t *testing.T, path string) map[string]any {
	t.Helper()
	status, answer := s.send(t, "GET", base+path, "")
	if status != 200 {
		t.Fatalf("GET %s: got status %d, %v", path, status, answer)
	}
	return answer
}

// titles returns the questions of a list, such as "m1 m2".
func titles(answer map[string]any) string {
	var found []string
	for _, p := range answer["results"].([]any) {
		title := p.(map[string]any)["title"].(string)
		found = append(found, strings.TrimSuffix(strings.TrimPrefix(title, "Will "), " happen?"))
	}
	return strings.Join(found, " ")
}

// predictions lists the predictions in the public API, newest first, such as "m1 0.62 thesis".
func (s *service) predictions(t *testing.T) []string {
	t.Helper()
	public := &service{url: s.url}
	_, answer := public.send(t, "GET", "/api/predictions", "")
	list := []string{}
	for _, p := range answer["predictions"].([]any) {
		p := p.(map[string]any)
		list = append(list, fmt.Sprintf("%s %s %.20s", p["market"].(map[string]any)["id"], p["confidence"], p["thesis"]))
	}
	return list
}

func each(t *testing.T, test func(t *testing.T, s *service), change ...func(*config.Config)) {
	t.Helper()
	for _, kind := range dbtest.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, start(t, kind, change...))
		})
	}
}

// recorded is a request that the client of forecasting-tools sends. {id} stands for the id of a
// question.
type recorded struct {
	Of, Method, Path, Body string
	Status                 int
}

func recordedRequests(t *testing.T) (list []recorded) {
	t.Helper()
	raw, err := os.ReadFile("testdata/requests.json")
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil || len(list) != 5 {
		t.Fatalf("got %d requests (error %v), want 5", len(list), err)
	}
	return list
}

// TestRecordedRequests sends what the client sends to forecast a question, and reads the answers as
// the client does.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		id := ""
		for _, r := range recordedRequests(t) {
			status, answer := s.send(t, r.Method, base+strings.ReplaceAll(r.Path, "{id}", id), strings.ReplaceAll(r.Body, "{id}", id))
			if status != r.Status {
				t.Fatalf("%s: got status %d, %v", r.Of, status, answer)
			}
			switch r.Of {
			case "get_current_user_id":
				if n, err := answer["id"].(json.Number).Int64(); err != nil || n <= 0 || answer["username"] != "ada" {
					t.Errorf("got user %v", answer)
				}
			case "get_all_open_questions_from_tournament":
				if titles(answer) != "m2" || answer["next"] != nil || answer["previous"] != nil {
					t.Fatalf("got assignments %v, want m2", answer)
				}
				id = answer["results"].([]any)[0].(map[string]any)["id"].(json.Number).String()
			case "get_question_by_post_id":
				checkPost(t, answer)
			}
		}
		if got := s.predictions(t); !reflect.DeepEqual(got, []string{"m2 0.62 A recorded comment.\n"}) {
			t.Errorf("published %q", got)
		}
		own := s.get(t, "/posts/"+id+"/")["question"].(map[string]any)["my_forecasts"].(map[string]any)["latest"].(map[string]any)
		if values := fmt.Sprint(own["forecast_values"]); values != "[0.38 0.62]" || own["end_time"] != nil {
			t.Errorf("got own forecast %v", own)
		}
	})
}

// checkPost checks the fields of m2 that BinaryQuestion.from_metaculus_api_json reads.
func checkPost(t *testing.T, post map[string]any) {
	t.Helper()
	q := post["question"].(map[string]any)
	latest := q["aggregations"].(map[string]any)["recency_weighted"].(map[string]any)["latest"].(map[string]any)
	projects := post["projects"].(map[string]any)
	for name, c := range map[string]struct{ got, want any }{
		"type": {q["type"], "binary"}, "status": {q["status"], "open"}, "title": {q["title"], "Will m2 happen?"},
		"criteria": {q["resolution_criteria"], "Yes if it does."}, "fine print": {q["fine_print"], "Resolution source: A paper"},
		"background": {q["description"], "One of the questions of the event “What happens?”."},
		"ids":        {q["id"], post["id"]}, "resolution": {q["resolution"], nil}, "history": {q["my_forecasts"].(map[string]any)["history"], []any{}},
		"price": {fmt.Sprint(latest["centers"]), "[0.7]"}, "forecasters": {fmt.Sprint(post["nr_forecasters"]), "0"},
		"feed":        {projects["default_project"].(map[string]any)["visibility"], "normal"},
		"tournaments": {projects["tournament"].([]any)[0].(map[string]any)["slug"], "assignments"},
		"category":    {projects["category"].([]any)[0].(map[string]any)["name"], "science"},
		"bots":        {q["include_bots_in_aggregates"], false},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.got, c.want)
		}
	}
	for _, name := range []string{"published_at", "open_time", "scheduled_close_time", "scheduled_resolve_time"} {
		if _, err := time.Parse(time.RFC3339, fmt.Sprint(post[name])); err != nil {
			t.Errorf("%s is %v, want an RFC 3339 time", name, post[name])
		}
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		user := fmt.Sprint(s.get(t, "/users/me/")["id"])
		s.send(t, "POST", base+"/questions/forecast/", `[{"question":1001,"probability_yes":0.5}]`)
		s.send(t, "POST", base+"/comments/create/", `{"on_post":1001,"text":"Why."}`)
		day := time.Now().UTC().Add(72 * time.Hour).Format(time.DateOnly) // after 1001 and before m3
		for path, want := range map[string]string{
			"": "m1 m2 1001 m3", "?statuses=open&order_by=published_time": "m3 1001 m2 m1", "?order_by=-scheduled_close_time": "m3 1001 m2 m1",
			"?statuses=closed": "over", "?statuses=resolved": "", "?statuses=open&statuses=closed": "m1 m2 1001 over m3", "?statuses=upcoming": "",
			"?tournaments=science": "m2 m3", "?tournaments=science&tournaments=assignments&tournaments=politics": "m1 m2 m3",
			"?tournaments=crypto": "", "?forecast_type=numeric": "", "?forecast_type=numeric&forecast_type=binary&limit=1": "m1",
			"?limit=2&offset=1": "m2 1001", "?offset=4": "", "?offset=1000000": "", "?forecaster_id=" + user: "1001",
			"?open_time__lt=" + time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly): "m3", "?scheduled_resolve_time__gt=" + day: "m3",
			"?scheduled_resolve_time__lt=" + day + "&limit=3": "m1 m2 1001", "?something=else&with_cp=true": "m1 m2 1001 m3",
		} {
			if got := titles(s.get(t, "/posts/"+path)); got != want {
				t.Errorf("%s lists %q, want %q", path, got, want)
			}
		}
		// Each page links to the previous and the next one.
		next, _ := s.get(t, "/posts/?limit=3&tournaments=science&tournaments=politics&tournaments=assignments&offset=1")["previous"].(string)
		if !strings.HasPrefix(next, s.url+base+"/posts/?limit=3&offset=0&tournaments=") {
			t.Errorf("got previous page %s", next)
		}
		next, _ = s.get(t, "/posts/?limit=3")["next"].(string)
		if got := titles(s.get(t, strings.TrimPrefix(next, s.url+base))); got != "m3" {
			t.Errorf("the next page %s lists %q, want m3", next, got)
		}
	})
}

// TestRefusals checks that each refusal says what to send instead, in the field detail that clients
// show.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, database.SQLite)
	over := "1000000006164997490" // 10^18 plus the number with the bytes 01 "over"
	for _, c := range []struct {
		method, path, body string
		status             int
		detail             string
	}{
		{"GET", "/posts/?limit=101", "", 400, "from 1 to 100"}, {"GET", "/posts/?offset=-1", "", 400, "offset must be"},
		{"GET", "/posts/?statuses=odd", "", 400, "open, closed, resolved"}, {"GET", "/posts/?tournaments=minibench", "", 400, `no "minibench": send assignments`},
		{"GET", "/posts/?open_time__gt=soon", "", 400, "2027-01-31"}, {"GET", "/posts/?forecaster_id=1", "", 400, "your own id"}, {"GET", "/posts/?limit=%zz", "", 400, "query string"},
		{"GET", "/posts/999/", "", 404, "no yes-or-no question"}, {"GET", "/posts/x/", "", 404, "no yes-or-no question"}, {"GET", "/nothing/", "", 404, "nothing at this path"},
		{"DELETE", "/posts/", "", 405, "use GET"},
		{"POST", "/questions/forecast/", `{"question":1001}`, 400, `a JSON array: [{"question": 123`}, {"POST", "/questions/forecast/", `[`, 400, "a JSON array"},
		{"POST", "/questions/forecast/", `[]`, 422, "1 to 20"}, {"POST", "/questions/forecast/", `[{"question":1001}]`, 422, "[0].probability_yes is required"},
		{"POST", "/questions/forecast/", `[{"question":1001,"probability_yes":62}]`, 422, "from 0 to 1, such as 0.62"},
		{"POST", "/questions/forecast/", `[{"question":1001,"continuous_cdf":[0,1]}]`, 422, "answered with yes or no"},
		{"POST", "/questions/forecast/", `[{"question":1001,"probability_yes":0.5},{"question":7,"probability_yes":0.5}]`, 404, "no yes-or-no question"},
		{"POST", "/questions/forecast/", `[{"question":` + over + `,"probability_yes":0.5}]`, 409, "is closed"},
		{"POST", "/comments/create/", `{"on_post":1001,"text":"  "}`, 422, "text is required"}, {"POST", "/comments/create/", `{"on_post":1001,"text":"x","parent":3}`, 422, "no replies"},
		{"POST", "/comments/create/", `{"text":"x"}`, 404, "no yes-or-no question"}, {"POST", "/comments/create/", `{"on_post":1001,"text":"` + strings.Repeat("x", 520<<10) + `"}`, 413, "524288"},
	} {
		status, answer := s.send(t, c.method, base+c.path, c.body)
		if detail, _ := answer["detail"].(string); status != c.status || !strings.Contains(detail, c.detail) {
			t.Errorf("%s %s %.80s: got status %d, %v; want %d %s", c.method, c.path, c.body, status, answer, c.status, c.detail)
		}
	}
	if got := s.predictions(t); len(got) != 0 {
		t.Errorf("published %q", got)
	}
	if n, err := s.DB.NewSelect().Table("prediction_parts").Count(t.Context()); n != 0 || err != nil {
		t.Errorf("%d parts were stored (error %v), want 0", n, err)
	}
	key := s.key
	for sent, code := range map[string]string{"": "missing_credentials", "wrong": "invalid_credentials"} {
		s.key = sent
		if status, answer := s.send(t, "GET", base+"/posts/", ""); status != 401 || answer["code"] != code {
			t.Errorf("with key %q: got status %d, %v", sent, status, answer)
		}
	}
	s.key = key
}

// TestForecastsAreCheckedFirst checks that a refused forecast keeps the others of its request from being stored, and
// that the refusal says what to do in terms of this API.
func TestForecastsAreCheckedFirst(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		status, answer := s.send(t, "POST", "/api/predictions", `{"marketId":"m3","confidence":0.3,"thesis":"Why.","reveal":"close"}`)
		if status != 200 {
			t.Fatal(status, answer)
		}
		const m3 = "1000000000000093491"
		for path, body := range map[string]string{
			"/questions/forecast/": `[{"question":1001,"probability_yes":0.6},{"question":` + m3 + `,"probability_yes":0.3}]`,
			"/comments/create/":    `{"on_post":` + m3 + `,"text":"Why."}`,
		} {
			status, answer := s.send(t, "POST", base+path, body)
			detail, _ := answer["detail"].(string)
			if status != 422 || !strings.Contains(detail, "question "+m3+" that is withheld") || !strings.Contains(detail, "POST /api/predictions") {
				t.Errorf("%s: got status %d, %v", path, status, answer)
			}
		}
		if n, err := s.DB.NewSelect().Table("prediction_parts").Count(t.Context()); n != 0 || err != nil {
			t.Errorf("%d parts were stored (error %v), want 0", n, err)
		}
	})
}

// TestQuestionsWithoutAScheduledClose checks that every question that is listed as open can be forecast.
func TestQuestionsWithoutAScheduledClose(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		for id, closes := range map[string]any{"m1": nil, "m2": database.Stored(time.Now().Add(-time.Hour))} {
			if _, err := s.DB.ExecContext(t.Context(), "UPDATE markets SET closes_at = ? WHERE id = ?", closes, id); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range s.get(t, "/posts/?order_by=published_time")["results"].([]any) {
			id := p.(map[string]any)["id"].(json.Number).String()
			status, answer := s.send(t, "POST", base+"/questions/forecast/", `[{"question":`+id+`,"probability_yes":0.6}]`)
			if status != 201 {
				t.Errorf("forecast of %s: got status %d, %v", id, status, answer)
			}
			if status, answer := s.send(t, "POST", base+"/comments/create/", `{"on_post":`+id+`,"text":"Why."}`); status != 201 {
				t.Errorf("comment on %s: got status %d, %v", id, status, answer)
			}
		}
		want := []string{"m1 0.6 Why.", "m2 0.6 Why.", "1001 0.6 Why.", "m3 0.6 Why."}
		if got := s.predictions(t); !reflect.DeepEqual(got, want) {
			t.Errorf("published %q, want %q", got, want)
		}
	})
}

// TestForecastsCountEach checks that an agent that sends many forecasts in each request can't store more than its
// limit allows, and that only forecasts which the service failed to store aren't counted.
func TestForecastsCountEach(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *service) {
		forecasts := func(n int, last string) string {
			one := `{"question":1001,"probability_yes":0.5},`
			return "[" + strings.Repeat(one, n-1) + strings.Replace(one[:len(one)-1], "1001", last, 1) + "]"
		}
		rename := func(from, to string) {
			t.Helper()
			if _, err := s.DB.ExecContext(t.Context(), "ALTER TABLE "+from+" RENAME TO "+to); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range []struct {
			of, body string
			gone     bool // the table of forecasts
			status   int
			detail   string
		}{
			{"failed forecasts count as one", forecasts(12, "1001"), true, 500, ""},
			{"29 are left", forecasts(20, "1001"), false, 201, ""},
			{"9 are left, and a refused request counts as one", forecasts(20, "1001"), false, 429, "8 publications are left of 30/h"},
			{"8 are left, and an unknown question doesn't give them back", forecasts(5, "7"), false, 404, "no yes-or-no question"},
			{"3 are left", forecasts(3, "1001"), false, 201, ""},
			{"none is left", forecasts(1, "1001"), false, 429, "30/h"},
		} {
			if c.gone {
				rename("prediction_parts", "gone")
			}
			status, answer := s.send(t, "POST", base+"/questions/forecast/", c.body)
			if c.gone {
				rename("gone", "prediction_parts")
			}
			if detail, _ := answer["detail"].(string); status != c.status || !strings.Contains(detail, c.detail) {
				t.Errorf("%s: got status %d, %v; want %d %s", c.of, status, answer, c.status, c.detail)
			}
		}
	}, func(c *config.Config) { c.RateLimitWrites = config.Rate{N: 30, Per: time.Hour} })
}

// TestLongComment checks that a report is cut to the length of a thesis, and that characters a
// thesis may not have are removed.
func TestLongComment(t *testing.T) {
	t.Parallel()
	s := start(t, database.SQLite)
	text, err := json.Marshal("\u202eA report\x00 about it.\n" + strings.Repeat("word ", 20_000))
	if err != nil {
		t.Fatal(err)
	}
	status, answer := s.send(t, "POST", base+"/comments/create/", `{"on_post":1001,"text":`+string(text)+`}`)
	if kept, _ := answer["text"].(string); status != 201 || !strings.HasPrefix(kept, "A report about it.\nword ") || !strings.HasSuffix(kept, "…") || len([]rune(kept)) > 10_000 || len(kept) < 9_990 {
		t.Errorf("got status %d, %d characters of %.100v", status, len([]rune(kept)), answer)
	}
	if status, answer := s.send(t, "POST", base+"/questions/forecast/", `[{"question":1001,"probability_yes":0.123456}]`); status != 201 {
		t.Errorf("%d %v", status, answer)
	}
	if got := s.predictions(t); !reflect.DeepEqual(got, []string{"1001 0.1235 A report about it.\nw"}) {
		t.Errorf("published %q", got)
	}
}

// TestRecordedBot checks that the script sends exactly the recorded requests and publishes.
func TestRecordedBot(t *testing.T) {
	t.Parallel()
	s := start(t, database.SQLite)
	target, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	proxy := httputil.NewSingleHostReverseProxy(target)
	between := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		seen = append(seen, r.Method+" "+r.RequestURI+" "+string(body))
		mu.Unlock()
		if h := r.Header; h.Get("Authorization") != "Token "+s.key || h.Get("User-Agent") != "python-requests/2.34.2" || h.Get("Accept-Encoding") != "gzip, deflate" ||
			h.Get("Accept") != "*/*" || h.Get("Accept-Language") != "en" || (len(body) > 0) != (h.Get("Content-Type") == "application/json") {
			t.Errorf("headers %v", h)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(between.Close)
	script, err := filepath.Abs("../../../static/clients/recorded_metaculus_bot.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ marketID, number string }{{"", "1000000000000093490"}, {"1001", "1001"}, {"m3", "1000000000000093491"}} {
		cmd := exec.CommandContext(t.Context(), "python3", "-B", "-W", "error", script)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PULSECAST_BASE_URL=" + between.URL, "PULSECAST_API_KEY=" + s.key, "PYTHONIOENCODING=utf-8"}
		if c.marketID != "" {
			cmd.Env = append(cmd.Env, "PULSECAST_MARKET_ID="+c.marketID)
		}
		seen = nil
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "published: 62 % that Yes — Will ") {
			t.Errorf("%v: %s", err, out)
		}
		var want []string
		for _, r := range recordedRequests(t) {
			want = append(want, strings.ReplaceAll(r.Method+" "+base+r.Path+" "+r.Body, "{id}", c.number))
		}
		if !reflect.DeepEqual(seen, want) {
			t.Errorf("sent\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
		}
	}
	if got := s.predictions(t); len(got) != 3 {
		t.Errorf("published %q", got)
	}
}
