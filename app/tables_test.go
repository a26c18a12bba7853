package app_test

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// exceptions are packages that access tables of others, with the reason.
var exceptions = map[string]string{
	"app/leaderboard/load": "fills an empty database for benchmarks, table by table",
}

// unfinished are files whose accesses are still to be moved to the owners. It must become
// empty.
var unfinished = []string{
	"app/admin/", "app/alert/conditions.go", "app/metrics/figures.go", "app/settlement/waiting.go",
}

// TestTablesHaveOwners: a package reads and writes its own tables; those of others through
// functions that their owner exports. The owner is in the comment of each table in the
// migrations.
func TestTablesHaveOwners(t *testing.T) {
	t.Parallel()
	catalogue, err := dbtest.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, found := range tableAccesses(t) {
		table, ok := catalogue[found.table]
		if !ok {
			continue // a name of the query itself: WITH v, AS newest
		}
		seen++
		file := found.room + "/" + filepath.Base(found.at.Filename)
		listed := func(prefix string) bool { return strings.HasPrefix(file, prefix) }
		if within(found.room, "app/"+table.Owner) || exceptions[found.room] != "" || slices.ContainsFunc(unfinished, listed) {
			continue
		}
		t.Errorf("%s: %s accesses %s of %s", found.at, found.room, found.table, table.Owner)
	}
	if seen < 100 {
		t.Errorf("found %d accesses to tables: the test no longer sees them", seen)
	}
}

func within(room, owner string) bool { return room == owner || strings.HasPrefix(room, owner+"/") }

// access is one mention of a table where a query takes it from.
type access struct {
	room, table string
	at          token.Position
}

// inSQL finds the names of tables in the text of a query.
var inSQL = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:ONLY\s+)?(\w+)(?:(?:\s+AS)?\s+\w+)?(?:\s*,\s*(\w+))?`)

// tableAccesses reads the sources of the module, without tests: SQL in strings, the names
// given to Bun's builders, and the models given to them.
func tableAccesses(t *testing.T) []access {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f",
		`{{.ImportPath}}|{{.Export}}|{{.Dir}}|{{join .GoFiles ","}}`, module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports, sources := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		exports[f[0]] = f[1]
		if room, ours := strings.CutPrefix(f[0], module+"/"); ours && f[3] != "" {
			for name := range strings.SplitSeq(f[3], ",") {
				sources[room] = append(sources[room], filepath.Join(f[2], name))
			}
		}
	}
	set := token.NewFileSet()
	compiled := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var found []access
	for room, paths := range sources {
		var files []*ast.File
		for _, path := range paths {
			file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
		if _, err := (&types.Config{Importer: compiled}).Check(room, set, files, &info); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, table := range tablesIn(n, &info) {
					found = append(found, access{room, table, set.Position(n.Pos())})
				}
				return true
			})
		}
	}
	return found
}

// tablesIn are the tables that one node names by itself.
func tablesIn(n ast.Node, info *types.Info) (tables []string) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if text := info.Types[n].Value; text != nil && text.Kind() == constant.String {
			for _, m := range inSQL.FindAllStringSubmatch(constant.StringVal(text), -1) {
				tables = append(tables, m[1:]...)
			}
		}
	case *ast.CallExpr:
		method, ok := n.Fun.(*ast.SelectorExpr)
		if !ok {
			return nil
		}
		for _, arg := range n.Args {
			value := info.Types[arg]
			switch method.Sel.Name {
			case "Table", "TableExpr", "ModelTableExpr", "Prune":
				if value.Value != nil && value.Value.Kind() == constant.String {
					name, _, _ := strings.Cut(constant.StringVal(value.Value), " ")
					tables = append(tables, name)
				}
			case "Model":
				tables = append(tables, tableOf(value.Type))
			}
		}
	}
	return tables
}

// tableOf is the table of a Bun model, or of a pointer to or a slice of one.
func tableOf(model types.Type) string {
	switch m := types.Unalias(model).(type) {
	case *types.Pointer:
		return tableOf(m.Elem())
	case *types.Slice:
		return tableOf(m.Elem())
	case *types.Named:
		return tableOf(m.Underlying())
	case *types.Struct:
		for i := range m.NumFields() {
			field := m.Field(i)
			if !field.Embedded() {
				continue
			}
			if field.Name() == "BaseModel" {
				name, _, _ := strings.Cut(reflect.StructTag(m.Tag(i)).Get("bun"), ",")
				return strings.TrimPrefix(name, "table:")
			}
			if table := tableOf(field.Type()); table != "" {
				return table
			}
		}
	}
	return ""
}
