package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// tools are the paths of the programs that the references need.
type tools struct{ wrk, nginx, pgbench string }

// needs are the programs, where they may lie outside of PATH, and their Debian packages.
var needs = []struct{ program, elsewhere, pkg string }{
	{"wrk", "", "wrk"},
	{"nginx", "/usr/sbin/nginx", "nginx-light"},
	{"pgbench", "/usr/lib/postgresql/*/bin/pgbench", "postgresql"},
}

// findTools looks the programs up and installs what is missing with apt-get. Without apt-get
// or the right to use it, the error is one line that names the packages.
func findTools(ctx context.Context) (tools, error) {
	packages := missing(find)
	if len(packages) > 0 {
		if err := install(ctx, packages); err != nil {
			return tools{}, err
		}
	}
	if packages = missing(find); len(packages) > 0 {
		return tools{}, howTo(packages)
	}
	return tools{wrk: find("wrk", ""), nginx: find("nginx", needs[1].elsewhere), pgbench: find("pgbench", needs[2].elsewhere)}, nil
}

// missing lists the packages of the programs that find doesn't find.
func missing(find func(program, elsewhere string) string) (packages []string) {
	for _, n := range needs {
		if find(n.program, n.elsewhere) == "" {
			packages = append(packages, n.pkg)
		}
	}
	return packages
}

// find returns the path of a program in PATH, or the newest that the pattern matches; empty
// without one.
func find(program, elsewhere string) string {
	if path, err := exec.LookPath(program); err == nil {
		return path
	}
	paths, err := filepath.Glob(elsewhere)
	if err != nil || len(paths) == 0 {
		return ""
	}
	return slices.Max(paths)
}

func howTo(packages []string) error {
	return fmt.Errorf("not installed: %[1]s; install with: apt-get install %[1]s", strings.Join(packages, " "))
}

func install(ctx context.Context, packages []string) error {
	apt, err := exec.LookPath("apt-get")
	if err != nil || os.Geteuid() != 0 {
		return howTo(packages)
	}
	progress("installing %s", strings.Join(packages, " "))
	for _, args := range [][]string{
		{"-q", "update"},
		append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Join(howTo(packages), fmt.Errorf("apt-get %s: %w\n%s", args[0], err, lastLines(string(out), 5)))
		}
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
