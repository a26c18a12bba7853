package app_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// author is a person who uses the client commands with separate settings.
type author struct {
	t    *testing.T
	base string
	home string
}

func newAuthor(t *testing.T, p *process) *author {
	return &author{t, p.base, t.TempDir()}
}

func (a *author) command(input string, args ...string) *exec.Cmd {
	a.t.Helper()
	cmd := command(a.t, []string{"HOME=" + a.home, "XDG_CONFIG_HOME=" + a.home, "PULSECAST_BASE_URL=" + a.base}, args...)
	cmd.Stdin = strings.NewReader(input)
	return cmd
}

// run runs a command, expects an exit code and returns the output.
func (a *author) run(code int, input string, args ...string) string {
	a.t.Helper()
	cmd := a.command(input, args...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if got := cmd.ProcessState.ExitCode(); got != code {
		a.t.Errorf("%v: exit code %d, want %d: %v\n%s%s", args, got, code, err, out, &failed)
	}
	return string(out) + failed.String()
}

// says expects words in the output of a command.
func (a *author) says(code int, words, input string, args ...string) {
	a.t.Helper()
	if out := a.run(code, input, args...); !strings.Contains(out, words) {
		a.t.Errorf("%v doesn't say %q:\n%s", args, words, out)
	}
}

// answered decodes the output of a command with --json.
func (a *author) answered(args ...string) (answer map[string]any) {
	a.t.Helper()
	out := a.run(0, "", append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &answer); err != nil {
		a.t.Errorf("%v: %v\n%s", args, err, out)
	}
	return answer
}

// TestClients tries every client against one demo, as an author would.
func TestClients(t *testing.T) {
	t.Parallel()
	p := startArchivedDemo(t, "LOG_FORMAT=off", "REGISTRATION_RATE=off")
	assignSecondOutcome(p)
	for name, try := range map[string]func(*testing.T, *process){
		"Python": usePythonClient, "Python bot": runPythonBot, "twelve lines": runTwelveLines, "TypeScript": useTypeScriptClient,
		"commands": useCommands, "watch": useWatch, "replay": useReplay,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			try(t, p)
		})
	}
}

// secondOutcome is the title of an assignment about the second outcome of a market.
const secondOutcome = "How likely is the second outcome?"

// assignSecondOutcome writes that assignment, for the market of two outcomes whose prices differ most within the
// range that the bots answer.
func assignSecondOutcome(p *process) {
	p.t.Helper()
	now := time.Now().UTC()
	_, listed := p.call("GET", "/api/intelligence/markets?limit=100", "", nil)
	markets, _ := listed["markets"].([]any)
	var market, outcome string
	var most float64
	for _, m := range markets {
		price, _ := dig(m, "probability").(float64)
		ends, _ := dig(m, "endDate").(string)
		second, _ := dig(m, "outcomes", 1).(string)
		away := math.Abs(price - 0.5)
		if second != "" && dig(m, "outcomes", 2) == nil && away > most && away < 0.4 && ends > now.AddDate(0, 0, 1).Format(time.RFC3339) {
			market, outcome, most = dig(m, "id").(string), second, away
		}
	}
	due := now.Add(time.Hour).Format("2006-01-02 15:04")
	p.admin().act("/admin/assignments", "/admin/assignments",
		url.Values{"title": {secondOutcome}, "market": {market}, "outcome": {outcome}, "dueAt": {due}})
}

// assignedOutcome returns the market and the outcome of that assignment, and the outcome's price.
func (p *process) assignedOutcome() (market, outcome string, price float64) {
	p.t.Helper()
	_, answer := p.call("GET", "/api/assignments?limit=100", "", nil)
	list, _ := answer["assignments"].([]any)
	for _, a := range list {
		if dig(a, "title") == secondOutcome {
			market, _ = dig(a, "market", "id").(string)
			outcome, _ = dig(a, "outcome").(string)
			price, _ = dig(a, "market", "prices", 1).(float64)
		}
	}
	if price == 0 {
		p.t.Fatalf("the assignment about a second outcome has no price: %v", answer)
	}
	return market, outcome, price
}

