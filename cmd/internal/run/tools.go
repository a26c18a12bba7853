package run

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

// Tool is a program from a Debian package.
type Tool struct {
	Program   string
	Elsewhere string // a pattern for paths outside PATH; the newest match is used
	Package   string
}

// Install returns the paths of programs, and installs missing ones with apt-get. If apt-get is
// missing or not permitted, the error is one line that names the packages.
func Install(ctx context.Context, tools ...Tool) (paths []string, err error) {
	if packages := missing(tools, find); len(packages) > 0 {
		if err := install(ctx, packages); err != nil {
			return nil, err
		}
	}
	if packages := missing(tools, find); len(packages) > 0 {
		return nil, howTo(packages)
	}
	for _, t := range tools {
		paths = append(paths, find(t))
	}
	return paths, nil
}

// missing lists the packages of the programs that find doesn't find.
func missing(tools []Tool, find func(Tool) string) (packages []string) {
	for _, t := range tools {
		if find(t) == "" {
			packages = append(packages, t.Package)
		}
	}
	return packages
}

// find returns the path of a program, or "" if it isn't installed.
func find(t Tool) string {
	if path, err := exec.LookPath(t.Program); err == nil {
		return path
	}
	paths, err := filepath.Glob(t.Elsewhere)
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
	Progress("installing %s", strings.Join(packages, " "))
	for _, args := range [][]string{
		{"-q", "update"},
		append([]string{"-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install", "--no-install-recommends"}, packages...),
	} {
		cmd := exec.CommandContext(ctx, apt, args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return errors.Join(howTo(packages), fmt.Errorf("apt-get %s: %w\n%s", args[0], err, LastLines(string(out), 5)))
		}
	}
	return nil
}

// Progress reports on standard error, so that standard output holds only results.
func Progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
