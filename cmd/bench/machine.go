package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"time"
)

// about is what the report says of a run, without names of hosts or paths.
type about struct {
	Date, Commit         string
	CPU                  string
	Cores                int
	Memory, Kernel       string
	Go, Postgres, SQLite string
	Nginx, Wrk           string
	Fasthttp, PocketBase string
	Fsync, Protocol      string
	Seconds, Rounds      int
	Predictions, Crowd   string
	Load                 time.Duration
}

func (b *bench) describe(ctx context.Context) (a about, err error) {
	postgres, err := b.postgres.setting(ctx, "server_version")
	if err != nil {
		return a, err
	}
	fsync, err := b.postgres.setting(ctx, "fsync")
	if err != nil {
		return a, err
	}
	postgres, _, _ = strings.Cut(postgres, " ")
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return a, err
	}
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return a, err
	}
	a = about{
		Date: time.Now().UTC().Format(time.DateOnly), CPU: field(string(cpu), "model name"), Cores: runtime.NumCPU(),
		Memory: gibibytes(field(string(memory), "MemTotal")), Go: runtime.Version(), Postgres: postgres, Fsync: fsync, Protocol: b.Protocol,
		Seconds: b.Seconds, Rounds: b.Rounds, Predictions: number(float64(b.Predictions)), Crowd: number(float64(b.Crowd)), Load: b.Load,
	}
	for _, v := range []struct {
		to      *string
		pattern string
		command []string
	}{
		{&a.Commit, `\S+`, []string{"git", "describe", "--always", "--dirty", "--abbrev=12"}},
		{&a.Kernel, `Linux (\S+)`, []string{"uname", "-sr"}},
		{&a.Nginx, `nginx/([\d.]+)`, []string{b.tools.nginx, "-v"}},
		{&a.Wrk, `wrk \S*?(\d[\d.]*)`, []string{b.tools.wrk, "-v"}},
		{&a.Fasthttp, `v[\d.]+`, []string{"go", "list", "-m", "-f", "{{.Version}}", "github.com/valyala/fasthttp"}},
		{&a.SQLite, `v[\d.]+`, []string{"go", "list", "-m", "-f", "{{.Version}}", "modernc.org/sqlite"}},
		{&a.PocketBase, `v[\d.]+`, []string{"go", "list", "-modfile=" + b.Modfile, "-m", "-f", "{{.Version}}", "github.com/pocketbase/pocketbase"}},
	} {
		*v.to = said(ctx, v.pattern, v.command)
	}
	return a, a.check()
}

func (a about) check() error {
	if a.CPU == "" || a.Memory == "" || a.Fsync != "on" {
		return fmt.Errorf("describe: CPU %q, memory %q, fsync %q", a.CPU, a.Memory, a.Fsync)
	}
	return nil
}

// said runs a command and returns what matches, or its first group; "unknown" without a match.
func said(ctx context.Context, pattern string, command []string) string {
	// Some print their version on standard error, with a status that is not 0.
	out, _ := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
	found := regexp.MustCompile(pattern).FindStringSubmatch(string(out))
	if found == nil {
		return "unknown"
	}
	return found[len(found)-1]
}

// field is the value of the first line "name : value".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// gibibytes reads "16303412 kB".
func gibibytes(text string) string {
	kib, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", kib/(1<<20))
}

//go:embed performance.md.tmpl
var frame string

// document writes the whole report.
func document(a about, rows []row) ([]byte, error) {
	t, err := template.New("performance.md").Parse(frame)
	if err != nil {
		return nil, err
	}
	reached := 0
	for _, r := range rows {
		if v := verdict(r, rows); v == "yes" || v == "by the other" {
			reached++
		}
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{"About": a, "Table": table(rows), "Rows": len(rows), "Reached": reached})
	return []byte(out.String()), err
}
