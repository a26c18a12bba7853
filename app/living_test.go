package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestDemoLives checks the demo while no source answers: a visitor's prediction on a sample market
// gets its baseline, and health says what is served and what fails.
func TestDemoLives(t *testing.T) {
	t.Parallel()
	p, key := startDemo(t, "MARKETS_INTERVAL=2s", "NEWS_INTERVAL=1s")
	_, shown := p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	start, _ := shown["asOf"].(string)
	for _, feed := range []string{"markets", "news"} {
		p.until("/api/health", "", func(a map[string]any) bool {
			return dig(a, "signals", feed, "source") == "sample" && dig(a, "signals", feed, "stale") == false &&
				dig(a, "signals", feed, "lastError") == "refused" && a["status"] == "ok"
		})
	}
	// The prices of the copied demo are older than three intervals, so they are no baseline. Wait for a new one.
	p.until("/api/intelligence/markets", "", func(a map[string]any) bool { return a["asOf"].(string) > start })
	_, shown = p.call("GET", "/api/intelligence/markets?limit=1", "", nil)
	status, published := p.call("POST", "/api/predictions", key, map[string]any{
		"title": "The first one?", "thesis": "A visitor's guess.", "confidence": 0.7,
		"horizonAt": time.Now().AddDate(0, 1, 0).UTC(), "marketId": dig(shown, "markets", 0, "id"),
	})
	if status != 200 || dig(shown, "markets", 0, "sample") != true {
		t.Fatalf("published on %v: %d %v", shown, status, published)
	}
	p.until(fmt.Sprint("/api/predictions/", dig(published, "prediction", "id")), "", func(a map[string]any) bool {
		return dig(a, "prediction", "baseline", "after") != nil && dig(a, "prediction", "baseline", "before") != nil
	})
	first, _ := shown["asOf"].(string)
	p.until("/api/intelligence/markets", "", func(a map[string]any) bool { return a["asOf"].(string) > first && a["stale"] == false })
}

// TestDemoStepsAside checks that live data replaces the sample world once a source answers.
func TestDemoStepsAside(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	u.BreakWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	p, _ := startDemo(t, "MARKETS_INTERVAL=1s", "POLYMARKET_URL="+u.URL, "POLYMARKET_CLOB_URL="+u.URL)
	p.until("/api/health", "", func(a map[string]any) bool {
		return dig(a, "signals", "markets", "lastError") == "http_403" && dig(a, "signals", "markets", "source") == "sample"
	})
	u.SetMarket("m1", nil)
	u.BreakWith(nil)
	p.until("/api/intelligence/markets", "", func(a map[string]any) bool {
		markets, _ := a["markets"].([]any)
		return len(markets) == 1 && dig(markets, 0, "id") == "m1" && dig(markets, 0, "sample") == false
	})
	p.until("/api/intelligence/markets?sort=newest", "", func(a map[string]any) bool {
		markets, _ := a["markets"].([]any)
		return len(markets) == 1 && dig(markets, 0, "id") == "m1"
	})
	u.BreakWith(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	p.until("/api/health", "", func(a map[string]any) bool {
		return dig(a, "signals", "markets", "lastError") == "http_403" && dig(a, "signals", "markets", "source") == "polymarket" &&
			dig(a, "signals", "markets", "count") == 1.0 && a["status"] == "degraded"
	})
}

// quickstart returns the commands of /api/quickstart as printed.
func (p *process) quickstart() (commands []string) {
	p.t.Helper()
	res, err := http.Get(p.base + "/api/quickstart")
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != 200 {
		p.t.Fatalf("%d %v: %s", res.StatusCode, err, text)
	}
	for line := range strings.Lines(string(text)) {
		switch line = strings.TrimSpace(line); {
		case line == "":
		case !strings.HasPrefix(line, "#"):
			commands = append(commands, line)
		case strings.ContainsAny(line, "'\"`"):
			p.t.Errorf("a shell without comments at its prompt, such as zsh, takes the quote in this comment for the start of a string: %s", line)
		}
	}
	return commands
}

// TestQuickstartPasted runs every command of the quickstart as printed, in order, in one shell.
// Every request must get an answer with ok, and the published prediction must be about a market.
func TestQuickstartPasted(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the quickstart needs %s: install bash, curl and sed", tool)
		}
	}
	p, _ := startDemo(t)
	commands := p.quickstart()
	const end = "=== end of a command ==="
	shell := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc")
	shell.Env, shell.Dir = append(environment(), "HOME="+t.TempDir()), t.TempDir()
	shell.Stdin = strings.NewReader(strings.Join(commands, "\necho; echo '"+end+"'\n") + "\n")
	var complaints strings.Builder
	shell.Stderr = &complaints
	out, err := shell.Output()
	if err != nil || complaints.Len() > 0 {
		t.Fatalf("%v: %s\n%s", err, &complaints, out)
	}
	answers := strings.Split(string(out), end)
	if len(answers) != len(commands) || len(commands) < 10 {
		t.Fatalf("got %d answers to %d commands:\n%s", len(answers), len(commands), out)
	}
	published := 0
	for i, command := range commands {
		answer := strings.TrimSpace(answers[i])
		if strings.Contains(command, "export ") {
			if answer != "" {
				t.Errorf("%s\nprints %s", command, answer)
			}
			continue
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(answer), &said); err != nil || said["ok"] != true {
			t.Errorf("%s\nanswers %q: %v", command, answer, err)
		}
		if strings.Contains(command, "Idempotency-Key") {
			published++
			if dig(said, "prediction", "market", "id") == nil || dig(said, "prediction", "agent", "handle") == nil {
				t.Errorf("published %v", said)
			}
		}
	}
	if published != 1 {
		t.Errorf("%d commands publish, want 1", published)
	}
}

// TestKeyRefused pastes the commands that get a key while registration is refused. They must stop with the
// server's message and not go on with an empty key.
func TestKeyRefused(t *testing.T) {
	t.Parallel()
	p, _ := startDemo(t, "LOG_FORMAT=off", "REGISTRATION_RATE=1/h")
	if status, _ := p.call("POST", "/api/agents", "", map[string]any{"name": "First"}); status != http.StatusOK {
		t.Fatalf("the first agent got %d", status)
	}
	for name, commands := range map[string][]string{
		"quickstart": p.quickstart(),
		"docs":       blocksOf(p.page(t, "/docs").Find("section[aria-labelledby=key]")),
	} {
		for _, options := range [][]string{nil, {"-eo", "pipefail"}} {
			shell := exec.CommandContext(t.Context(), "bash", append([]string{"--noprofile", "--norc"}, options...)...)
			shell.Env, shell.Dir = append(environment("PULSECAST_API_KEY=of-before"), "HOME="+t.TempDir()), t.TempDir()
			shell.Stdin = strings.NewReader(strings.Join(commands, "\n") + "\necho went on with \"$PULSECAST_API_KEY\"\n")
			var complaints strings.Builder
			shell.Stderr = &complaints
			out, err := shell.Output()
			if err == nil || !strings.Contains(complaints.String(), "rate_limited") || strings.Contains(string(out), "went on") {
				t.Errorf("%s with options %q: %v, says %q, prints\n%s", name, options, err, &complaints, out)
			}
		}
	}
}
