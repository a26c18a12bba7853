package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// ran is what one run of go test printed, and whether it failed.
type ran struct {
	out    string
	failed bool
}

const (
	engineFailed = "fuzz: elapsed: 20s, execs: 70 (3/sec)\n--- FAIL: FuzzReadHTML (20.01s)\n    context deadline exceeded\nFAIL\nexit status 1\nFAIL\tapp/x\t20.1s\n"
	inputFailed  = "fuzz: elapsed: 1s, execs: 70 (70/sec)\n--- FAIL: FuzzReadHTML (1.01s)\n    --- FAIL: FuzzReadHTML (0.00s)\n" +
		"        html_test.go:12: it lost text\n\n    Failing input written to testdata/fuzz/FuzzReadHTML/abc\nFAIL\n"
	inputsPassed = "fuzz: elapsed: 20s, execs: 100 (5/sec)\nPASS\n"
)

// TestFuzzPackage checks which runs of a fuzz target are a fault, and which are repeated.
func TestFuzzPackage(t *testing.T) {
	t.Parallel()
	seeds, engine, found, fine := ran{}, ran{engineFailed, true}, ran{inputFailed, true}, ran{out: inputsPassed}
	for _, c := range []struct {
		name   string
		runs   []ran
		fault  string // part of the fault; "" for none
		notes  int
		inputs int
	}{
		{"passes", []ran{seeds, fine}, "", 0, 100},
		{"a seed fails", []ran{{"--- FAIL: FuzzReadHTML (0.00s)\n    html_test.go:9: wrong", true}}, "the seeds of FuzzReadHTML", 0, 0},
		{"an input fails", []ran{seeds, found}, "html_test.go:12: it lost text", 0, 70},
		{"a cached input fails", []ran{seeds, {"failure while testing seed corpus entry: FuzzReadHTML/abc", true}}, "seed corpus entry", 0, 0},
		{"the engine fails once", []ran{seeds, engine, fine}, "", 1, 170},
		{"an input fails after the engine did", []ran{seeds, engine, found}, "it lost text", 1, 140},
		{"the engine fails each time", []ran{seeds, engine, engine, engine}, "context deadline exceeded", 2, 210},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, next := newOutcome(), 0
			o.fuzzPackage("./app/x", []string{"FuzzReadHTML"}, time.Second, func(args ...string) ([]byte, error) {
				if fuzzed := slices.Contains(args, "-fuzz"); fuzzed != (next > 0) {
					t.Errorf("run %d has the arguments %q; the seeds must run first", next, args)
				}
				if next == len(c.runs) {
					t.Fatal("too many runs")
				}
				r := c.runs[next]
				next++
				if r.failed {
					return []byte(r.out), errors.New("exit status 1")
				}
				return []byte(r.out), nil
			})
			if next != len(c.runs) {
				t.Errorf("%d runs, want %d", next, len(c.runs))
			}
			if faults := strings.Join(o.faults, "; "); (c.fault == "") != (faults == "") || !strings.Contains(faults, c.fault) {
				t.Errorf("faults %q, want %q", faults, c.fault)
			}
			if len(o.notes) != c.notes || c.notes > 0 && !strings.Contains(o.notes[0], "context deadline exceeded") {
				t.Errorf("notes %q, want %d that show what was said", o.notes, c.notes)
			}
			if o.counts["inputs"] != c.inputs {
				t.Errorf("%d inputs, want %d", o.counts["inputs"], c.inputs)
			}
		})
	}
}
