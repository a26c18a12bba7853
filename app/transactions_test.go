package app_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoStatementAfterAFailedOne checks that no errors.Join runs two statements of a transaction. Go evaluates all
// arguments, so the second statement would run although the first has failed.
func TestNoStatementAfterAFailedOne(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if n := statementsJoined(n); n > 1 {
				t.Errorf("%s: errors.Join runs %d statements of a transaction: return after the first error", path, n)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// statementsJoined returns how many arguments of an errors.Join run a statement of a transaction.
func statementsJoined(n ast.Node) (statements int) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return 0
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || f.Sel.Name != "Join" {
		return 0
	}
	if of, ok := f.X.(*ast.Ident); !ok || of.Name != "errors" {
		return 0
	}
	for _, argument := range call.Args {
		if runsStatement(argument) {
			statements++
		}
	}
	return statements
}

// runsStatement reports whether an expression calls a function and names tx.
func runsStatement(e ast.Expr) bool {
	called, named := false, false
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			called = true
		case *ast.Ident:
			named = named || n.Name == "tx"
		}
		return true
	})
	return called && named
}
