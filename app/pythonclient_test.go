package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// python runs a program with the modules of the Python clients and only the given settings in its
// environment. Bots keep the answers of their models in a folder of the test.
func python(t *testing.T, settings []string, args ...string) (output string, err error) {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is missing: apt-get install python3-minimal")
	}
	clients, err := filepath.Abs("../static/clients")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, append([]string{"-B", "-W", "error"}, args...)...)
	cmd.Env = environment(append([]string{"PULSECAST_ANSWERS=" + t.TempDir(), "PYTHONPATH=" + clients, "PYTHONIOENCODING=utf-8"}, settings...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// usePythonClient uses every call of the Python client, and the adapter for bots of
// forecasting-tools, against the real server.
func usePythonClient(t *testing.T, p *process) {
	for _, script := range []string{"check.py", "metaculus.py"} {
		out, err := python(t, []string{"PULSECAST_BASE_URL=" + p.base}, "testdata/clients/"+script)
		if err != nil || !strings.HasSuffix(out, "checked\n") {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
}

// runPythonBot runs the template of a bot. The bot keeps its state in the folder of the test.
func runPythonBot(t *testing.T, p *process) {
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Python bot"})
	key, _ := made["apiKey"].(string)
	dir := t.TempDir()
	state := filepath.Join(dir, "state.json")
	settings := []string{"PULSECAST_BASE_URL=" + p.base, "PULSECAST_API_KEY=" + key, "PULSECAST_ANSWERS=" + filepath.Join(dir, "answers")}
	checkBot(t, p, "python-bot", func(flags ...string) (string, error) {
		return python(t, settings, append([]string{"../static/clients/bot.py", "--state", state}, flags...)...)
	})
	checkBacktestBot(t, p, "python-bot", filepath.Join(dir, "answers"), func(more ...string) (string, error) {
		return python(t, append(settings, more...), "../static/clients/bot.py")
	})
	checkModelAnswers(t, p, "python-bot", func(more ...string) (string, error) {
		return python(t, append(settings, more...), "testdata/clients/answered.py")
	})
}

// checkModelAnswers checks that the template of a bot finds the number in an answer of its model, and that it passes
// on the question and stores nothing if there is none. An unusable answer that an earlier bot stored is asked again.
func checkModelAnswers(t *testing.T, p *process, handle string, run func(settings ...string) (string, error)) {
	t.Helper()
	market, _, _ := p.assignedOutcome()
	for i, c := range []struct {
		answer     string
		confidence float64 // 0 if the bot passes
		thesis     string
	}{
		{"62.5 %\nBecause.\nIndeed.", 0.625, "Because.\nIndeed."},
		{"\n**62 %**\n\nBecause.\n", 0.62, "Because."},
		{"About 62,5\nBecause.", 0.625, "Because."},
		{"62% because of 3 polls.", 0.62, "62% because of 3 polls."},
		{"By 31 December: 12 %\nBecause.", 0.12, "Because."},
		{"Probability (0-100): 62\nBecause.", 0, ""},
		{"From 10 % to 20 %\nBecause.", 0, ""},
		{"", 0, ""},
		{"I can't say.\n62 %", 0, ""},
		{"162 %\nBecause.", 0, ""},
		{"-2\nBecause.", 0, ""},
	} {
		folder := t.TempDir()
		settings := []string{
			"PULSECAST_MARKET_ID=" + market, fmt.Sprintf("PULSECAST_AT=2026-02-03T04:05:%02dZ", i), "PULSECAST_ANSWERS=" + folder,
		}
		out, err := run(append(settings, "MODEL_ANSWER="+c.answer)...)
		kept, _ := filepath.Glob(filepath.Join(folder, "*"))
		if c.confidence == 0 {
			if err != nil || !strings.Contains(out, "passed: ") || len(kept) > 0 {
				t.Errorf("%s with the answer %q: got %v and stored %q, want it to pass\n%s", handle, c.answer, err, kept, out)
			}
			continue
		}
		if err != nil || len(kept) != 1 || !strings.Contains(out, "published: ") {
			t.Errorf("%s with the answer %q: got %v and stored %q\n%s", handle, c.answer, err, kept, out)
			continue
		}
		p.until("/api/predictions?limit=1&agent="+handle, "", func(answer map[string]any) bool {
			said := dig(answer, "predictions", 0)
			return dig(said, "confidence") == c.confidence && dig(said, "thesis") == c.thesis
		})
		if err := os.WriteFile(kept[0], []byte("I can't say."), 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err = run(append(settings, "MODEL_ANSWER="+c.answer)...); err != nil || strings.Contains(out, "passed: ") {
			t.Errorf("%s with an unusable answer in its folder: %v\n%s", handle, err, out)
		}
	}
}

// runTwelveLines runs the bot of the README, which only checks its predictions.
func runTwelveLines(t *testing.T, p *process) {
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Twelve lines"})
	key, _ := made["apiKey"].(string)
	out, err := python(t, []string{"PULSECAST_BASE_URL=" + p.base, "PULSECAST_API_KEY=" + key}, "web/guide/bot.py")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, outcome, price := p.assignedOutcome()
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(secondOutcome) + ` → ([\d.]+) % that.*`).FindStringSubmatch(out)
	if line == nil {
		t.Fatalf("the bot doesn't answer the assignment about a second outcome:\n%s", out)
	}
	if said, err := strconv.ParseFloat(line[1], 64); err != nil || math.Abs(said/100-price) > 0.1 {
		t.Errorf("the price of %s is %v; the bot says %q", outcome, price, line[0])
	}
}

// checkBacktestBot runs the template of a bot as a backtest does. The bot must publish one
// prediction on the market in its environment and end. A second run at the same moment, as after
// --resume, must publish nothing, although its answer differs. A run at another moment must take the
// model's answer from the folder.
func checkBacktestBot(t *testing.T, p *process, handle, answers string, run func(settings ...string) (string, error)) {
	t.Helper()
	list := func(name, path string) []map[string]any {
		t.Helper()
		_, answer := p.call("GET", path, "", nil)
		var out []map[string]any
		items, ok := answer[name].([]any)
		if !ok {
			t.Fatalf("%s: %v", path, answer)
		}
		for _, item := range items {
			out = append(out, item.(map[string]any))
		}
		return out
	}
	done := map[any]bool{}
	for _, made := range list("predictions", "/api/predictions?limit=100&agent="+handle) {
		done[dig(made, "market", "id")] = true
	}
	id := ""
	for _, m := range list("markets", "/api/intelligence/markets?limit=100") {
		if price, priced := m["probability"].(float64); priced && price > 0.2 && price < 0.8 && !done[m["id"]] {
			id, _ = m["id"].(string)
		}
	}
	at := func(second int) []string {
		return []string{"PULSECAST_MARKET_ID=" + id, fmt.Sprintf("PULSECAST_AT=2026-01-02T03:04:%02dZ", second)}
	}
	out, err := run(at(0)...)
	if err != nil || !strings.Contains(out, "published: ") {
		t.Fatalf("in a backtest: %v\n%s", err, out)
	}
	for second := range 5 { // a changed price changes the prompt, but not five times
		kept, err := filepath.Glob(filepath.Join(answers, "*.txt"))
		if err != nil || len(kept) == 0 {
			t.Fatalf("found no answer in %s, %v", answers, err)
		}
		for _, path := range kept {
			if err := os.WriteFile(path, []byte("12.34 %\nFrom the folder."), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out, err = run(at(second)...)
		if said := strings.Contains(out, "published: "); err != nil || said != (second > 0) {
			t.Fatalf("at second %d: %v\n%s", second, err, out)
		}
		if strings.Contains(out, "published: 12.34 %") {
			return
		}
	}
	t.Errorf("the bot took no answer from the folder:\n%s", out)
}

// TestPythonClientRepeats checks that the client repeats only safe requests, waits as the service
// asks, and repeats a publish only with the same Idempotency-Key.
func TestPythonClientRepeats(t *testing.T) {
	t.Parallel()
	const problem = `{"ok":false,"code":"%s","detail":"No.","errors":[],"requestId":"r"}`
	for _, c := range []struct {
		name, call string
		statuses   []int // of the answers in order; 0 breaks the connection
		retryAfter string
		want       string
	}{
		{"a success", "publish", []int{200}, "", "done; 0 pauses, as asked: []"},
		{"a busy service", "publish", []int{503, 200}, "2", "done; 1 pauses, as asked: [2.0]"},
		{"a limit", "register", []int{429, 429, 200}, "7", "done; 2 pauses, as asked: [7.0, 7.0]"},
		{"a limit that is too long", "get", []int{429}, "61", "RateLimited 429 c429; 0 pauses, as asked: []"},
		{"a limit that stays", "get", []int{429, 429, 429}, "1", "RateLimited 429 c429; 2 pauses, as asked: [1.0, 1.0]"},
		{"a broken connection", "publish", []int{0, 200}, "", "done; 1 pauses, as asked: []"},
		{"a broken connection that is unsafe to repeat", "register", []int{0}, "", "Unavailable 0 unreachable; 0 pauses, as asked: []"},
		{"a failure that stays", "get", []int{500, 502, 500}, "", "Unavailable 500 c500; 2 pauses, as asked: []"},
		{"a refusal", "publish", []int{422}, "", "Invalid 422 c422; 0 pauses, as asked: []"},
		{"a redirect", "get", []int{302}, "", "Invalid 302 redirect; 0 pauses, as asked: []"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScripted(t, func(w http.ResponseWriter, n int) {
				status := c.statuses[min(n, len(c.statuses)-1)]
				if status == 0 {
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Location", "http://elsewhere.example/")
				if c.retryAfter != "" && status != 200 {
					w.Header().Set("Retry-After", c.retryAfter)
				}
				w.WriteHeader(status)
				if status == 200 {
					io.WriteString(w, `{"ok":true,"apiKey":"pc_new"}`)
				} else {
					fmt.Fprintf(w, problem, fmt.Sprintf("c%d", status))
				}
			})
			out, err := python(t, []string{"PULSECAST_BASE_URL=" + s.URL}, "testdata/clients/unreliable.py", c.call)
			if err != nil || strings.TrimSpace(out) != c.want {
				t.Errorf("%v: %swant %s", err, out, c.want)
			}
			s.repeatedAs(t, len(c.statuses), c.call == "publish")
		})
	}
}

// TestPythonExport checks that the files of a long export become one: the agent and its keys come once.
func TestPythonExport(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, n int) {
		next := []string{`"p1"`, "null"}[n]
		fmt.Fprintf(w, `{"type":"agent"}%[1]s{"type":"key"}%[1]s{"type":"prediction","n":%[2]d}%[1]s{"type":"end","nextCursor":%[3]s}`, "\n", n, next)
	})
	out, err := python(t, []string{"PULSECAST_BASE_URL=" + s.URL}, "-c",
		`import pulsecast; print(*(line["type"] + str(line.get("n", "")) for line in pulsecast.Client().export()))`)
	if want := "agent key prediction0 prediction1\n"; err != nil || out != want || s.got[1].FormValue("cursor") != "p1" {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

// TestPythonTexts checks that a text is returned as text, and that only an answer that isn't the service's is taken for a
// failure, which bots wait for.
func TestPythonTexts(t *testing.T) {
	t.Parallel()
	s := newScripted(t, func(w http.ResponseWriter, n int) {
		if n == 2 { // a proxy's page
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<p>Back soon")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "Näh.\n")
	})
	out, err := python(t, []string{"PULSECAST_BASE_URL=" + s.URL}, "-c", `import pulsecast
client = pulsecast.Client()
print(client.text("/api/skill"), end="")
for _ in range(2):
    try:
        client.get("/api/skill")
    except pulsecast.Error as error:
        print(type(error).__name__, error)`)
	want := "Näh.\nError 200 unexpected_answer: The answer is a text. Read it with text().\n" +
		"Unavailable 200 unexpected_answer: The answer (text/html) is not from Pulsecast: b'<p>Back soon'\n"
	if err != nil || out != want {
		t.Errorf("got %q, %v; want %q", out, err, want)
	}
}

// scripted is a server that gives prepared answers in order and records the requests.
type scripted struct {
	*httptest.Server
	mu   sync.Mutex
	got  []*http.Request
	body []string
}

func newScripted(t *testing.T, answer func(w http.ResponseWriter, n int)) *scripted {
	t.Helper()
	s := &scripted{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		n := len(s.got)
		s.got, s.body = append(s.got, r), append(s.body, string(body))
		s.mu.Unlock()
		answer(w, n)
	}))
	t.Cleanup(s.Close)
	return s
}

// repeatedAs expects this many equal requests. If they publish, all must have the same
// Idempotency-Key.
func (s *scripted) repeatedAs(t *testing.T, times int, publishes bool) {
	t.Helper()
	if len(s.got) != times {
		t.Fatalf("%d requests, want %d", len(s.got), times)
	}
	for i, r := range s.got {
		key := r.Header.Get("Idempotency-Key")
		if (key != "") != publishes || key != s.got[0].Header.Get("Idempotency-Key") || s.body[i] != s.body[0] {
			t.Errorf("request %d has the Idempotency-Key %q and the body %s", i, key, s.body[i])
		}
		if agent := r.UserAgent(); !strings.HasPrefix(agent, "pulsecast-py/") {
			t.Errorf("User-Agent %q", agent)
		}
	}
}

// TestPythonBotLooksAgain checks that the bot looks again after publishing and before waiting,
// because a prediction can make its next look due earlier.
func TestPythonBotLooksAgain(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  string
	}{
		{[]string{"--publish"}, "look publish look wait"},
		{nil, "look check wait"},
	} {
		out, err := python(t, nil, append([]string{"testdata/clients/lookagain.py"}, c.flags...)...)
		lines := strings.Split(strings.TrimSpace(out), "\n")
		if got := lines[len(lines)-1]; err != nil || got != c.want {
			t.Errorf("with %q: %v: %s\nwant %s", c.flags, err, out, c.want)
		}
	}
}

// TestPythonUpdates checks that the client stores its cursor after each handled page, and after an
// absence so long that updates expired.
func TestPythonUpdates(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(updatesScript))
	t.Cleanup(s.Close)
	state := filepath.Join(t.TempDir(), "state.json")
	for _, step := range []struct {
		name  string
		args  []string
		wants string
	}{
		{"first look", nil, "changed=True gap=False assignments=2 wait=9"},
		{"crash in the second page", []string{"crash"}, "1 2 3 changed=True gap=False assignments=2 wait=1"},
		{"second page left and read again", []string{"leave"}, "3 3 4 changed=True gap=False assignments=2 wait=1"},
		{"long absence", nil, "5 changed=True gap=True assignments=2 wait=1"},
	} {
		out, err := python(t, []string{"PULSECAST_BASE_URL=" + s.URL}, append([]string{"testdata/clients/updates.py", state}, step.args...)...)
		if err != nil || strings.TrimSpace(out) != step.wants {
			t.Errorf("%s: %v: %swant %s", step.name, err, out, step.wants)
		}
	}
}

// updatesScript answers by cursor: the present, two pages, an expired cursor, the rest. The cursor is also the ETag.
func updatesScript(w http.ResponseWriter, r *http.Request) {
	page := func(cursor string, more bool, next string, ids ...string) {
		events := []map[string]any{}
		for _, id := range ids {
			events = append(events, map[string]any{"id": id, "type": "market.moved", "at": "2026-01-01T00:00:00Z", "ref": map[string]any{}})
		}
		at := any(next)
		if next == "" {
			at = nil
		}
		json.NewEncoder(w).Encode(map[string]any{
			"ok": true, "events": events, "cursor": cursor, "hasMore": more, "nextCheckAt": at,
			"now": map[string]any{"rank": nil, "progress": map[string]any{}, "assignments": 2},
		})
	}
	w.Header().Set("ETag", `"`+r.URL.Query().Get("since")+`"`)
	if r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	switch r.URL.Query().Get("since") {
	case "":
		page("c1", false, "")
	case "c1":
		page("c2", true, "", "1", "2")
	case "c2":
		page("old", false, "2026-01-01T00:00:00Z", "3", "4")
	case "old":
		w.WriteHeader(410)
		io.WriteString(w, `{"ok":false,"code":"cursor_expired","detail":"Too old.","errors":[],"requestId":"r","cursor":"c5"}`)
	case "c5":
		page("c5", false, "2026-01-01T00:00:00.1234567Z", "5")
	}
}
