package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// pgbench returns a contender that runs scripts. It chooses one at random for each transaction.
func (b *bench) pgbench(name, database string, clients, each int, scripts []string) contender {
	return contender{name, func(ctx context.Context) (sample, error) {
		if err := b.postgres.checkpoint(ctx); err != nil {
			return sample{}, err
		}
		args := []string{
			"-n", "-M", b.Protocol, "-h", b.postgres.socket, "-U", "postgres",
			"-c", strconv.Itoa(clients), "-j", strconv.Itoa(min(clients, runtime.NumCPU())), "-T", strconv.Itoa(b.Seconds),
			"-D", "n=0", "-D", "base=" + strconv.FormatInt(time.Now().UnixMicro()*1024, 10), "-D", "agents=" + strconv.Itoa(agents),
		}
		for _, s := range scripts {
			args = append(args, "-f", s)
		}
		before, err := run.BackendsTime(b.postgres.pid)
		if err != nil {
			return sample{}, err
		}
		command := exec.CommandContext(ctx, b.tools.pgbench, append(args, database)...)
		out, err := command.CombinedOutput()
		if err != nil {
			return sample{}, fmt.Errorf("pgbench: %w\n%s", err, firstError(string(out)))
		}
		rate, err := parsePgbench(string(out))
		if err != nil {
			return sample{}, err
		}
		after, err := run.BackendsTime(b.postgres.pid)
		used := shares{backends: after - before, generator: command.ProcessState.UserTime() + command.ProcessState.SystemTime()}
		rate *= float64(each)
		return sample{rate: rate, shares: used.per(shares{}, rate*float64(b.Seconds))}, err
	}}
}

// firstError is the line of the first statement that failed, else the last lines.
func firstError(out string) string {
	for line := range strings.Lines(out) {
		if strings.Contains(line, "ERROR:") {
			return line
		}
	}
	return run.LastLines(out, 5)
}

var (
	pgbenchRate   = regexp.MustCompile(`(?m)^tps = ([\d.]+) \(without initial connection time\)`)
	pgbenchFailed = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)
)

// parsePgbench returns the transactions per second. It returns an error if transactions failed or
// clients gave up.
func parsePgbench(out string) (float64, error) {
	failed, rate := pgbenchFailed.FindStringSubmatch(out), pgbenchRate.FindStringSubmatch(out)
	switch {
	case rate == nil:
		return 0, fmt.Errorf("unexpected output of pgbench:\n%s", run.LastLines(out, 5))
	case failed != nil && failed[1] != "0":
		return 0, fmt.Errorf("pgbench: %s transactions failed", failed[1])
	case strings.Contains(out, "aborted"):
		return 0, errors.New("pgbench: " + run.LastLines(out, 3))
	}
	return strconv.ParseFloat(rate[1], 64)
}

// writeScripts writes pgbench scripts into files and returns their paths.
func writeScripts(dir, name string, scripts []string) (paths []string, err error) {
	for i, s := range scripts {
		path := filepath.Join(dir, fmt.Sprintf("%s-%d.sql", name, i))
		if err := os.WriteFile(path, []byte(s), 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}
