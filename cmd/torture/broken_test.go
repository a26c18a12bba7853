package main

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestBreakagesFit checks that the sources still contain the texts that the breakages replace, and that the changed
// packages have no type errors. It checks them against the unchanged packages, which are built already. To build the
// broken program takes a minute.
func TestBreakagesFit(t *testing.T) {
	t.Parallel()
	path, err := writeOverlay(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(packed, &overlay); err != nil {
		t.Fatal(err)
	}
	const broken = "github.com/pulsecast/pulsecast/app/broken"
	brokenDir, patterns := "", []string{"list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles,DepOnly"}
	seen := map[string]bool{}
	for file := range overlay.Replace {
		dir := filepath.Dir(file)
		switch {
		case filepath.Base(dir) == "broken":
			brokenDir = dir
		case !seen[dir]:
			seen[dir] = true
			patterns = append(patterns, dir)
		}
	}
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", patterns...)
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ImportPath, Export, Dir string
		GoFiles                 []string
		DepOnly                 bool
	}
	exports, changed := map[string]string{}, []listed{{ImportPath: broken, Dir: brokenDir, GoFiles: []string{"broken.go"}}}
	for from := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := from.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if exports[p.ImportPath] = p.Export; !p.DepOnly {
			changed = append(changed, p)
		}
	}
	files := token.NewFileSet()
	found := &imports{checked: map[string]*types.Package{}}
	found.ImporterFrom = importer.ForCompiler(files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }).(types.ImporterFrom)
	for _, p := range changed {
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			from := filepath.Join(p.Dir, name)
			if other, ok := overlay.Replace[from]; ok {
				from = other
			}
			file, err := parser.ParseFile(files, from, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		c := types.Config{Importer: found, Error: func(err error) { t.Error(err) }}
		made, _ := c.Check(p.ImportPath, files, parsed, nil)
		if p.ImportPath == broken {
			found.checked[broken] = made
		}
	}
}

// imports finds packages in the build cache, and those that exist only in the overlay.
type imports struct {
	types.ImporterFrom
	checked map[string]*types.Package
}

func (i *imports) ImportFrom(path, dir string, mode types.ImportMode) (*types.Package, error) {
	if p, ok := i.checked[path]; ok {
		return p, nil
	}
	return i.ImporterFrom.ImportFrom(path, dir, mode)
}
