package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestDestination checks that only a complete run at full scale writes docs/performance.md.
func TestDestination(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name            string
		args            string
		failed          error
		path, unchanged string // unchanged is a part of the reason
	}{
		{"defaults", "", nil, reportPage, ""},
		{"more than needed", "--rounds 5 --load 20m", nil, reportPage, ""},
		{"short measurements", "--seconds 1", nil, reportPage, ""},
		{"two rounds", "--rounds 2", nil, "", "BENCH_ROUNDS"},
		{"short load", "--load 9m59s", nil, "", "BENCH_LOAD"},
		{"some rows", "--rows publish", nil, "", "BENCH_ROWS"},
		{"few predictions", "--predictions 999999", nil, "", "BENCH_PREDICTIONS"},
		{"one attack", "--attack 1000000", nil, "", "BENCH_ATTACK"},
		{"small crowd", "--crowd 99999", nil, "", "BENCH_CROWD"},
		{"everything low", "--rows sqlite --rounds 1 --load 1s", nil, "", "BENCH_ROWS, BENCH_ROUNDS, BENCH_LOAD"},
		{"a failed group", "", errors.New("publish: failed"), "", "not every row"},
		{"another file", "--out /tmp/x.md", nil, "/tmp/x.md", "BENCH_OUT"},
		{"another file, two rounds", "--out /tmp/x.md --rounds 2", nil, "/tmp/x.md", "BENCH_ROUNDS"},
		{"another file, a failed group", "--out /tmp/x.md", errors.New("publish: failed"), "/tmp/x.md", "not every row"},
		{"the page itself", "--out docs/performance.md", nil, reportPage, ""},
		{"the page itself, two rounds", "--out ./docs/../docs/performance.md --rounds 2", nil, "", "BENCH_ROUNDS"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var o options
			parser, err := kong.New(&o)
			if err != nil {
				t.Fatal(err)
			}
			args := append(strings.Fields(c.args), "--binary", "scale.go", "--modfile", "scale.go", "--postgres-url", "x")
			if _, err := parser.Parse(args); err != nil {
				t.Fatal(err)
			}
			path, unchanged := o.destination(c.failed)
			if path != c.path || (c.unchanged == "") != (unchanged == "") || !strings.Contains(unchanged, c.unchanged) {
				t.Errorf("destination is %q, unchanged because %q; want %q, %q", path, unchanged, c.path, c.unchanged)
			}
		})
	}
}
