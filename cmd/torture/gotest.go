package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// goTest runs tests of a package. If the build is broken, it uses the broken copy of the sources.
func (l *lab) goTest(ctx context.Context, pkg string, args ...string) (out []byte, err error) {
	root, err := moduleRoot()
	l.must(err)
	// vet fails in the packages that exist only in the overlay, which would look like a failed test. make lint runs it.
	words := []string{"test", "-vet=off", "-count", "1"}
	env := os.Environ()
	if b := l.build.broken; b != nil {
		words = append(words, "-tags", "broken", "-overlay", filepath.Join(filepath.Dir(l.build.binary), overlayFile))
		env = append(env, "BROKEN="+b.name)
	}
	cmd := exec.CommandContext(ctx, "go", append(append(words, args...), pkg)...)
	cmd.Dir, cmd.Env = root, env
	return cmd.CombinedOutput()
}

// shapes runs the tables of malformed and unusual requests, which are among the tests of
// app/httpserver.
func shapes(l *lab) {
	out, err := l.goTest(l.ctx, "./app/httpserver", "-v", "-run", "^(TestMalformedShapes|TestUnusualShapes)$")
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		name, passed := strings.CutPrefix(strings.TrimSpace(lines.Text()), "--- PASS: ")
		if table, _, found := strings.Cut(name, "/"); passed && found {
			l.count(map[string]string{"TestMalformedShapes": "malformed shapes refused", "TestUnusualShapes": "unusual shapes understood"}[table], 1)
		}
	}
	if err != nil {
		l.fault("the table: %v: %s", err, firstFailure(out))
	}
	if len(l.order) == 0 {
		l.fault("there is no table of shapes in app/httpserver")
	}
}

var (
	failedAssertion = regexp.MustCompile(`(?m)^.*(?:_test\.go:\d+: |panic: ).*$`)
	failedTest      = regexp.MustCompile(`(?m)^--- FAIL: .*\n.+$`)
)

// firstFailure returns the first line that says what went wrong.
func firstFailure(out []byte) string {
	for _, pattern := range []*regexp.Regexp{failedAssertion, failedTest} {
		if found := pattern.Find(out); found != nil {
			return strings.TrimSpace(string(found))
		}
	}
	return run.LastLines(string(out), 3)
}

// target is a native fuzz target.
type target struct{ pkg, name string }

var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// targets finds every native fuzz target of the module.
func targets(root string) (list []target, err error) {
	err = filepath.WalkDir(filepath.Join(root, "app"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range fuzzFunction.FindAllSubmatch(source, -1) {
			list = append(list, target{"./" + filepath.ToSlash(pkg), string(m[1])})
		}
		return err
	})
	slices.SortFunc(list, func(a, b target) int { return strings.Compare(a.pkg+a.name, b.pkg+b.name) })
	return list, err
}

// fuzzTries is how often a target is fuzzed until a run counts as failed without a failing input.
const fuzzTries = 3

// failingInput matches what go test prints about an input that fails, from the seeds or found by the fuzz engine.
var failingInput = regexp.MustCompile(`(?m)Failing input written to |^failure while testing seed corpus entry: `)

// goTester runs go test with arguments and returns what it printed.
type goTester func(args ...string) (out []byte, err error)

// parsers runs every native fuzz target for a time. On a broken build it runs only those of the
// broken package.
func parsers(l *lab) {
	root, err := moduleRoot()
	l.must(err)
	list, err := targets(root)
	l.must(err)
	for len(list) > 0 {
		pkg := list[0].pkg
		var names []string
		for len(list) > 0 && list[0].pkg == pkg {
			names, list = append(names, list[0].name), list[1:]
		}
		if b := l.build.broken; b != nil && "./"+filepath.Dir(b.edits[0].file) != pkg {
			continue
		}
		l.fuzzPackage(pkg, names, l.Fuzz, func(args ...string) ([]byte, error) { return l.goTest(l.ctx, pkg, args...) })
		if l.ctx.Err() != nil {
			return
		}
	}
	l.longest("time per target", l.Fuzz)
}

// failedTarget matches the name of a fuzz target whose seeds fail.
var failedTarget = regexp.MustCompile(`(?m)^--- FAIL: (Fuzz\w+)`)

// fuzzPackage runs the seeds of all fuzz targets of a package, and then fuzzes each target for a time.
func (o *outcome) fuzzPackage(pkg string, names []string, length time.Duration, test goTester) {
	o.count("fuzz targets", len(names))
	if out, err := test("-run", "^("+strings.Join(names, "|")+")$"); err != nil {
		failed := "the targets"
		if m := failedTarget.FindSubmatch(out); m != nil {
			failed = string(m[1])
		}
		o.fault("the seeds of %s of %s: %v: %s", failed, pkg, err, firstFailure(out))
		return
	}
	for _, name := range names {
		o.fuzzTarget(target{pkg, name}, length, test)
	}
}

// fuzzTarget runs the fuzz engine. Sometimes the engine itself fails on a busy machine, for example with "context
// deadline exceeded", and names no input. Such a run is repeated. It is a fault if a run names a failing input, or
// if all fuzzTries runs fail.
func (o *outcome) fuzzTarget(t target, length time.Duration, test goTester) {
	for try := 1; ; try++ {
		out, err := test("-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", length.String(), "-parallel", "2")
		o.count("inputs", executions(out))
		if err == nil {
			return
		}
		if failingInput.Match(out) || try == fuzzTries {
			o.fault("%s of %s: %v: %s", t.name, t.pkg, err, firstFailure(out))
			return
		}
		said := strings.Join(strings.Fields(firstFailure(out)), " ")
		o.note("The fuzz engine failed on %s of %s without a failing input, so it ran again. It said: `%s`",
			t.name, t.pkg, strings.ReplaceAll(said, "`", "'"))
	}
}

var executed = regexp.MustCompile(`execs: (\d+)`)

// executions returns how many inputs a target was given.
func executions(out []byte) (n int) {
	all := executed.FindAllSubmatch(out, -1)
	if len(all) > 0 {
		_, _ = fmt.Sscan(string(all[len(all)-1][1]), &n)
	}
	return n
}
