package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// connections is the number of connections that wrk keeps open.
const connections = 32

// wrk requests one address repeatedly and returns the rate and the 99th percentile of the latency.
// The answer is fetched and checked before and after. wrk checks every status. The average length
// of the answers must match the two that were fetched.
func (b *bench) wrk(ctx context.Context, w want) (sample, error) {
	before, err := w.fetch(ctx)
	if err != nil {
		return sample{}, err
	}
	args := []string{"-t", strconv.Itoa(min(2, runtime.NumCPU())), "-c", strconv.Itoa(connections), "-d", strconv.Itoa(b.Seconds), "--timeout", "10", "--latency"}
	for _, h := range w.headers() {
		args = append(args, "-H", h)
	}
	cmd := exec.CommandContext(ctx, b.tools.wrk, append(args, w.url())...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return sample{}, fmt.Errorf("wrk: %w\n%s", err, run.LastLines(string(out), 5))
	}
	result, err := parseWrk(string(out))
	if err != nil {
		return sample{}, err
	}
	after, err := w.fetch(ctx)
	if err != nil {
		return sample{}, err
	}
	least, most := float64(min(before.size, after.size)), float64(max(before.size, after.size))
	// wrk reads only parts of the last answers.
	slack := 0.02 + connections/result.requests
	if w.changing {
		slack += 0.3
	}
	if each := result.bytes / result.requests; each < least*(1-slack) || each > most*(1+slack) {
		return sample{}, fmt.Errorf("%s: got %.0f bytes per answer on average, want %.0f to %.0f", w.url(), each, least, most)
	}
	return sample{rate: result.rate, p99: result.p99}, nil
}

type wrkResult struct {
	requests, bytes, rate float64
	p99                   time.Duration
}

var (
	wrkTotals  = regexp.MustCompile(`(\d+) requests in \S+, ([\d.]+)([KMGT]?B) read`)
	wrkRate    = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
	wrkLatency = regexp.MustCompile(`99%\s+([\d.]+)(us|ms|s|m)\b`)
	wrkFailure = regexp.MustCompile(`(?m)^\s*(Non-2xx or 3xx responses|Socket errors):.*$`)
)

// parseWrk parses the output of wrk --latency. It returns an error if requests failed.
func parseWrk(out string) (r wrkResult, err error) {
	if failure := wrkFailure.FindString(out); failure != "" {
		return r, errors.New("wrk: " + strings.TrimSpace(failure))
	}
	totals, rate, latency := wrkTotals.FindStringSubmatch(out), wrkRate.FindStringSubmatch(out), wrkLatency.FindStringSubmatch(out)
	if totals == nil || rate == nil || latency == nil {
		return r, fmt.Errorf("unexpected output of wrk:\n%s", out)
	}
	sizes := map[string]float64{"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
	units := map[string]float64{"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
	for _, f := range []struct {
		to    *float64
		text  string
		times float64
	}{{&r.requests, totals[1], 1}, {&r.bytes, totals[2], sizes[totals[3]]}, {&r.rate, rate[1], 1}} {
		if *f.to, err = strconv.ParseFloat(f.text, 64); err != nil {
			return r, fmt.Errorf("wrk: %w", err)
		}
		*f.to *= f.times
	}
	p99, err := strconv.ParseFloat(latency[1], 64)
	r.p99 = time.Duration(p99 * units[latency[2]])
	if r.requests == 0 {
		return r, errors.New("wrk: no request was answered")
	}
	return r, err
}
