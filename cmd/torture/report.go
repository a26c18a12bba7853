package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

//go:embed reliability.md.tmpl
var frame string

// write writes the report to the chosen file. By default that is docs/reliability.md if every check
// ran at full length, and otherwise none.
func (o *options) write(ctx context.Context, s *scale, results []result, took time.Duration, full bool) error {
	path := o.Out
	if path == "" {
		if !full {
			run.Progress("not every check ran at full length, so docs/reliability.md is unchanged; TORTURE_OUT=FILE writes a partial report")
			return nil
		}
		path = filepath.Join("docs", "reliability.md")
	}
	machine, err := run.Describe(ctx)
	if err != nil {
		return err
	}
	text, err := document(machine, s, results, took)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	run.Progress("wrote %s", path)
	return nil
}

// document returns the whole report, made only from what was counted.
func document(m run.Machine, s *scale, results []result, took time.Duration) ([]byte, error) {
	t, err := template.New("reliability.md").Parse(frame)
	if err != nil {
		return nil, err
	}
	held, caught, broken := 0, 0, 0
	for i := range results {
		if results[i].Holds() {
			held++
		}
		for _, b := range results[i].breaks {
			broken++
			if b.by != "" {
				caught++
			}
		}
	}
	pointers := make([]*result, len(results)) // their methods have pointer receivers
	for i := range results {
		pointers[i] = &results[i]
		pointers[i].scale = s
	}
	var out strings.Builder
	err = t.Execute(&out, map[string]any{
		"Machine": m, "Results": pointers, "Held": held, "Checks": len(results), "Caught": caught, "Broken": broken,
		"Took": took.Round(time.Second), "Seed": s.Seed, "Settings": s.settings(), "Least": s.least(),
	})
	return []byte(out.String()), err
}

// least lists the settings that a run at full length needs at least, as environment variables.
func (s *scale) least() (list []string) {
	for f := range reflect.TypeFor[scale]().Fields() {
		if least := f.Tag.Get("least"); least != "" {
			list = append(list, f.Tag.Get("env")+"="+least)
		}
	}
	return list
}

// below lists the settings that are too low for a run at full length.
func (s *scale) below() (list []string) {
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if least, err := strconv.ParseInt(f.Tag.Get("least"), 10, 64); err == nil && v.Field(i).Int() < least {
			list = append(list, f.Tag.Get("env"))
		}
	}
	return list
}

// settings lists the settings of a run as environment variables.
func (s *scale) settings() (list []string) {
	v := reflect.ValueOf(*s)
	for i := range v.NumField() {
		list = append(list, fmt.Sprintf("%s=%v", v.Type().Field(i).Tag.Get("env"), v.Field(i).Interface()))
	}
	return list
}

// The template calls the methods below.

func (r *result) Name() string  { return r.name }
func (r *result) Tries() string { return r.tries }

// Claim says what must hold, with the limits of this run.
func (r *result) Claim() string {
	if r.limits == nil {
		return r.holds
	}
	return r.holds + " " + r.limits(r.scale)
}

// Holds reports whether the check was carried out and found no fault.
func (r *result) Holds() bool { return r.err == nil && r.outcome != nil && !r.faulty() }

// Verdict returns the result of the check in a few words.
func (r *result) Verdict() string {
	switch {
	case r.Holds():
		return "holds"
	case r.err != nil:
		return "**not carried out**"
	}
	return "**does not hold**"
}

// Seen lists the counts and the longest times.
func (r *result) Seen() []string {
	if r.outcome == nil {
		return nil
	}
	return r.tried()
}

// Wrong lists the faults, and the reason if the check was not carried out.
func (r *result) Wrong() (list []string) {
	if r.outcome != nil {
		for _, f := range r.faults {
			list = append(list, clipped(f))
		}
	}
	if r.err != nil {
		list = append(list, clipped(r.err.Error()))
	}
	return list
}

// Notes lists what was not tried, and why.
func (r *result) Notes() []string {
	if r.outcome == nil {
		return nil
	}
	return r.notes
}

func (r *result) Breaks() []caught { return r.breaks }

func (c caught) Name() string { return c.name }
func (c caught) Does() string { return c.does }

// By says how the broken build was caught.
func (c caught) By() string {
	if c.by == "" {
		return "**not caught**"
	}
	return "caught by: " + clipped(c.by)
}

// clipped formats a text for one line of the report, without paths of this machine.
func clipped(text string) string {
	text = strings.NewReplacer("`", "'", "|", "/", os.TempDir(), "…").Replace(strings.Join(strings.Fields(text), " "))
	if runes := []rune(text); len(runes) > 160 {
		text = string(runes[:160]) + " …"
	}
	return "`" + text + "`"
}