// useCommands takes an author's usual steps: getting a key, reading signals, publishing, and
// reading the results.
func useCommands(t *testing.T, p *process) {
	a := newAuthor(t, p)

	a.says(4, "run pulsecast login", "", "review")
	a.says(4, "invalid_credentials", "pc_wrong\n", "login")
	a.says(0, "ada is logged in", "", "login", "--register", "Ada", "--model", "m-1")

	raw := p.get(t, "/api/intelligence/markets?limit=3")
	if out := a.run(0, "", "markets", "--limit", "3", "--json"); out != raw+"\n" {
		t.Errorf("with --json, got\n%s\nthe service answers\n%s", out, raw)
	}
	if lines := strings.Split(a.run(0, "", "markets", "--limit", "3"), "\n"); len(lines) != 5 || !strings.HasPrefix(lines[0], "ID\t") {
		t.Errorf("%d lines: %q", len(lines), lines)
	}
	market := dig(a.answered("markets", "--limit", "1"), "markets", 0)
	id, outcome := dig(market, "id").(string), dig(market, "outcomes", 0).(string)
	a.says(0, "consensus", "", "markets", id)
	a.says(3, "not_found", "", "markets", "no-such-market")
	a.says(3, "limit", "", "markets", "--limit", "0")
	a.says(0, "worldnews", "", "news")
	a.says(0, "QUESTION", "", "assignments")
	assigned, other, price := p.assignedOutcome()
	line := regexp.MustCompile(`(?m)^` + assigned + `\t` + other + `\t(\d+\.\d) %\t.*`).FindStringSubmatch(a.run(0, "", "assignments", "--limit", "100"))
	if line == nil {
		t.Error("assignments doesn't print the one about a second outcome")
	} else if shown, err := strconv.ParseFloat(line[1], 64); err != nil || math.Abs(shown/100-price) > 0.1 {
		t.Errorf("the price of %s is %v; assignments prints %q", other, price, line[0])
	}
	a.says(0, "harbor-pilot", "", "leaderboard", "--window", "90d")
	a.says(0, "harbor-pilot", "", "review", "harbor-pilot")

	said := []string{"publish", "--market", id, "--outcome", outcome, "--thesis", "Because."}
	a.says(2, "add --yes", "", append(said, "--confidence", "0.72")...)
	a.says(3, "0.72", "", append(said, "--confidence", "72", "--yes")...)
	a.says(2, "--reveal: is empty", "", append(said, "--confidence", "0.72", "--yes", "--reveal", "")...)
	a.says(0, "Dry run", "", append(said, "--confidence", "0.72", "--dry-run")...)
	a.says(0, "33.33 % that", "", append(said, "--confidence", "0.333333", "--dry-run")...)
	first := a.answered(append(said, "--confidence", "0.72", "--yes", "--idempotency-key", "one", "--evidence", "A page=https://example.org/?a=b")...)
	again := a.answered(append(said, "--confidence", "0.72", "--yes", "--idempotency-key", "one", "--evidence", "A page=https://example.org/?a=b")...)
	if dig(first, "prediction", "id") != dig(again, "prediction", "id") || dig(first, "prediction", "evidence", 0, "url") != "https://example.org/?a=b" {
		t.Errorf("%v\n%v", first, again)
	}
	one := `{"marketId": "` + id + `", "outcome": "` + outcome + `", "thesis": "Again.", "confidence": 0.6}`
	file := filepath.Join(t.TempDir(), "prediction.json")
	if err := os.WriteFile(file, []byte(one), 0o600); err != nil {
		t.Fatal(err)
	}
	a.says(0, "60 % that", "", "publish", file, "--yes")
	a.says(3, "1 of 2 predictions were refused", "["+one+`, {"thesis": "Nothing."}]`, "publish", "-", "--yes")
	a.says(3, "did you mean", `{"market_id": "x", "thesis": "x", "confidence": 0.5}`, "publish", "-", "--yes")
	a.says(2, "not from both", "", "publish", file, "--yes", "--model", "m-2")

	export := filepath.Join(t.TempDir(), "export.jsonl")
	a.says(0, "is written", "", "export", "--output", export)
	content, err := os.ReadFile(export)
	if err != nil || strings.Count(string(content), `"type":"prediction"`) != 3 || !strings.Contains(string(content), `"type":"end"`) {
		t.Errorf("%v\n%s", err, content)
	}
	a.says(0, "id,createdAt", "", "export", "--format", "csv")

	a.says(0, "this was the first call", "", "updates")
	a.says(0, "next check at", "", "updates")
	a.says(3, "cursor", "", "updates", "--since", "nonsense")

	a.says(0, "still valid", "", "logout")
	a.says(4, "run pulsecast login", "", "updates")
	a.says(6, "can't be reached", "", "markets", "--base-url", "http://127.0.0.1:9")
	a.says(0, "activate tab completion", "", "completion", "bash")
}

// useWatch checks that watch prints an update as it comes, as a line or as the service's JSON.
func useWatch(t *testing.T, p *process) {
	a := newAuthor(t, p)
	a.run(0, "", "login", "--register", "Watcher")
	for _, flags := range [][]string{nil, {"--json"}} {
		watch := a.command("", append([]string{"watch", "--types", "prediction.created", "--agent", "watcher"}, flags...)...)
		out, err := watch.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := watch.Start(); err != nil {
			t.Fatal(err)
		}
		// The stream may begin after the first prediction, so publish until it shows one.
		seen := make(chan string, 1)
		go func() {
			line, _ := bufio.NewReader(out).ReadString('\n')
			seen <- line
		}()
		line := publishUntil(a, seen)
		if !strings.Contains(line, "prediction.created") || (flags != nil) != strings.HasPrefix(line, "{") {
			t.Errorf("watch %v printed %q", flags, line)
		}
		if err := watch.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, out)
		if err := watch.Wait(); err != nil {
			t.Errorf("watch %v: %v", flags, err)
		}
	}
}

// publishUntil publishes again and again until watch prints a line.
func publishUntil(a *author, seen <-chan string) (line string) {
	a.t.Helper()
	for range 50 {
		a.run(0, "", "publish", "--title", "Will it?", "--horizon", time.Now().AddDate(0, 1, 0).UTC().Format(time.RFC3339), "--confidence", "0.5", "--thesis", "x", "--yes")
		select {
		case line = <-seen:
			return line
		default:
		}
	}
	a.t.Error("watch printed none of 50 predictions")
	return ""
}

// get returns the body of an answer.
func (p *process) get(t *testing.T, path string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "pulsecast-tests/1.0")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
