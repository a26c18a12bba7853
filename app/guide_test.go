package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// pasted runs blocks of commands as a reader would paste them: one after the other in one shell, in
// an empty folder. Blocks of settings are only parsed.
func pasted(t *testing.T, p *process, blocks []string, settings ...string) (output string) {
	t.Helper()
	var script strings.Builder
	for _, block := range blocks {
		switch {
		case strings.HasPrefix(block, "{"):
			var settings map[string]any
			if err := json.Unmarshal([]byte(block), &settings); err != nil || !strings.Contains(block, p.base) && settings["ok"] != true {
				t.Errorf("the settings don't name this installation: %v\n%s", err, block)
			}
		case strings.HasPrefix(block, "go install "):
			checkInstall(t, block)
		case strings.HasPrefix(block, "Use the pulsecast tools."): // a prompt for a model
		default:
			script.WriteString(block + "\n")
		}
	}
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	nodeForTypeScript(t, dir)
	shell := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail")
	shell.Dir, shell.Stdin = dir, strings.NewReader(script.String())
	shell.Env = append(environment(settings...), "XDG_CONFIG_HOME="+dir, "PYTHONIOENCODING=utf-8", "PYTHONDONTWRITEBYTECODE=1",
		"PATH="+filepath.Join(dir, "bin")+":"+filepath.Dir(path)+":"+os.Getenv("PATH"))
	out, err := shell.CombinedOutput()
	if err != nil || strings.Contains(string(out), `"ok":false`) {
		t.Errorf("%v\n%s\nof\n%s", err, out, &script)
	}
	return string(out)
}

// checkInstall checks the command that installs the binary. It can't run the command, because that
// needs a published module.
func checkInstall(t *testing.T, block string) {
	t.Helper()
	name, _, _ := strings.Cut(strings.TrimPrefix(block, "go install "+module+"/"), "@latest")
	if files, err := filepath.Glob("../" + name + "/main.go"); err != nil || len(files) != 1 || strings.Contains(block, "\n") {
		t.Errorf("%q doesn't install a command of this module: %v", block, err)
	}
}

// nodeForTypeScript puts a node that runs TypeScript into the folder bin. Node.js can do that since
// 22.18, but this machine's may be older.
func nodeForTypeScript(t *testing.T, dir string) {
	t.Helper()
	modules, err := filepath.Abs("../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs("../static/clients/tsconfig.json")
	if err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(dir, "package.json"), map[string]any{"type": "module"})
	writeJSON(t, filepath.Join(dir, "tsconfig.json"), map[string]any{
		"extends": config, "include": []string{"*.ts"},
		"compilerOptions": map[string]any{"noEmit": false, "outDir": "out", "incremental": true, "typeRoots": []string{filepath.Join(modules, "@types")}},
	})
	real, err := exec.LookPath("node")
	if err != nil {
		return
	}
	// The real node must start the compiler. The first line of the compiler would search PATH, find
	// this script, and start it without end. A program is compiled again only if it has changed.
	script := "#!/bin/bash\n{ [[ \"out/${1%.ts}.js\" -nt \"$1\" ]] || " + real + " " + modules + "/typescript/bin/tsc --project .; } && " +
		"exec " + real + " \"out/${1%.ts}.js\" \"${@:2}\"\n"
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "node"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
}

func (p *process) page(t *testing.T, path string) *goquery.Document {
	t.Helper()
	res, err := http.Get(p.base + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	doc, err := goquery.NewDocumentFromReader(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, res.StatusCode, err)
	}
	return doc
}

func blocksOf(s *goquery.Selection) (blocks []string) {
	s.Find(".copyable pre").Each(func(_ int, pre *goquery.Selection) { blocks = append(blocks, pre.Text()) })
	return blocks
}

// TestGuidePasted runs every command on the pages of the documentation, as shown.
func TestGuidePasted(t *testing.T) {
	t.Parallel()
	p, _ := startDemo(t, "LOG_FORMAT=off", "REGISTRATION_RATE=off")
	start := p.page(t, "/docs")
	key := blocksOf(start.Find("section[aria-labelledby=key]"))
	if len(key) != 1 {
		t.Fatalf("found %d ways to get a key", len(key))
	}
	panels := start.Find(".tabs .tab-panel")
	if panels.Length() != 6 {
		t.Errorf("%d tabs", panels.Length())
	}
	panels.Each(func(i int, panel *goquery.Selection) {
		name := start.Find(".tabs > label").Eq(i).Text()
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := os.Stat("../node_modules/.bin/tsc"); err != nil && name == "TypeScript" {
				t.Skip("the TypeScript compiler is missing: npm ci installs it (NEED_NPM)")
			}
			out := pasted(t, p, append(key, blocksOf(panel)...))
			if name == "MCP" {
				if !strings.Contains(out, `"name":"publishPrediction"`) {
					t.Errorf("found no tool for publishing:\n%s", out)
				}
			} else if strings.Count(out, "62 % that") < 2 {
				t.Errorf("no prediction was checked and then published:\n%s", out)
			}
		})
	})
	_, made := p.call("POST", "/api/agents", "", map[string]any{"name": "Reader"})
	settings := []string{"PULSECAST_BASE_URL=" + p.base, "PULSECAST_API_KEY=" + made["apiKey"].(string)}
	start.Find(".guide-menu > ul > li > a").Each(func(_ int, a *goquery.Selection) {
		path := a.AttrOr("href", "")
		if path == "/docs" {
			return
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			if blocks := blocksOf(p.page(t, path).Selection); len(blocks) > 0 {
				pasted(t, p, blocks, settings...)
			}
		})
	})
}

// TestReadmeBot checks that the README shows the twelve-line bot of the documentation, which
// TestGuidePasted runs.
func TestReadmeBot(t *testing.T) {
	t.Parallel()
	bot, err := os.ReadFile("web/guide/bot.py")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "```python\n"+string(bot)+"```\n") || strings.Count(string(bot), "\n") != 12 {
		t.Errorf("the README doesn't show these twelve lines:\n%s", bot)
	}
}
