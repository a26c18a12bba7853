package replay

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// costly is a bot that needs only a shell. It costs a cent, and fails while the file failing
// exists.
func costly(failing string) []string {
	return []string{"/bin/sh", "-c", `echo 0.01 > "$PULSECAST_COST_FILE"; echo "$PULSECAST_MARKET_ID" >> "` + failing + `.started"; test ! -e "` + failing + `"`}
}

// TestCostAndResume checks that a backtest starts no further bot at the cost limit, retries failed
// bots and skips finished pairs, and that its report opens without a server.
func TestCostAndResume(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, newArchive(t), t.TempDir())
	failing := filepath.Join(t.TempDir(), "fails")
	if err := os.WriteFile(failing, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	started := func() int {
		content, err := os.ReadFile(failing + ".started")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(content), "\n")
	}
	b := &Backtest{Server: c.base, Dir: t.TempDir(), Command: costly(failing), Timeout: time.Minute, Parallel: 1}
	pairs, err := b.Plan(t.Context(), PlanOptions{N: 4, Seed: 1})
	if err != nil || len(pairs) != 4 {
		t.Fatalf("got %d pairs (error %v), want 4", len(pairs), err)
	}
	if err := b.Begin(t.Context(), Declared{Name: "Costly", OpenWeb: WebClosed}, pairs); err != nil {
		t.Fatal(err)
	}
	run := b.State().Run
	for _, step := range []struct {
		name                  string
		fails                 bool
		most                  float64
		want                  error
		started, failed, left int // in total
	}{
		{"bots fail until the limit is reached", true, 0.015, ErrCost, 2, 2, 4},
		{"the limit is reached already", false, 0.015, ErrCost, 2, 0, 4},
		{"more money", false, 0.035, ErrCost, 4, 0, 2},
		{"no limit", false, 0, nil, 6, 0, 0},
		{"nothing is left", false, 0.01, nil, 6, 0, 0},
	} {
		if !step.fails {
			_ = os.Remove(failing)
		}
		b = &Backtest{Server: c.base, Dir: b.Dir, Command: b.Command, Timeout: time.Minute, Parallel: 1, MaxCost: step.most}
		if err := b.Resume(run); err != nil {
			t.Fatal(err)
		}
		failed, err := b.Run(context.Background())
		s := b.State()
		if !errors.Is(err, step.want) || failed != step.failed || s.Left() != step.left || started() != step.started {
			t.Errorf("%s: got error %v, %d failed, %d left, %d started; want %+v", step.name, err, failed, s.Left(), started(), step)
		}
	}
	_, paths, err := b.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(paths[1])
	if err != nil || !strings.Contains(string(page), "data:text/css") || strings.Contains(string(page), `="/`) {
		t.Errorf("the page needs a server (error %v)", err)
	}
}
