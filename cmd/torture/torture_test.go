package main

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// TestShortForm attacks the program for a minute. Every check must hold. `make torture` shows on
// broken builds that each check can fail.
func TestShortForm(t *testing.T) {
	out := filepath.Join(t.TempDir(), "reliability.md")
	o := &options{Short: true, Intact: true, Out: out}
	if err := o.run(t.Context()); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", text)
}

// TestEveryCheckCanFail checks that each check has a breakage to catch. A check without one might
// be unable to fail.
func TestEveryCheckCanFail(t *testing.T) {
	t.Parallel()
	for _, c := range checks {
		if !slices.ContainsFunc(breakages, func(b breakage) bool { return slices.Contains(b.checks, c.name) }) {
			t.Errorf("the check %s has no breakage", c.name)
		}
	}
	for _, b := range breakages {
		for _, name := range b.checks {
			if _, err := (&options{Checks: []string{name}}).chosen(); err != nil {
				t.Errorf("breakage %s: %v", b.name, err)
			}
		}
	}
}

// TestBelow checks that a run with a low setting doesn't count as a run at full length, and that one with the
// defaults does.
func TestBelow(t *testing.T) {
	t.Parallel()
	var o options
	parser, err := kong.New(&o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"--sealing", "49", "--nodes", "1"}); err != nil {
		t.Fatal(err)
	}
	if got, want := o.below(), []string{"TORTURE_NODES", "TORTURE_SEALING"}; !slices.Equal(got, want) {
		t.Errorf("too low: %q, want %q", got, want)
	}
	o = options{}
	if _, err := parser.Parse(nil); err != nil {
		t.Fatal(err)
	}
	if got := o.below(); len(got) > 0 {
		t.Errorf("these defaults are too low: %q", got)
	}
}

// TestWrong checks which answers are right during an outage.
func TestWrong(t *testing.T) {
	t.Parallel()
	said := func(status int, header ...string) answer {
		a := answer{status: status, header: http.Header{}}
		for i := 0; i < len(header); i += 2 {
			a.header.Set(header[i], header[i+1])
		}
		return a
	}
	fine, refused, bare := said(200), said(503, "Retry-After", "1"), said(503)
	stale := said(200, "Cache-Status", "pulsecast; hit; detail=unavailable")
	list, file, other := probe{kept: true}, probe{needs: []string{"archive"}}, probe{kept: true, needs: []string{"archive"}}
	database, archive := &outage{part: "database"}, &outage{part: "archive"}
	for i, c := range []struct {
		p      probe
		a      answer
		during *outage
		wrong  bool
	}{
		{list, fine, nil, false}, {list, stale, nil, true}, {list, stale, database, false}, {list, stale, archive, true},
		{list, refused, database, true}, {file, refused, archive, false}, {file, bare, archive, true}, {file, refused, database, true},
		{file, stale, archive, true}, {other, stale, archive, false}, {other, said(500), archive, true}, {other, refused, nil, true},
	} {
		if got := c.p.wrong(c.a, c.during); got != c.wrong {
			t.Errorf("case %d: wrong is %v", i, got)
		}
	}
}

// TestMetric checks that a number is read from the metrics of a node, and that a missing one is noticed.
func TestMetric(t *testing.T) {
	t.Parallel()
	a := answer{body: []byte("# TYPE serves gauge\nserves 1\nreads{server=\"replica\"} 1.2e+03\n")}
	for prefix, want := range map[string]int{"serves ": 1, `reads{server="replica"} `: 1200} {
		if got := 0; !a.metric(prefix, &got) || got != want {
			t.Errorf("%s%d, want %d", prefix, got, want)
		}
	}
	if a.metric("lag ", new(int)) {
		t.Error("a metric was found that isn't there")
	}
}

func TestDocument(t *testing.T) {
	t.Parallel()
	fine, wrong := newOutcome(), newOutcome()
	fine.count("nodes killed", 1234)
	fine.longest("longest start", 1500*time.Millisecond)
	fine.longest("longest start", time.Second)
	fine.note("Nothing was sealed.")
	for range keptFaults + 3 {
		wrong.fault("lost `%s`", "a | b")
	}
	results := []result{
		{check: &checks[0], outcome: fine, breaks: []caught{{breakage: &breakages[0], by: "lost one"}, {breakage: &breakages[1]}}},
		{check: &checks[1], outcome: wrong},
	}
	text, err := document(run.Machine{CPU: "Some CPU", Cores: 2, Commit: "abc"}, short(), results, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"1 of 2 checks hold", "1 of 2 were caught", "| nodes | holds |", "| databases | **does not hold** |", "- 1,234 nodes killed\n",
		"- longest start: 1.5s\n", "Nothing was sealed.", "caught by: `lost one`", "**not caught**", "- `lost 'a / b'`", "Some CPU, 2 cores", "`TORTURE_NODES=4`",
		"Publishing works again within 50s.", "`TORTURE_NODES=200` `TORTURE_DATABASES=50`",
	} {
		if !strings.Contains(string(text), part) {
			t.Errorf("the document doesn't contain %q:\n%s", part, text)
		}
	}
	if n := strings.Count(string(text), "lost 'a / b'"); n != keptFaults {
		t.Errorf("%d faults are reported, want %d", n, keptFaults)
	}
	if results[0].right() || results[1].right() {
		t.Error("right is true in spite of a fault or of a broken build that was not caught")
	}
}
