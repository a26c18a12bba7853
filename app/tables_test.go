package app_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pulsecast/pulsecast/app/database/dbtest"
)

// exceptions are packages that may access the tables of others, with the reason.
var exceptions = map[string]string{
	"app/leaderboard/load": "fills an empty database for benchmarks, table by table",
	"app/backup":           "counts predictions in snapshots and files, which are not the open database",
	"cmd/bench":            "repeats the writes of a publish without the service's code",
	"cmd/torture":          "watches the leases from outside",
}

// TestTablesHaveOwners checks that a package reads and writes only its own tables. It reaches other
// tables through exported functions of their owners. The comment of each table in the migrations
// names its owner.
func TestTablesHaveOwners(t *testing.T) {
	t.Parallel()
	catalogue, err := dbtest.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	accesses, err := tableAccesses()
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, found := range accesses {
		table, ok := catalogue[found.table]
		if !ok {
			continue // a name defined in the query: WITH v, AS newest
		}
		seen++
		if within(found.pkg, "app/"+table.Owner) || exceptions[found.pkg] != "" {
			continue
		}
		t.Errorf("%s: %s accesses %s of %s", found.at, found.pkg, found.table, table.Owner)
	}
	if seen < 100 {
		t.Errorf("found only %d accesses to tables: the test must be missing some", seen)
	}
}

func within(pkg, owner string) bool { return pkg == owner || strings.HasPrefix(pkg, owner+"/") }

// fanOuts are the functions that read or change a table spread by agent without naming agent_id. On
// a cluster, each of them asks every node. They select by id, market or time, count for admins, or
// return a query that their caller restricts. Before you add one, make clear what bounds it.
var fanOuts = []string{
	"agent.ReadNumbers", "prediction.BaselineQueue",
	"prediction.CitedBy", "prediction.CountByStatus", "prediction.CountDecided",
	"prediction.CountPublished", "prediction.LatestAt", "prediction.MarketsWithOpen",
	"prediction.OpenMarkets", "prediction.OpenOn", "prediction.OutcomesNamed", "prediction.PartsWait", "prediction.PublishParts", "prediction.PublishedAfter", "prediction.Select",
	"prediction.SelectTallies",
	"prediction.Totals", "prediction.due", "prediction.looksBack", "prediction.nextPredicted", "prediction.readCounts",
	"settlement.CountEntries", "settlement.CountReferences", "settlement.EntryQueue", "settlement.Oldest", "settlement.SelectDays",
	"settlement.SelectOpenReferences", "settlement.Unsettled", "settlement.addEntries",
	"settlement.ledgerOf", "settlement.movesClosing", "settlement.withOpen",
}

// TestFanOuts checks that every other function that accesses such a table names agent_id, to
// restrict its query to an agent, to join, or to group.
func TestFanOuts(t *testing.T) {
	t.Parallel()
	catalogue, err := dbtest.Catalogue()
	if err != nil {
		t.Fatal(err)
	}
	accesses, err := tableAccesses()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, found := range accesses {
		if catalogue[found.table].Class == dbtest.ByAgent && !found.byAgent && exceptions[found.pkg] == "" {
			seen[strings.TrimPrefix(found.pkg, "app/")+"."+found.function] = true
		}
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, fanOuts) {
		t.Errorf("queries over all agents:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(fanOuts, "\n"))
	}
}

// access is one place where a query names a table.
type access struct {
	pkg, table string
	function   string // "" outside functions
	byAgent    bool   // the function names agent_id, or inserts rows
	at         token.Position
}

// byAgent matches text that ties a query to an agent.
var byAgent = regexp.MustCompile(`agent_id|WherePK\(|NewInsert\(`)

// inSQL finds the names of tables in the text of a query.
var inSQL = regexp.MustCompile(`\b(?:FROM|JOIN|INTO|UPDATE|TABLE)\s+(?:ONLY\s+)?(\w+)(?:(?:\s+AS)?\s+\w+)?(?:\s*,\s*(\w+))?`)

// tableAccesses reads the module's sources, without tests, once. It finds tables in SQL strings, in
// names passed to Bun's builders, and in models passed to them.
var tableAccesses = sync.OnceValues(func() (found []access, err error) {
	out, err := exec.Command("go", "list", "-export", "-deps", "-f",
		`{{.ImportPath}}|{{.Export}}|{{.Dir}}|{{join .GoFiles ","}}`, module+"/...").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	exports, sources := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(string(out)) {
		f := strings.Split(strings.TrimSpace(line), "|")
		exports[f[0]] = f[1]
		if pkg, ours := strings.CutPrefix(f[0], module+"/"); ours && f[3] != "" {
			for name := range strings.SplitSeq(f[3], ",") {
				sources[pkg] = append(sources[pkg], filepath.Join(f[2], name))
			}
		}
	}
	set := token.NewFileSet()
	compiled := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for pkg, paths := range sources {
		more, err := accessesIn(pkg, paths, set, compiled)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
})

// accessesIn returns the places in a package that name tables.
func accessesIn(pkg string, paths []string, set *token.FileSet, compiled types.Importer) (found []access, err error) {
	files, texts := make([]*ast.File, len(paths)), make([][]byte, len(paths))
	for i, path := range paths {
		if texts[i], err = os.ReadFile(path); err != nil {
			return nil, err
		}
		if files[i], err = parser.ParseFile(set, path, texts[i], parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	if _, err := (&types.Config{Importer: compiled}).Check(pkg, set, files, &info); err != nil {
		return nil, err
	}
	for i, file := range files {
		for _, decl := range file.Decls {
			one := access{pkg: pkg}
			if f, ok := decl.(*ast.FuncDecl); ok {
				one.function = f.Name.Name
			}
			one.byAgent = byAgent.Match(texts[i][set.Position(decl.Pos()).Offset:set.Position(decl.End()).Offset])
			ast.Inspect(decl, func(n ast.Node) bool {
				for _, one.table = range tablesIn(n, &info) {
					one.at = set.Position(n.Pos())
					found = append(found, one)
				}
				return true
			})
		}
	}
	return found, nil
}

// tablesIn returns the tables that a node names, without those of its children.
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

// tableOf returns the table of a Bun model, or of a pointer to a model or a slice of models.
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
