package run

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine describes when and on what machine a report was made, without names of hosts or paths.
type Machine struct {
	Date, Commit string
	CPU          string
	Cores        int
	Memory       string
	Kernel, Go   string
}

// Describe returns the description of this machine.
func Describe(ctx context.Context) (m Machine, err error) {
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, err
	}
	memory, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return m, err
	}
	m = Machine{
		Date: time.Now().UTC().Format(time.DateOnly), CPU: field(string(cpu), "model name"), Cores: runtime.NumCPU(),
		Memory: gibibytes(field(string(memory), "MemTotal")), Go: runtime.Version(),
		Commit: Said(ctx, `\S+`, "git", "describe", "--always", "--dirty", "--abbrev=12"),
		Kernel: Said(ctx, `Linux (\S+)`, "uname", "-sr"),
	}
	if m.CPU == "" || m.Memory == "" {
		return m, fmt.Errorf("describe: CPU %q, memory %q", m.CPU, m.Memory)
	}
	return m, nil
}

// Said runs a command and returns the part of its output that matches pattern, or the pattern's
// first group. Without a match it returns "unknown".
func Said(ctx context.Context, pattern, program string, args ...string) string {
	// Some programs print their version on standard error, or exit with a nonzero status.
	out, _ := exec.CommandContext(ctx, program, args...).CombinedOutput()
	found := regexp.MustCompile(pattern).FindStringSubmatch(string(out))
	if found == nil {
		return "unknown"
	}
	return found[len(found)-1]
}

// field returns the value of the first line of the form "name : value".
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// gibibytes converts a text such as "16303412 kB".
func gibibytes(text string) string {
	kib, err := strconv.ParseFloat(strings.TrimSuffix(text, " kB"), 64)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.0f GiB", kib/(1<<20))
}
