package app_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// useTypeScriptClient compiles the TypeScript client and its bot under strict rules, and runs them
// against the real server. It needs Node.js and the packages that npm installs.
func useTypeScriptClient(t *testing.T, p *process) {
	modules, err := filepath.Abs("../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	compiler := filepath.Join(modules, ".bin", "tsc")
	if _, err := os.Stat(compiler); errors.Is(err, fs.ErrNotExist) {
		t.Skip("the TypeScript compiler is missing: npm ci installs it (NEED_NPM)")
	}
	dir := t.TempDir()
	for _, path := range []string{"../static/clients/pulsecast.ts", "../static/clients/bot.ts", "testdata/clients/check.ts"} {
		copyFile(t, path, filepath.Join(dir, filepath.Base(path)))
	}
	writeAnswered(t, filepath.Join(dir, "answered.ts"))
	config, err := filepath.Abs("../static/clients/tsconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(dir, "package.json"), map[string]any{"type": "module"})
	writeJSON(t, filepath.Join(dir, "tsconfig.json"), map[string]any{
		"extends": config, "include": []string{"*.ts"},
		"compilerOptions": map[string]any{"noEmit": false, "outDir": "out", "typeRoots": []string{filepath.Join(modules, "@types")}},
	})
	if out, err := exec.CommandContext(t.Context(), compiler, "--project", dir).CombinedOutput(); err != nil {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	if out, err := node(t, dir, p, "", nil, "check.js"); err != nil || !strings.HasSuffix(out, "checked\n") {
		t.Errorf("check.ts: %v\n%s", err, out)
	}
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "TypeScript bot"})
	key, _ := made["apiKey"].(string)
	checkBot(t, p, "typescript-bot", func(flags ...string) (string, error) {
		return node(t, dir, p, key, nil, append([]string{"bot.js"}, flags...)...)
	})
	checkStateOfAnother(t, filepath.Join(dir, "out", "elsewhere.json"), p.base, func(path string) (string, error) {
		return node(t, dir, p, key, []string{"PULSECAST_STATE=" + path}, "bot.js", "--once")
	})
	checkBacktestBot(t, p, "typescript-bot", filepath.Join(dir, "out", "pulsecast-answers"), func(settings ...string) (string, error) {
		return node(t, dir, p, key, settings, "bot.js")
	})
	checkModelAnswers(t, p, "typescript-bot", func(settings ...string) (string, error) {
		return node(t, dir, p, key, settings, "answered.js")
	})
}

// writeAnswered writes the template of the bot with a model that gives the answer in MODEL_ANSWER.
func writeAnswered(t *testing.T, path string) {
	t.Helper()
	bot, err := os.ReadFile("../static/clients/bot.ts")
	if err != nil {
		t.Fatal(err)
	}
	const model = "async function askModel(prompt: string): Promise<string> {\n"
	answered := strings.Replace(string(bot), model, model+`  if (prompt) return process.env["MODEL_ANSWER"] ?? "";`+"\n", 1)
	if answered == string(bot) {
		t.Fatal("the bot has no askModel")
	}
	if err := os.WriteFile(path, []byte(answered), 0o600); err != nil {
		t.Fatal(err)
	}
}

func node(t *testing.T, dir string, p *process, key string, settings []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...)
	cmd.Dir = filepath.Join(dir, "out")
	cmd.Env = environment(append(settings, "PULSECAST_BASE_URL="+p.base, "PULSECAST_API_KEY="+key)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// checkStateOfAnother checks that the bot doesn't use the position that it stored for another installation.
func checkStateOfAnother(t *testing.T, path, base string, run func(path string) (string, error)) {
	t.Helper()
	type state struct {
		BaseURL string `json:"baseUrl"`
		Cursor  string `json:"cursor"`
	}
	writeJSON(t, path, state{"https://elsewhere.example", "a position of elsewhere"})
	if out, err := run(path); err != nil {
		t.Errorf("with the position of another installation: %v\n%s", err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept state
	if err := json.Unmarshal(content, &kept); err != nil || kept.BaseURL != base || kept.Cursor == "" {
		t.Errorf("got the state %s, %v; want a position of %s", content, err, base)
	}
}

// checkBot runs the template of a bot first without publishing, then with publishing, then again
// with no work left.
func checkBot(t *testing.T, p *process, handle string, run func(flags ...string) (string, error)) {
	t.Helper()
	published := func() int {
		t.Helper()
		_, answer := p.call("GET", "/api/predictions?limit=100&agent="+handle, "", nil)
		list, _ := answer["predictions"].([]any)
		return len(list)
	}
	out, err := run("--once")
	if err != nil || !strings.Contains(out, "checked: ") || published() != 0 {
		t.Errorf("without --publish: %v, %d published\n%s", err, published(), out)
	}
	out, err = run("--once", "--publish")
	if n := strings.Count(out, "published: "); err != nil || n == 0 || published() != n {
		t.Errorf("with --publish: %v, %d published\n%s", err, published(), out)
	}
	checkSecondOutcome(t, p, handle)
	before := published()
	if out, err = run("--once", "--publish"); err != nil || strings.Contains(out, "published: ") || published() != before {
		t.Errorf("again: %v, %d published\n%s", err, published(), out)
	}
}

// checkSecondOutcome checks that a bot that repeats the market's price, more or less, gave the second outcome its own
// price.
func checkSecondOutcome(t *testing.T, p *process, handle string) {
	t.Helper()
	market, outcome, price := p.assignedOutcome()
	_, answer := p.call("GET", "/api/predictions?limit=100&agent="+handle+"&market="+url.QueryEscape(market), "", nil)
	list, _ := answer["predictions"].([]any)
	for _, one := range list {
		if dig(one, "market", "outcome") != outcome {
			continue
		}
		if said, _ := dig(one, "confidence").(float64); math.Abs(said-price) > 0.1 {
			t.Errorf("the price of %s is %v; %s says %v", outcome, price, handle, said)
		}
		return
	}
	t.Errorf("%s didn't answer the assignment about a second outcome: %v", handle, answer)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	content, err := json.Marshal(v)
	if err == nil {
		err = os.WriteFile(path, content, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
