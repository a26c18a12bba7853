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

	"github.com/pulsecast/pulsecast/cmd/internal/run"
)

// goTest runs tests of a package. If the build is broken, it uses the broken copy of the sources.
func (l *lab) goTest(ctx context.Context, pkg string, args ...string) (out []byte, err error) {
	root, err := moduleRoot()
	l.must(err)
	words := []string{"test", "-count", "1"}
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

// firstFailure returns the first line that says what went wrong.
func firstFailure(out []byte) string {
	found := regexp.MustCompile(`(?m)^.*(_test\.go:\d+: |panic: ).*$`).Find(out)
	if found == nil {
		return run.LastLines(string(out), 3)
	}
	return strings.TrimSpace(string(found))
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

// parsers runs every native fuzz target for a time. On a broken build it runs only those of the
// broken package.
func parsers(l *lab) {
	root, err := moduleRoot()
	l.must(err)
	list, err := targets(root)
	l.must(err)
	for _, t := range list {
		if b := l.build.broken; b != nil && "./"+filepath.Dir(b.edits[0].file) != t.pkg {
			continue
		}
		out, err := l.goTest(l.ctx, t.pkg, "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", l.Fuzz.String(), "-parallel", "2")
		l.count("fuzz targets", 1)
		l.count("inputs", executions(out))
		if err != nil {
			l.fault("%s of %s: %v: %s", t.name, t.pkg, err, firstFailure(out))
		}
	}
	l.longest("time per target", l.Fuzz)
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
