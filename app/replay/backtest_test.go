package replay

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// costly is a bot that needs only a shell. It costs a cent. The file mode says what it does: fail before or after it writes
// its cost, or write its cost, then a line to the pipe mode.hangs, and wait until it is killed.
func costly(mode string) []string {
	return []string{"/bin/sh", "-c", `
		echo "$PULSECAST_MARKET_ID" >> "$0.started"
		read mode < "$0"
		test "$mode" != early || exit 1
		echo 0.01 > "$PULSECAST_COST_FILE"
		case "$mode" in
		late) exit 1 ;;
		hang) echo hangs > "$0.hangs"; exec sleep 600 ;;
		esac`, mode}
}

// TestCostAndResume checks that a backtest starts no further bot at the cost limit, retries failed
// bots and skips finished pairs, and that its report opens without a server. The cost of each bot counts once, also
// if the bot fails or is stopped.
func TestCostAndResume(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, recordedArchive(t), t.TempDir())
	mode := filepath.Join(t.TempDir(), "mode")
	if err := syscall.Mkfifo(mode+".hangs", 0o600); err != nil {
		t.Fatal(err)
	}
	started := func() int {
		content, err := os.ReadFile(mode + ".started")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(content), "\n")
	}
	b := &Backtest{Server: c.base, Dir: t.TempDir(), Command: costly(mode), Timeout: time.Minute, Parallel: 1}
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
		mode                  string
		most                  float64
		want                  error
		started, failed, left int // in total
		cents                 float64
	}{
		{"bots fail until the limit is reached", "late", 0.015, ErrCost, 2, 2, 4, 2},
		{"the limit is reached already", "works", 0.015, ErrCost, 2, 0, 4, 2},
		{"bots fail before they cost anything", "early", 0.035, nil, 6, 4, 4, 2},
		{"stopped while a bot runs", "hang", 0.035, context.Canceled, 7, 0, 4, 3},
		{"more money", "works", 0.045, ErrCost, 9, 0, 2, 5},
		{"no limit", "works", 0, nil, 11, 0, 0, 7},
		{"nothing is left", "works", 0.01, nil, 11, 0, 0, 7},
	} {
		if err := os.WriteFile(mode, []byte(step.mode+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		b = &Backtest{Server: c.base, Dir: b.Dir, Command: b.Command, Timeout: time.Minute, Parallel: 1, MaxCost: step.most}
		if err := b.Resume(run); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		if step.mode == "hang" {
			go func() {
				_, _ = os.ReadFile(mode + ".hangs") // returns once the bot has written its cost
				stop()
			}()
		}
		failed, err := b.Run(ctx)
		stop()
		s := b.State()
		if !errors.Is(err, step.want) || failed != step.failed || s.Left() != step.left || started() != step.started || math.Round(s.Cost*1000) != step.cents*10 {
			t.Errorf("%s: got error %v, %d failed, %d left, %d started, %g dollars; want %+v", step.name, err, failed, s.Left(), started(), s.Cost, step)
		}
	}
	report, paths, err := b.Report(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(report.Warnings, "\n"); !strings.Contains(text, "nothing on 4 of 4 pairs") || strings.Contains(text, "by the end of the archive") {
		t.Errorf("the bot published nothing, and the notes are\n%s", text)
	}
	page, err := os.ReadFile(paths[1])
	if err != nil || !strings.Contains(string(page), "data:text/css") || strings.Contains(string(page), `="/`) {
		t.Errorf("the page needs a server (error %v)", err)
	}
}
