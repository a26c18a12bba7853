package main

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"text/template"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// about describes a run for the report, without names of hosts or paths.
type about struct {
	run.Machine
	Postgres, SQLite     string
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
	machine, err := run.Describe(ctx)
	if err != nil {
		return a, err
	}
	a = about{
		Machine: machine, Postgres: postgres, Fsync: fsync, Protocol: b.Protocol,
		Seconds: b.Seconds, Rounds: b.Rounds, Predictions: number(float64(b.Predictions)), Crowd: number(float64(b.Crowd)), Load: b.Load,
	}
	for _, v := range []struct {
		to      *string
		pattern string
		command []string
	}{
		{&a.Nginx, `nginx/([\d.]+)`, []string{b.tools.nginx, "-v"}},
		{&a.Wrk, `wrk \S*?(\d[\d.]*)`, []string{b.tools.wrk, "-v"}},
		{&a.Fasthttp, `v[\d.]+`, []string{"go", "list", "-m", "-f", "{{.Version}}", "github.com/valyala/fasthttp"}},
		{&a.SQLite, `v[\d.]+`, []string{"go", "list", "-m", "-f", "{{.Version}}", "modernc.org/sqlite"}},
		{&a.PocketBase, `v[\d.]+`, []string{"go", "list", "-modfile=" + b.Modfile, "-m", "-f", "{{.Version}}", "github.com/pocketbase/pocketbase"}},
	} {
		*v.to = run.Said(ctx, v.pattern, v.command[0], v.command[1:]...)
	}
	if a.Fsync != "on" {
		return a, fmt.Errorf("describe: fsync is %q", a.Fsync)
	}
	return a, nil
}

//go:embed performance.md.tmpl
var frame string

// document returns the whole report.
func document(a about, rows, floors []row) ([]byte, error) {
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
	err = t.Execute(&out, map[string]any{
		"About": a, "Table": table(rows), "Floors": floorTable(floors), "Rows": len(rows), "Reached": reached,
	})
	return []byte(out.String()), err
}
